"""Routes over HTTP."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.access.bodies import route
from tests.api_client import Api
from tests.factories import group_id, numbered
from tests.resource_contract import (
    ABSENT,
    TAKEN,
    Answered,
    Body,
    Change,
    Fault,
    ResourceContract,
    ok,
)

PATH = "/api/routes"


class TestRoutes(ResourceContract):
    path = PATH
    required = ("network_id", "groups")
    created_codes = ("route.add",)
    deleted_codes = ("route.delete",)

    def body(self, number: int = 1) -> Body:
        return route(network=f"10.{number}.0.0/16")

    def answered(self) -> Iterator[Answered]:
        plain = {"domains": None, "network_type": "IPv4"}
        nowhere = {"access_control_groups": ABSENT}
        yield route(access_control_groups=[group_id("guests")]), plain
        yield route(network="10.1.2.3/16"), plain | nowhere | {"network": "10.1.0.0/16"}
        yield route(peer="", peer_groups=[group_id("gateways")]), plain | nowhere
        by_name = route(network="", domains=["*.Corp.test", "münchen.de"])
        yield by_name, nowhere | {"network_type": "Domain"}
        minimal = {"network_id": "o", "network": "fd00::/8", "groups": [group_id("a")]}
        off: Body = dict.fromkeys(("enabled", "masquerade", "keep_route"), False)
        off |= {"description": "", "metric": 9999, "skip_auto_apply": False}
        by_peer = {"peer": numbered(1).pk, "domains": None, "network_type": "IPv6"}
        yield minimal | by_peer, off

    def told(self, made: Body) -> dict[str, Body]:
        return {"route.add": about(made["network"], peer_id=numbered(1).pk)}

    def changes(self, made: Body) -> Iterator[Change]:
        told, old = ["route.update"], made["network"]
        yield {"groups": [*made["groups"], group_id("more")]}, {}, told
        gateways = group_id("gateways")
        by_groups = {"route.update": about(old, peer_groups=gateways)}
        yield {"peer_groups": [gateways]}, {"peer": ""}, by_groups
        names = {"network": "", "network_type": "Domain"}
        yield {"domains": ["corp.test"]}, names, told
        back = {"network": "10.0.0.0/8", "peer": numbered(2).pk}
        one = {"domains": None, "network_type": "IPv4", "peer_groups": ABSENT}
        yield back, one, told

    def refused(self) -> Iterator[Fault]:
        need, bad = "give either network or domains", "is no network such as"
        yield {"domains": ["a.test"]}, 422, "network", f"{need}, not both"
        yield {"network": ""}, 422, "network", need
        yield {"peer": ""}, 422, "peer", "give either peer or peer_groups"
        yield {"peer": "x"}, 422, "peer", "peer 'x' was not found"
        yield {"network_id": ""}, 422, "network_id", "must not be empty or blank"
        yield {"network_id": "n" * 41}, 422, "network_id", "more than 40 characters"
        for mask in ("", "/255.255.0.0", "/33"):
            yield {"network": f"10.1.0.0{mask}"}, 422, "network", bad
        yield {"network": "fe80::%1/64"}, 422, "network", bad
        yield {"network": "corp.test/8"}, 422, "network", bad
        by_name = {"network": "", "domains": ["-a"]}
        yield by_name, 422, "domains[0]", "domain '-a' is not valid"
        many = {"network": "", "domains": [f"a{n}.test" for n in range(33)]}
        yield many, 422, "domains", "a route has at most 32 domains"
        for metric in (0, 10000):
            message = f"the metric must be from 1 to 9999, not {metric}"
            yield {"metric": metric}, 422, "metric", message
        yield {"groups": []}, 422, "groups", "needs at least one group that uses it"
        yield {"groups": ["x"]}, 422, "groups[0]", "group 'x' was not found"
        lost = {"access_control_groups": [""]}
        yield lost, 422, "access_control_groups[0]", "group '' was not found"
        yield {"description": "d" * 1001}, 422, "description", "more than 1000"
        taken = {"network": f"10.{TAKEN}.0.0/16"}
        clash = "a route 'office' leads there through the same peer already"
        yield taken, 409, "peer", clash

    def changed(self, made: Body, changes: Body) -> Body:
        return made | {"network": "10.1.0.0/16"} | changes


def about(network: str, *, peer_id: str = "", peer_groups: str = "") -> Body:
    """Return what an event says of a route."""
    where = {"name": "office", "network_range": network, "domains": ""}
    return where | {"peer_id": peer_id, "peer_groups": peer_groups}


def test_peer_beside_peer_groups_is_refused(api: Api):
    answer = api.post(PATH, route(peer_groups=[group_id("gateways"), "x"]))
    assert answer.refused(422).fields == {
        "peer": "give either peer or peer_groups, not both",
        "peer_groups[1]": "group 'x' was not found",
    }


def _by_peer(number: int) -> dict[str, Any]:
    return {"peer": numbered(number).pk}


def _by_groups(*groups: str) -> dict[str, Any]:
    return {"peer": "", "peer_groups": list(groups)}


def _by_name(*domains: str) -> dict[str, Any]:
    return {"network": "", "domains": list(domains)}


@pytest.mark.parametrize(
    ("place", "same"),
    [({}, {}), (_by_name("b.test", "A.test"), _by_name("a.test", "B.test."))],
)
@pytest.mark.parametrize("field", ["peer", "peer_groups"])
def test_same_route_again_is_a_clash(api: Api, place: Body, same: Body, field: str):
    groups = [group_id("gateways", 1, 2), group_id("others", 2, 3)]
    forwarder = _by_peer(1) if field == "peer" else _by_groups(*groups)
    made = ok(api.post(PATH, route(**place, **forwarder)))
    again = _by_peer(1) if field == "peer" else _by_groups(*groups[::-1])
    text = f"a route 'office' leads there through the same {field} already"
    answer = api.post(PATH, route(**same, **again))
    assert answer.refused(409).fields == {field: text}
    assert ok(api.get(PATH)) == [made]
    ok(api.put(f"{PATH}/{made['id']}", {"metric": 7}))  # the route itself is no clash


def test_route_that_differs_in_name_place_or_peer_is_accepted(api: Api):
    others: list[Body] = [{}, {"network_id": "office 2"}, {"network": "10.2.0.0/16"}]
    others += [_by_peer(2), _by_groups(group_id("gateways", 1))]
    made = [ok(api.post(PATH, route(**other))) for other in others]
    assert ok(api.get(PATH)) == made
