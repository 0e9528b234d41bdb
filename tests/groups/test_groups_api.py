"""Groups over HTTP: every rule with status, field and message; every event."""

from collections.abc import Iterator

import pytest
from django.core.management import call_command

from groups.models import ALL, Group, Issued
from groups.selectors import all_group_id
from meshmgmt.core.ids import new_id
from meshmgmt.core.queries import BATCH
from meshmgmt.inventory.models import Peer
from tests.api_client import Api
from tests.factories import Trail, group, numbered, peer, peers, printer, resource
from tests.people import api_as
from tests.resource_contract import (
    TAKEN,
    Answered,
    Body,
    Change,
    Fault,
    ReplacedResourceContract,
)

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

    def as_sent(self, made: Body) -> Body:
        return made | {"peers": [each["id"] for each in made["peers"]]}

    def answered(self) -> Iterator[Answered]:
        one, two = numbered(1).pk, numbered(2).pk
        host = {"id": printer().pk, "type": "host"}
        full = {"name": "Office ☂", "peers": [two, one], "resources": [host]}
        yield full, self.counts(2, 1)
        empty: Body = {"peers": [], "resources": []}
        yield {"name": "n", "peers": None, "resources": None}, empty | self.counts(0, 0)
        for name in ("x" * 255, "\N{PILE OF POO}" * 255, "all"):
            yield {"name": name} | empty, self.counts(0, 0)
        unknown = {"id": "gone", "type": "domain"}
        twice: Body = {"peers": [one, one], "resources": [unknown, unknown]}
        once: Body = {"peers": [one], "resources": [unknown]}
        yield {"name": "g"} | twice, once | self.counts(1, 1)

    @staticmethod
    def counts(peers: int, resources: int) -> Body:
        return {"issued": "api", "peers_count": peers, "resources_count": resources}

    def told(self, made: Body) -> dict[str, Body]:
        return {
            "group.add": {"name": "g1"},
            "peer.group.add": of_peer(numbered(1), made["id"], "g1"),
            "resource.group.add": of_printer(made["id"], "g1"),
        }

    def changes(self, made: Body) -> Iterator[Change]:
        one, two, key = numbered(1), numbered(2), made["id"]
        renamed = {"name": "h", "peers": [two.pk], "resources": []}
        yield (
            renamed,
            {"resources_count": 0},
            {
                "group.update": {"old_name": "g9", "new_name": "h"},
                "peer.group.delete": of_peer(one, key, "h"),
                "peer.group.add": of_peer(two, key, "h"),
                "resource.group.delete": of_printer(key, "h"),
            },
        )
        both = {"name": "h", "peers": [two.pk, one.pk], "resources": []}
        yield both, {"peers_count": 2}, ["peer.group.add"]
        turned = both | {"peers": [one.pk, two.pk]}
        yield turned, {}, {"group.order.update": {"name": "h"}}

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
        lost = new_id()
        first = {"peers": [numbered(1).pk, lost, new_id()]}
        yield first, 422, "peers[1]", f"peer {lost!r} was not found"
        for unknown, shown in ((None, "''"), ("nope", "'nope'"), ("a\0", "")):
            yield {"peers": [unknown]}, 422, "peers[0]", f"{shown} was not found"
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
        subnet = resource("subnet", "subnet")
        ends = {"peer": numbered(1), "host": printer(), "subnet": subnet}
        for its, known in ends.items():
            for kind in {"host", "subnet", "domain"} - {its}:
                entry = {"id": known.pk, "type": kind}
                text = f"is of type {its}"
                yield {"resources": [entry]}, 422, "resources[0].type", text
        yield {"resources": ["r"]}, 400, "resources[0]", "must be a JSON object"


def of_peer(one: Peer, group: str, name: str) -> Body:
    """Return what an event says of a peer that joins or leaves a group."""
    fqdn = f"{one.dns_label}.mesh.internal"
    return {"group": name, "group_id": group, "peer_ip": one.ip, "peer_fqdn": fqdn}


def of_printer(group: str, name: str) -> Body:
    """Return what an event says of the printer that joins or leaves a group."""
    its = {"name": "printer", "id": printer().pk, "type": "host"}
    return {"id": group, "name": name} | {f"resource_{k}": v for k, v in its.items()}


@pytest.fixture
def api() -> Api:
    return api_as("admin")


