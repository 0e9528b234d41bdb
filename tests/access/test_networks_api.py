"""Networks, their resources and routers over HTTP."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from events.audit.audited import AuditedModel, audited_bulk_create
from groups.models import GroupResource
from meshmgmt.access.models import Router
from meshmgmt.core.queries import BATCH
from meshmgmt.inventory.models import NetworkResource
from meshmgmt.meshstate.loading import load
from tests.access.bodies import policy, rule
from tests.api_client import Api
from tests.databases import few_parameters
from tests.factories import group_id, network, numbered
from tests.factories import resource as stored_resource
from tests.people import api_as
from tests.resource_contract import Answered, Body, Change, Fault, ResourceContract, ok

PATH = "/api/networks"


def resources_of(name: str = "office") -> str:
    return f"{PATH}/{network(name).pk}/resources"


def routers_of(name: str = "office") -> str:
    return f"{PATH}/{network(name).pk}/routers"


def too_long(kind: str) -> Iterator[Fault]:
    long = "the description has more than 1000 characters"
    yield {"name": "n" * 256}, 422, "name", f"the {kind} name has more than 255"
    yield {"description": "d" * 1001}, 422, "description", long


class TestNetworks(ResourceContract):
    path = PATH
    required = ("name",)
    created_codes = ("network.create",)
    deleted_codes = ("network.delete",)

    def body(self, number: int = 1) -> Body:
        return {"name": f"network {number}", "description": "a network"}

    def answered(self) -> Iterator[Answered]:
        empty: Body = {"routers": [], "resources": [], "policies": []}
        yield {"name": "n"}, empty | {"description": "", "routing_peers_count": 0}

    def refused(self) -> Iterator[Fault]:
        yield {"name": "\t"}, 422, "name", "the network name must not be empty or blank"
        yield from too_long("network")


class TestResources(ResourceContract):
    required = ("name", "address")
    created_codes = ("network.resource.create", "resource.group.add")
    deleted_codes = ("resource.group.delete", "network.resource.delete")

    def make_path(self) -> str:
        return resources_of()

    def body(self, number: int = 1) -> Body:
        return {
            "name": f"printer {number}",
            "description": "prints",
            "address": f"10.0.0.{number}/32",
            "enabled": True,
            "groups": [group_id("printers")],
        }

    def as_sent(self, made: Body) -> Body:
        return made | {"groups": [each["id"] for each in made["groups"]]}

    def answered(self) -> Iterator[Answered]:
        yield self.body(), {"type": "host"}
        plain = {"description": "", "enabled": False, "groups": [], "type": "host"}
        yield resource(), plain

    def changes(self, made: Body) -> Iterator[Change]:
        new = group_id("new")
        its = {"name": "printer 9", "id": made["id"], "type": "host"}
        added = {"name": "new", "id": new}
        added |= {f"resource_{name}": value for name, value in its.items()}
        told = {"resource.group.delete": None, "resource.group.add": added}
        yield {"groups": [new]}, {}, told

    def refused(self) -> Iterator[Fault]:
        yield {"name": ""}, 422, "name", "the resource name must not be empty or blank"
        yield from too_long("resource")
        stored_resource("taken", network=network("elsewhere"))
        yield {"name": "taken"}, 409, "name", "another resource has the name 'taken'"
        yield {"groups": ["x"]}, 422, "groups[0]", "group 'x' was not found"
        for address in (
            *("", "-", "10.0.0.300", "10.0.0.1/33", "10.0.0/8", "a b", "a/8"),
            *("fe80::%1", "::g"),
        ):
            yield {"address": address}, 422, "address", "is no IP address, network or"


class TestRouters(ResourceContract):
    required = ()
    created_codes = ("network.router.create",)
    deleted_codes = ("network.router.delete",)
    updates = {"metric": 7}

    def make_path(self) -> str:
        return routers_of()

    def body(self, number: int = 1) -> Body:
        on = {"masquerade": True, "enabled": True}
        return {"peer": numbered(number).pk, "metric": 10, **on}

    def answered(self) -> Iterator[Answered]:
        yield self.body(), {"peer_groups": None}

    def told(self, made: Body) -> dict[str, Body]:
        return {"network.router.create": self.about(peer=made["peer"])}

    def changes(self, made: Body) -> Iterator[Change]:
        gateways = group_id("gateways")
        told = {"network.router.update": self.about(peer_groups=gateways)}
        yield {"peer_groups": [gateways]}, {"peer": ""}, told

    @staticmethod
    def about(**ends: str) -> Body:
        """Return what an event says of a router."""
        office = {"network_name": "office", "network_id": network().pk}
        return {**office, "peer": "", "peer_groups": ""} | ends

    def refused(self) -> Iterator[Fault]:
        need = "give either peer or peer_groups"
        yield {"peer": ""}, 422, "peer", need
        yield {"peer": "x"}, 422, "peer", "peer 'x' was not found"
        both = {"peer": numbered(1).pk, "peer_groups": [group_id("gateways")]}
        yield both, 422, "peer", f"{need}, not both"
        by_groups = {"peer": "", "peer_groups": ["x"]}
        yield by_groups, 422, "peer_groups[0]", "group 'x' was not found"
        for metric in (0, 10000, -1):
            message = f"the metric must be from 1 to 9999, not {metric}"
            yield {"metric": metric}, 422, "metric", message


def resource(**changes: object) -> Body:
    return {"name": "printer", "address": "10.0.0.1"} | changes


def new_policy(api: Api, **ends: Any) -> Body:
    made: Body = ok(api.post("/api/policies", policy(rules=[rule(**ends)])))
    return made


def test_network_lists_what_belongs_to_it(api: Api):
    made = ok(api.post(PATH, {"name": "office"}))
    printers, others = group_id("printers"), group_id("others")
    first = ok(api.post(resources_of(), resource(groups=[printers])))
    second = ok(api.post(resources_of(), resource(name="b", address="b.test")))
    by_peer = ok(api.post(routers_of(), {"peer": numbered(1).pk}))
    members: Body = {"peer_groups": [group_id("gateways", 1, 2), group_id("g2", 2)]}
    members["enabled"] = False
    by_groups = ok(api.post(routers_of(), members))
    end = {"id": second["id"], "type": "domain"}
    to_group = new_policy(api, destinations=[printers])
    to_resource = new_policy(api, destinations=[], destinationResource=end)
    new_policy(api, destinations=[others])
    shown = ok(api.get(f"{PATH}/{made['id']}"))
    assert shown["resources"] == [first["id"], second["id"]]
    assert shown["routers"] == [by_peer["id"], by_groups["id"]]
    assert shown["policies"] == [to_group["id"], to_resource["id"]]
    # As the reference counts: disabled routers too, and twice who is named twice.
    assert shown["routing_peers_count"] == 4
    elsewhere = ok(api.post(PATH, {"name": "elsewhere"}))
    assert ok(api.get(PATH)) == [shown, elsewhere]


@pytest.mark.parametrize(
    ("address", "kind", "meant"),
    [
        ("10.0.0.1", "host", "10.0.0.1/32"),
        ("10.0.0.1/32", "host", "10.0.0.1/32"),
        ("10.0.0.1/8", "subnet", "10.0.0.0/8"),
        ("2001:DB8::1", "host", "2001:db8::1/128"),
        ("2001:DB8::1/32", "subnet", "2001:db8::/32"),
        ("2001:db8::/32", "subnet", "2001:db8::/32"),
        ("0.0.0.0/0", "subnet", "0.0.0.0/0"),
        ("Files.corp.test", "domain", "files.corp.test"),
        ("*.corp.test", "domain", "*.corp.test"),
    ],
)
def test_address_is_answered_as_sent_and_masked_for_peers(
    api: Api, address: str, kind: str, meant: str
):
    made = ok(api.post(resources_of(), resource(address=address)))
    assert (made["type"], made["address"]) == (kind, address)
    assert ok(api.put(f"{resources_of()}/{made['id']}", made)) == made
    [known] = load().resources
    assert known.address == meant


def test_groups_of_a_resource_are_shown_in_full(api: Api):
    printers = group_id("printers")
    made = ok(api.post(resources_of(), resource(groups=[printers])))
    assert made["groups"] == [
        {"id": printers, "name": "printers", "peers_count": 0, "resources_count": 1}
    ]


@pytest.mark.parametrize(
    ("side", "named", "then"),
    [("source", "host", "domain"), ("destination", "subnet", "subnet")],
    ids=["the resource's own", "never its own"],
)
def test_changed_type_is_changed_wherever_the_resource_is_named_by_it(
    api: Api, side: str, named: str, then: str
):
    made = ok(api.post(resources_of(), resource(groups=[group_id("printers")])))
    end = {"id": made["id"], "type": named}
    made_policy = new_policy(api, **{f"{side}s": None, f"{side}Resource": end})
    changed = ok(api.put(f"{resources_of()}/{made['id']}", {"address": "p.test"}))
    assert changed["type"] == "domain"
    assert len(changed["groups"]) == 1
    assert [link.resource_type for link in GroupResource.objects.all()] == ["domain"]
    [shown] = ok(api.get(f"/api/policies/{made_policy['id']}"))["rules"]
    assert shown[f"{side}Resource"] == {"id": made["id"], "type": then}


@pytest.mark.parametrize("of", [resources_of, routers_of])
def test_part_of_another_network_is_not_found(api: Api, of: Callable[..., str]):
    body = resource() if of is resources_of else {"peer": numbered(1).pk}
    made = ok(api.post(of(), body))
    there = f"{of('elsewhere')}/{made['id']}"
    for answer in (api.get(there), api.put(there, body), api.delete(there)):
        assert answer.status == 404
    assert ok(api.get(of("elsewhere"))) == []
    assert ok(api.get(of())) == [made]


def test_all_resources_and_routers_of_the_account(api: Api):
    peer = {"peer": numbered(1).pk}
    resources = [ok(api.post(resources_of(x), resource(name=x))) for x in "ab"]
    routers = [ok(api.post(routers_of(x), peer)) for x in "ab"]
    assert ok(api.get(f"{PATH}/resources")) == resources
    assert ok(api.get(f"{PATH}/routers")) == routers
    for part in ("resources", "routers"):
        assert api_as("user").get(f"{PATH}/{part}").status == 403


def test_lists_bear_more_parts_than_a_statement_takes_parameters(api: Api):
    many, office, gateway = BATCH + 100, network(), numbered(1)
    parts: dict[type[AuditedModel], list[AuditedModel]] = {
        NetworkResource: [
            NetworkResource(network=office, name=f"r{n}", address=f"10.0.{n}.0/24")
            for n in range(many)
        ],
        Router: [Router(network=office, peer=gateway) for _ in range(many)],
    }
    for made in parts.values():
        audited_bulk_create(made)
    with few_parameters(many - 1):
        [shown] = ok(api.get(PATH))
        assert len(ok(api.get(resources_of()))) == many
        assert len(ok(api.get(routers_of()))) == many
    assert len(shown["resources"]) == shown["routing_peers_count"] == many
