"""Routes over HTTP."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.access.bodies import route
from tests.api_client import Api
from tests.factories import group_id, numbered
from tests.resource_contract import (
    TAKEN,
    Body,
    Fault,
    ResourceContract,
    Trail,
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


def test_route_answers_what_was_sent(api: Api) -> None:
    body = route(access_control_groups=[group_id("guests")])
    made = ok(api.post(PATH, body))
    assert made == {
        **body,
        "id": made["id"],
        "domains": None,
        "network_type": "IPv4",
    }


def test_route_without_optional_groups_leaves_them_out(api: Api) -> None:
    by_peer = ok(api.post(PATH, route(access_control_groups=[])))
    assert not {"peer_groups", "access_control_groups"} & set(by_peer)
    by_groups = route(
        network="10.2.0.0/16", peer="", peer_groups=[group_id("gateways")]
    )
    made = ok(api.post(PATH, by_groups))
    assert made["peer_groups"] == [group_id("gateways")]
    assert ok(api.get(PATH)) == [by_peer, made]


def test_defaults_of_a_minimal_route(api: Api) -> None:
    body = {
        "network_id": "o",
        "network": "fd00::/8",
        "peer": numbered(1).pk,
        "groups": [group_id("people")],
    }
    made = ok(api.post(PATH, body))
    assert made == {
        **body,
        "id": made["id"],
        "description": "",
        "enabled": False,
        "domains": None,
        "network_type": "IPv6",
        "metric": 9999,
        "masquerade": False,
        "keep_route": False,
        "skip_auto_apply": False,
    }


def test_host_bits_are_cleared(api: Api) -> None:
    assert ok(api.post(PATH, route(network="10.1.2.3/16")))["network"] == "10.1.0.0/16"


def test_domain_route_echoes_its_domains(api: Api) -> None:
    domains = ["*.Corp.test", "münchen.de"]
    made = ok(api.post(PATH, route(network="", domains=domains)))
    assert made["domains"] == domains
    assert made["network"] == ""
    assert made["network_type"] == "Domain"
    assert ok(api.put(f"{PATH}/{made['id']}", made)) == made


def test_one_part_of_a_pair_takes_the_place_of_the_other(api: Api) -> None:
    one = f"{PATH}/{ok(api.post(PATH, route()))['id']}"
    changed = ok(api.put(one, {"domains": ["corp.test"]}))
    assert (changed["network"], changed["network_type"]) == ("", "Domain")
    changed = ok(api.put(one, {"peer_groups": [group_id("gateways")]}))
    assert changed["peer"] == ""
    changed = ok(api.put(one, {"network": "10.0.0.0/8", "peer": numbered(2).pk}))
    assert changed["domains"] is None
    assert "peer_groups" not in changed


def test_peer_beside_peer_groups_is_refused(api: Api) -> None:
    answer = api.post(PATH, route(peer_groups=[group_id("gateways"), "x"]))
    assert answer.status == 422
    assert answer.fields == {
        "peer": "give either peer or peer_groups, not both",
        "peer_groups[1]": "group 'x' was not found",
    }


def _by_peer(number: int) -> dict[str, Any]:
    return {"peer": numbered(number).pk}


def _by_groups(*groups: str) -> dict[str, Any]:
    return {"peer": "", "peer_groups": list(groups)}


@pytest.mark.parametrize(
    "place", [{}, {"network": "", "domains": ["b.test", "A.test"]}]
)
@pytest.mark.parametrize("field", ["peer", "peer_groups"])
def test_same_route_again_is_a_clash(api: Api, place: Body, field: str) -> None:
    groups = [group_id("gateways", 1, 2), group_id("others", 2, 3)]
    forwarder = _by_peer(1) if field == "peer" else _by_groups(*groups)
    made = ok(api.post(PATH, route(**place, **forwarder)))
    again = _by_peer(1) if field == "peer" else _by_groups(*groups[::-1])
    answer = api.post(PATH, route(**place, **again))
    assert answer.status == 409
    assert answer.fields == {
        field: f"a route 'office' leads there through the same {field} already"
    }
    assert ok(api.get(PATH)) == [made]
    ok(api.put(f"{PATH}/{made['id']}", {"metric": 7}))  # the route itself is no clash


@pytest.mark.parametrize(
    "other",
    [
        {"network_id": "office 2"},
        {"network": "10.2.0.0/16"},
        {"peer": "<peer>"},
        {"peer": "", "peer_groups": ["<group of the peer>"]},
    ],
)
def test_route_that_differs_in_name_place_or_peer_is_accepted(
    api: Api, other: Body
) -> None:
    ok(api.post(PATH, route()))
    if other.get("peer"):
        other = _by_peer(2)
    elif "peer" in other:
        other = _by_groups(group_id("gateways", 1))
    ok(api.post(PATH, route(**other)))
    assert len(ok(api.get(PATH))) == 2


def test_same_domains_in_another_order_are_the_same_place(api: Api) -> None:
    ok(api.post(PATH, route(network="", domains=["a.test", "b.test"])))
    answer = api.post(PATH, route(network="", domains=["B.test.", "a.test"]))
    assert answer.status == 409


def test_event_describes_the_route(api: Api) -> None:
    body = route()
    trail = Trail()
    made = ok(api.post(PATH, body))
    ok(
        api.put(
            f"{PATH}/{made['id']}", {"groups": [body["groups"][0], group_id("more")]}
        )
    )
    [added, _, updated] = trail.events
    assert added.meta == {
        "name": "office",
        "network_range": "10.1.0.0/16",
        "domains": "",
        "peer_id": body["peer"],
        "peer_groups": "",
    }
    assert (updated.activity_code, updated.target_id) == ("route.update", made["id"])
    gateways = group_id("gateways")
    ok(api.put(f"{PATH}/{made['id']}", {"peer_groups": [gateways]}))
    meta = trail.events[-1].meta
    assert (meta["peer_id"], meta["peer_groups"]) == ("", gateways)