def test_every_member_of_a_large_group_gets_its_event(api: Api):
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


def test_unknown_resource_is_kept_and_counted(api: Api):
    things = [{"id": "gone", "type": "domain"}, {"id": new_id(), "type": "peer"}]

    made = api.post("/api/groups", {"name": "x", "resources": things})

    assert made.json["resources"] == things
    assert made.json["resources_count"] == 2
    usage = api.get(f"/api/groups/{made.json['id']}/usage")
    assert usage.json["unknown_resources"] == things


def test_names_differ_by_letter_case_and_by_spaces(api: Api):
    group("dev")

    for name in ("Dev", "dev ", " dev", "all"):
        made = api.post("/api/groups", {"name": name})
        assert (made.status, made.json["name"]) == (200, name)


@pytest.mark.parametrize("issued", [Issued.JWT, Issued.INTEGRATION])
def test_names_of_other_origins_may_repeat(api: Api, issued: str):
    group("staff", issued=issued)
    group("staff", issued=issued)

    assert api.post("/api/groups", {"name": "staff"}).status == 200
    assert len(api.get("/api/groups?name=staff").json) == 3
    assert api.post("/api/groups", {"name": "staff"}).status == 409


def test_update_keeps_the_origin_and_may_keep_a_repeated_name(api: Api):
    group("staff")
    synced = group("staff", issued=Issued.JWT)

    answer = api.put(f"/api/groups/{synced.pk}", {"name": "staff", "issued": "api"})

    assert (answer.status, answer.json["issued"]) == (200, "jwt")


def test_order_of_members_is_the_order_sent(api: Api):
    one, two, three = peers(3)
    made = group("g", one, two)

    for wanted in ([three, two, one], [two, three], [two, three, one], [one, two]):
        ids = [entry.pk for entry in wanted]
        answer = api.put(f"/api/groups/{made.pk}", {"name": "g", "peers": ids})
        assert [entry["id"] for entry in answer.json["peers"]] == ids
        assert api.get(f"/api/groups/{made.pk}").json == answer.json


def test_name_filter_is_exact(api: Api):
    wanted = group("team")
    group("teams")
    group("Team")

    assert [x["id"] for x in api.get("/api/groups?name=team").json] == [wanted.pk]
    assert api.get("/api/groups?name=tea").json == []
    assert api.get("/api/groups?name=a%00b").json == []
    assert len(api.get("/api/groups?name=").json) == 4
    assert len(api.get("/api/groups?unknown=1").json) == 4


def test_everybody_is_in_the_group_all(api: Api):
    one, two = peer("one"), peer("two")
    everybody = all_group_id()

    row = api.get(f"/api/groups/{everybody}").json

    rows = [{"id": one.pk, "name": "one"}, {"id": two.pk, "name": "two"}]
    assert (row["name"], row["peers"], row["peers_count"]) == (ALL, rows, 2)
    assert row["resources"] == []
    assert api.get("/api/groups").json == [row]
    assert api.get("/api/groups?name=All").json == [row]


def test_group_all_can_be_neither_changed_nor_deleted(api: Api):
    path = f"/api/groups/{all_group_id()}"
    trail = Trail()

    answers = api.put(path, {"name": ALL, "peers": []}), api.delete(path)

    said = [(answer.status, answer.json["message"]) for answer in answers]
    cannot = "the group All cannot be"
    assert said == [(422, f"{cannot} changed"), (422, f"{cannot} deleted")]
    assert api.get(path).status == 200
    assert trail.codes == []


def test_group_all_comes_back_after_a_flush(transactional_db: None):
    call_command("flush", interactive=False, verbosity=0)

    assert Group.objects.get().is_all


def test_writes_say_what_they_did(api: Api):
    made = api.post("/api/groups", TestGroups().body()).json
    one, two = numbered(1).pk, numbered(2).pk
    trail = Trail()
    api.put(f"/api/groups/{made['id']}", {"name": "h", "peers": [two]})
    assert trail.targets == [
        ("group.update", made["id"]),
        ("peer.group.delete", one),
        ("peer.group.add", two),
        ("resource.group.delete", made["id"]),
    ]
    updated = trail.events[0]
    assert updated.changes == {"name": {"before": "g1", "after": "h"}}
    assert {event.request_id for event in trail.events} == {updated.request_id}
    assert updated.initiator_name == "a admin"
