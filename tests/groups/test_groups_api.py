"""Groups over HTTP: every rule with status, field and message; every event."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import call_command

from groups.api.serializers import GroupSerializer
from groups.models import ALL, Group, Issued
from groups.selectors import all_group_id, group_rows
from meshmgmt.core.ids import new_id
from tests.access import bodies
from tests.api_client import Api
from tests.mesh import Trail, group, peer, peers, resource
from tests.people import api_as
from tests.resource_contract import Body, ReplacedResourceContract

TOKEN = 1
"""The query that finds the token with its user."""

pytestmark = pytest.mark.django_db


class TestGroups(ReplacedResourceContract):
    path = "/api/groups"
    module = "groups"
    required = ("name",)
    serializer = GroupSerializer
    created_codes = ("group.add", "peer.group.add", "resource.group.add")
    deleted_codes = ("peer.group.delete", "resource.group.delete", "group.delete")
    updates = {"name": "another name"}

    def body(self, number: int = 1) -> Body:
        host = {"id": bodies.resource().pk, "type": "host"}
        peers = [bodies.peer(1).pk]
        return {"name": f"g{number}", "peers": peers, "resources": [host]}


@pytest.fixture
def api() -> Api:
    return api_as("admin")


def test_created_group_comes_back_as_every_read_shows_it(api: Api) -> None:
    one, two = peer("one"), peer("two")
    host = resource("printer")
    body = {
        "name": "Office ☂",
        "peers": [two.pk, one.pk],
        "resources": [{"id": host.pk, "type": "host"}],
    }

    made = api.post("/api/groups", body)

    assert made.status == 200
    assert made.json == {
        "id": made.json["id"],
        "name": "Office ☂",
        "peers_count": 2,
        "resources_count": 1,
        "issued": "api",
        "peers": [{"id": two.pk, "name": "two"}, {"id": one.pk, "name": "one"}],
        "resources": [{"id": host.pk, "type": "host"}],
    }
    assert api.get(f"/api/groups/{made.json['id']}").json == made.json
    assert api.get("/api/groups").json[-1] == made.json


@pytest.mark.parametrize("name", ["x" * 255, "\N{PILE OF POO}" * 255])
def test_name_may_have_255_characters_of_any_width(api: Api, name: str) -> None:
    made = api.post("/api/groups", {"name": name}).json
    assert api.get(f"/api/groups/{made['id']}").json["name"] == name


def test_every_member_of_a_large_group_gets_its_event(api: Api) -> None:
    ids = [one.pk for one in peers(1201)]
    trail = Trail()
    made = api.post("/api/groups", {"name": "large", "peers": ids}).json
    assert [one["id"] for one in made["peers"]] == ids
    assert trail.targets == [
        ("group.add", made["id"]),
        *(("peer.group.add", one) for one in ids),
    ]
    trail = Trail()
    api.put(f"/api/groups/{made['id']}", {"name": "large", "peers": ids[:1]})
    assert trail.targets == [("peer.group.delete", one) for one in ids[1:]]


def test_name_alone_makes_an_empty_group(api: Api) -> None:
    made = api.post("/api/groups", {"name": "empty"})

    assert (made.json["peers"], made.json["resources"]) == ([], [])


def test_nulls_are_empty_lists(api: Api) -> None:
    made = api.post("/api/groups", {"name": "n", "peers": None, "resources": None})

    assert (made.status, made.json["peers"], made.json["resources"]) == (200, [], [])


def test_peers_may_be_sent_as_the_objects_that_reads_return(api: Api) -> None:
    one = peer("one")

    made = api.post(
        "/api/groups", {"name": "g", "peers": [{"id": one.pk, "name": "x"}]}
    )

    assert made.json["peers"] == [{"id": one.pk, "name": "one"}]


def test_repeated_members_are_folded(api: Api) -> None:
    one = peer()
    thing = {"id": "unknown", "type": "host"}

    made = api.post(
        "/api/groups",
        {"name": "g", "peers": [one.pk, one.pk], "resources": [thing, thing]},
    )

    assert (made.json["peers_count"], made.json["resources_count"]) == (1, 1)


BAD: list[tuple[str, Any, int, str, str]] = [
    ("no name", {}, 422, "name", "required"),
    ("null name", {"name": None}, 422, "name", "empty or blank"),
    ("empty name", {"name": ""}, 422, "name", "empty or blank"),
    ("blank name", {"name": " \t\u2003"}, 422, "name", "empty or blank"),
    ("long name", {"name": "x" * 256}, 422, "name", "more than 255 characters"),
    ("name with NUL", {"name": "a\0b"}, 422, "name", "ull characters"),
    ("number as name", {"name": 5}, 400, "name", "must be a JSON string"),
    ("peers no list", {"name": "x", "peers": "p"}, 400, "peers", "JSON array"),
    ("peers object", {"name": "x", "peers": {}}, 400, "peers", "JSON array"),
    ("peer is a number", {"name": "x", "peers": [1]}, 400, "peers[0]", "or object"),
    ("peer without id", {"name": "x", "peers": [{}]}, 400, "peers[0]", "or object"),
    (
        "peer null",
        {"name": "x", "peers": [None]},
        422,
        "peers[0]",
        "peer '' was not found",
    ),
    (
        "unknown peer",
        {"name": "x", "peers": ["nope"]},
        422,
        "peers[0]",
        "'nope' was not found",
    ),
    ("NUL peer", {"name": "x", "peers": ["a\0"]}, 422, "peers[0]", "was not found"),
    (
        "resource of no type",
        {"name": "x", "resources": [{"id": "r"}]},
        422,
        "resources[0].type",
        "required",
    ),
    (
        "resource of unknown type",
        {"name": "x", "resources": [{"id": "r", "type": "cow"}]},
        422,
        "resources[0].type",
        "must be one of peer, host, subnet, domain",
    ),
    (
        "resource without id",
        {"name": "x", "resources": [{"type": "host"}]},
        422,
        "resources[0].id",
        "required",
    ),
    (
        "resource with empty id",
        {"name": "x", "resources": [{"id": "", "type": "host"}]},
        422,
        "resources[0].id",
        "must not be empty",
    ),
    (
        "resource with a long id",
        {"name": "x", "resources": [{"id": "r" * 256, "type": "host"}]},
        422,
        "resources[0].id",
        "at most 255",
    ),
    (
        "resource is text",
        {"name": "x", "resources": ["r"]},
        400,
        "resources[0]",
        "must be a JSON object",
    ),
]


@pytest.mark.parametrize(("case", "body", "status", "field", "text"), BAD)
@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_bad_body_names_its_field_and_writes_nothing(
    *, api: Api, method: str, case: str, body: Any, status: int, field: str, text: str
) -> None:
    path = "/api/groups" if method == "POST" else f"/api/groups/{group('there').pk}"
    before, trail = group_rows(), Trail()

    answer = api.call(method, path, body)

    assert (answer.status, answer.json["code"]) == (status, status), answer.json
    assert field in answer.fields, answer.json
    assert text in answer.fields[field]
    assert group_rows() == before
    assert trail.codes == []


def test_first_unknown_peer_is_named(api: Api) -> None:
    missing = new_id()

    answer = api.post(
        "/api/groups", {"name": "x", "peers": [peer().pk, missing, new_id()]}
    )

    assert answer.status == 422
    assert answer.json["message"] == f"peer {missing!r} was not found"
    assert answer.fields == {"peers[1]": answer.json["message"]}


@pytest.mark.parametrize("kind", ["host", "subnet", "domain"])
def test_known_peer_as_resource_of_another_type_is_rejected(
    api: Api, kind: str
) -> None:
    known = peer()

    answer = api.post(
        "/api/groups", {"name": "x", "resources": [{"id": known.pk, "type": kind}]}
    )

    assert answer.status == 422
    assert answer.fields["resources[0].type"].endswith("is of type peer")


def test_known_resource_of_another_type_is_rejected(api: Api) -> None:
    known = resource(kind="subnet")

    answer = api.post(
        "/api/groups", {"name": "x", "resources": [{"id": known.pk, "type": "host"}]}
    )

    assert answer.status == 422
    assert answer.fields["resources[0].type"].endswith("is of type subnet")


def test_unknown_resource_is_kept_and_counted(api: Api) -> None:
    things = [{"id": "gone", "type": "domain"}, {"id": new_id(), "type": "peer"}]

    made = api.post("/api/groups", {"name": "x", "resources": things})

    assert made.json["resources"] == things
    assert made.json["resources_count"] == 2
    usage = api.get(f"/api/groups/{made.json['id']}/usage")
    assert usage.json["unknown_resources"] == things


@pytest.mark.parametrize("name", ["taken", ALL])
def test_name_in_use_is_a_conflict_on_create_and_update(api: Api, name: str) -> None:
    group("taken")
    other = group("other")
    trail = Trail()

    created = api.post("/api/groups", {"name": name})
    updated = api.put(f"/api/groups/{other.pk}", {"name": name})

    for answer in (created, updated):
        assert answer.status == 409
        assert answer.json["message"] == f"group with name {name!r} already exists"
        assert answer.fields == {"name": answer.json["message"]}
    assert trail.codes == []


def test_names_differ_by_letter_case_and_by_spaces(api: Api) -> None:
    group("dev")

    for name in ("Dev", "dev ", " dev", "all"):
        made = api.post("/api/groups", {"name": name})
        assert (made.status, made.json["name"]) == (200, name)


@pytest.mark.parametrize("issued", [Issued.JWT, Issued.INTEGRATION])
def test_names_of_other_origins_may_repeat(api: Api, issued: str) -> None:
    group("staff", issued=issued)
    group("staff", issued=issued)

    made = api.post("/api/groups", {"name": "staff"})

    assert made.status == 200
    assert len(api.get("/api/groups?name=staff").json) == 3
    assert api.post("/api/groups", {"name": "staff"}).status == 409


def test_update_keeps_the_origin_and_may_keep_a_repeated_name(api: Api) -> None:
    group("staff")
    synced = group("staff", issued=Issued.JWT)

    answer = api.put(f"/api/groups/{synced.pk}", {"name": "staff", "issued": "api"})

    assert (answer.status, answer.json["issued"]) == (200, "jwt")


def test_update_without_lists_empties_the_group(api: Api) -> None:
    made = group("g", peer(), resources=[("r", "host")])

    answer = api.put(f"/api/groups/{made.pk}", {"name": "g"})

    assert (answer.json["peers"], answer.json["resources"]) == ([], [])


def test_order_of_members_is_the_order_sent(api: Api) -> None:
    one, two, three = peers(3)
    made = group("g", one, two)

    for wanted in ([three, two, one], [two, three], [two, three, one], [one, two]):
        ids = [entry.pk for entry in wanted]
        answer = api.put(f"/api/groups/{made.pk}", {"name": "g", "peers": ids})
        assert [entry["id"] for entry in answer.json["peers"]] == ids
        assert api.get(f"/api/groups/{made.pk}").json == answer.json


def test_name_filter_is_exact(api: Api) -> None:
    wanted = group("team")
    group("teams")
    group("Team")

    assert [x["id"] for x in api.get("/api/groups?name=team").json] == [wanted.pk]
    assert api.get("/api/groups?name=tea").json == []
    assert api.get("/api/groups?name=a%00b").json == []
    assert len(api.get("/api/groups?name=").json) == 4
    assert len(api.get("/api/groups?unknown=1").json) == 4


def test_everybody_is_in_the_group_all(api: Api) -> None:
    one, two = peer("one"), peer("two")
    everybody = all_group_id()

    row = api.get(f"/api/groups/{everybody}").json

    assert row["name"] == ALL
    assert row["peers"] == [
        {"id": one.pk, "name": "one"},
        {"id": two.pk, "name": "two"},
    ]
    assert row["peers_count"] == 2
    assert api.get("/api/groups").json == [row]
    assert api.get("/api/groups?name=All").json == [row]


def test_group_all_can_be_neither_changed_nor_deleted(api: Api) -> None:
    path = f"/api/groups/{all_group_id()}"
    trail = Trail()

    changed = api.put(path, {"name": ALL, "peers": []})
    deleted = api.delete(path)

    assert (changed.status, deleted.status) == (422, 422)
    assert changed.json["message"] == "the group All cannot be changed"
    assert deleted.json["message"] == "the group All cannot be deleted"
    assert api.get(path).status == 200
    assert trail.codes == []


def test_group_all_comes_back_after_a_flush(transactional_db: None) -> None:
    call_command("flush", interactive=False, verbosity=0)

    assert Group.objects.get().is_all


@pytest.mark.parametrize("bad", ["nope", "x" * 20, "%00", "0" * 20, "a" * 3000])
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_unknown_group_is_not_found(api: Api, method: str, bad: str) -> None:
    for path in (f"/api/groups/{bad}", f"/api/groups/{bad}/usage"):
        if path.endswith("usage") and method != "GET":
            continue
        answer = api.call(method, path, {"name": "x"} if method == "PUT" else None)
        assert answer.status == 404
        assert "not found" in answer.json["message"]


def test_writes_say_what_they_did(api: Api) -> None:
    one, two = peer("one"), peer("two")
    host = resource("printer")
    trail = Trail()

    made = api.post(
        "/api/groups",
        {
            "name": "g",
            "peers": [one.pk],
            "resources": [{"id": host.pk, "type": "host"}],
        },
    ).json
    assert trail.targets == [
        ("group.add", made["id"]),
        ("peer.group.add", one.pk),
        ("resource.group.add", made["id"]),
    ]
    added, peer_added, resource_added = trail.events
    assert added.meta == {"name": "g"}
    assert peer_added.meta == {
        "group": "g",
        "group_id": made["id"],
        "peer_ip": one.ip,
        "peer_fqdn": f"{one.dns_label}.mesh.internal",
    }
    assert resource_added.meta == {
        "name": "g",
        "id": made["id"],
        "resource_name": "printer",
        "resource_id": host.pk,
        "resource_type": "host",
    }

    trail = Trail()
    api.put(f"/api/groups/{made['id']}", {"name": "h", "peers": [two.pk]})
    assert trail.targets == [
        ("group.update", made["id"]),
        ("peer.group.delete", one.pk),
        ("peer.group.add", two.pk),
        ("resource.group.delete", made["id"]),
    ]
    updated = trail.events[0]
    assert updated.meta == {"old_name": "g", "new_name": "h"}
    assert updated.changes == {
        "name": {"before": "g", "after": "h"},
    }
    assert {event.request_id for event in trail.events} == {updated.request_id}
    assert updated.initiator_name == "a admin"


def test_changed_members_leave_no_event_of_a_group_renamed_to_itself(
    api: Api,
) -> None:
    one, two = peer(), peer()
    made = group("g", one)
    trail = Trail()

    api.put(f"/api/groups/{made.pk}", {"name": "g", "peers": [two.pk]})

    assert trail.codes == ["peer.group.delete", "peer.group.add"]


def test_new_order_of_members_has_an_event_of_its_own(api: Api) -> None:
    one, two = peer(), peer()
    made = group("g", one, two)
    trail = Trail()

    api.put(f"/api/groups/{made.pk}", {"name": "g", "peers": [two.pk, one.pk]})

    assert trail.targets == [("group.order.update", made.pk)]
    assert trail.events[0].meta == {"name": "g"}


@pytest.mark.parametrize("size", [1, 20])
def test_number_of_queries_does_not_depend_on_the_data(
    api: Api, size: int, django_assert_num_queries: Callable[[int], Any]
) -> None:
    members = peers(size)
    made = [group("", *members, resources=[("r", "host")]) for _ in range(size)]
    api.get("/api/users/current")

    with django_assert_num_queries(TOKEN + 4):
        group_list = api.get("/api/groups").json
    with django_assert_num_queries(TOKEN + 3):
        api.get(f"/api/groups/{made[0].pk}")

    assert len(group_list) == size + 1


def test_rows_have_exactly_the_fields_of_the_schema() -> None:
    group("g", peer(), resources=[("r", "host")])

    rows = group_rows()

    assert [GroupSerializer(row).data for row in rows] == rows
