"""Groups over HTTP: every rule with status, field and message; every event."""

from collections.abc import Iterator

import pytest
from django.core.management import call_command

from groups.models import ALL, Group, Issued
from groups.selectors import all_group_id
from meshmgmt.core.ids import new_id
from meshmgmt.core.queries import BATCH
from tests.api_client import Api
from tests.factories import Trail, group, numbered, peer, peers, printer, resource
from tests.people import api_as
from tests.resource_contract import TAKEN, Body, Fault, ReplacedResourceContract

pytestmark = pytest.mark.django_db


class TestGroups(ReplacedResourceContract):
    path = "/api/groups"
    required = ("name",)
    created_codes = ("group.add", "peer.group.add", "resource.group.add")
    deleted_codes = ("peer.group.delete", "resource.group.delete", "group.delete")
    updates = {"name": "another name"}
    most_queries = 5

    def body(self, number: int = 1) -> Body:
        host = {"id": printer().pk, "type": "host"}
        peers = [numbered(1).pk]
        return {"name": f"g{number}", "peers": peers, "resources": [host]}

    def refused(self) -> Iterator[Fault]:
        for name in (None, "", " \t\u2003"):
            yield {"name": name}, 422, "name", "empty or blank"
        yield {"name": "x" * 256}, 422, "name", "more than 255 characters"
        yield {"name": "a\0b"}, 422, "name", "ull characters"
        yield {"name": 5}, 400, "name", "must be a JSON string"
        for name in (f"g{TAKEN}", ALL):
            text = f"group with name {name!r} already exists"
            yield {"name": name}, 409, "name", text
        yield {"peers": "p"}, 400, "peers", "JSON array"
        yield {"peers": {}}, 400, "peers", "JSON array"
        yield {"peers": [1]}, 400, "peers[0]", "or object"
        yield {"peers": [{}]}, 400, "peers[0]", "or object"
        for lost, shown in ((None, "''"), ("nope", "'nope'"), ("a\0", "")):
            yield {"peers": [lost]}, 422, "peers[0]", f"{shown} was not found"
        good = {"id": "r", "type": "host"}
        for part, value, text in (
            ("type", None, "required"),
            ("type", "cow", "must be one of peer, host, subnet, domain"),
            ("id", None, "required"),
            ("id", "", "must not be empty"),
            ("id", "\0", ""),
            ("id", "r" * 256, "at most 255"),
        ):
            entry = {k: v for k, v in {**good, part: value}.items() if v is not None}
            yield {"resources": [entry]}, 422, f"resources[0].{part}", text
        yield {"resources": ["r"]}, 400, "resources[0]", "must be a JSON object"


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


@pytest.mark.parametrize("name", ["x" * 255, "\N{PILE OF POO}" * 255])
def test_name_may_have_255_characters_of_any_width(api: Api, name: str) -> None:
    made = api.post("/api/groups", {"name": name}).json
    assert api.get(f"/api/groups/{made['id']}").json["name"] == name


def test_every_member_of_a_large_group_gets_its_event(api: Api) -> None:
    ids = [one.pk for one in peers(BATCH + 1)]
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


def test_nulls_are_empty_lists(api: Api) -> None:
    made = api.post("/api/groups", {"name": "n", "peers": None, "resources": None})

    assert (made.status, made.json["peers"], made.json["resources"]) == (200, [], [])


def test_repeated_members_are_folded(api: Api) -> None:
    one = peer()
    thing = {"id": "unknown", "type": "host"}

    made = api.post(
        "/api/groups",
        {"name": "g", "peers": [one.pk, one.pk], "resources": [thing, thing]},
    )

    assert (made.json["peers_count"], made.json["resources_count"]) == (1, 1)


def test_first_unknown_peer_is_named(api: Api) -> None:
    missing = new_id()

    answer = api.post(
        "/api/groups", {"name": "x", "peers": [peer().pk, missing, new_id()]}
    )

    assert answer.status == 422
    assert answer.json["message"] == f"peer {missing!r} was not found"
    assert answer.fields == {"peers[1]": answer.json["message"]}


@pytest.mark.parametrize("kind", ["host", "subnet", "domain"])
def test_known_object_as_resource_of_another_type_is_rejected(
    api: Api, kind: str
) -> None:
    network = resource(kind="subnet" if kind == "host" else "host")
    for known, its in ((peer(), "peer"), (network, network.type)):
        things = [{"id": known.pk, "type": kind}]
        if kind == its:
            continue
        answer = api.post("/api/groups", {"name": "x", "resources": things})
        assert answer.status == 422
        assert answer.fields["resources[0].type"].endswith(f"is of type {its}")


def test_unknown_resource_is_kept_and_counted(api: Api) -> None:
    things = [{"id": "gone", "type": "domain"}, {"id": new_id(), "type": "peer"}]

    made = api.post("/api/groups", {"name": "x", "resources": things})

    assert made.json["resources"] == things
    assert made.json["resources_count"] == 2
    usage = api.get(f"/api/groups/{made.json['id']}/usage")
    assert usage.json["unknown_resources"] == things


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
    assert (row["peers_count"], row["resources"]) == (2, [])
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


def test_new_order_of_members_has_an_event_of_its_own(api: Api) -> None:
    one, two = peer(), peer()
    made = group("g", one, two)
    trail = Trail()

    api.put(f"/api/groups/{made.pk}", {"name": "g", "peers": [two.pk, one.pk]})

    assert trail.targets == [("group.order.update", made.pk)]
    assert trail.events[0].meta == {"name": "g"}
