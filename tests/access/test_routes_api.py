"""Routes over HTTP."""

from typing import Any

import pytest

from meshmgmt.access.api.serializers.routes import RouteSerializer
from tests.access.bodies import group, peer, route, with_members
from tests.api_client import Api
from tests.resource_contract import Body, ResourceContract, Trail, ok

PATH = "/api/routes"


class TestRoutes(ResourceContract):
    path = PATH
    module = "routes"
    required = ("network_id", "groups")
    serializer = RouteSerializer
    created_codes = ("route.add",)
    deleted_codes = ("route.delete",)

    def body(self, number: int = 1) -> Body:
        return route(network=f"10.{number}.0.0/16")


def test_route_answers_what_was_sent(api: Api) -> None:
    body = route(access_control_groups=[group("guests")])
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
    by_groups = route(network="10.2.0.0/16", peer="", peer_groups=[group("gateways")])
    made = ok(api.post(PATH, by_groups))
    assert made["peer_groups"] == [group("gateways")]
    assert ok(api.get(PATH)) == [by_peer, made]


def test_defaults_of_a_minimal_route(api: Api) -> None:
    body = {
        "network_id": "o",
        "network": "fd00::/8",
        "peer": peer(1).pk,
        "groups": [group("people")],
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
    changed = ok(api.put(one, {"peer_groups": [group("gateways")]}))
    assert changed["peer"] == ""
    changed = ok(api.put(one, {"network": "10.0.0.0/8", "peer": peer(2).pk}))
    assert changed["domains"] is None
    assert "peer_groups" not in changed


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        (
            {"domains": ["a.test"]},
            "network",
            "give either network or domains, not both",
        ),
        ({"network": ""}, "network", "give either network or domains"),
        ({"peer": ""}, "peer", "give either peer or peer_groups"),
        ({"peer": "x"}, "peer", "peer 'x' was not found"),
        ({"network_id": ""}, "network_id", "must not be empty or blank"),
        ({"network_id": "n" * 41}, "network_id", "more than 40 characters"),
        ({"network": "10.1.0.0"}, "network", "is no network such as"),
        ({"network": "10.1.0.0/255.255.0.0"}, "network", "is no network such as"),
        ({"network": "fe80::%1/64"}, "network", "is no network such as"),
        ({"network": "10.1.0.0/33"}, "network", "is no network such as"),
        ({"network": "corp.test/8"}, "network", "is no network such as"),
        ({"network": "", "domains": ["-a"]}, "domains[0]", "domain '-a' is not valid"),
        (
            {"network": "", "domains": [f"a{n}.test" for n in range(33)]},
            "domains",
            "a route has at most 32 domains",
        ),
        ({"metric": 0}, "metric", "the metric must be from 1 to 9999, not 0"),
        ({"metric": 10000}, "metric", "the metric must be from 1 to 9999, not 10000"),
        ({"groups": []}, "groups", "a route needs at least one group that uses it"),
        ({"groups": ["x"]}, "groups[0]", "group 'x' was not found"),
        (
            {"access_control_groups": [""]},
            "access_control_groups[0]",
            "group '' was not found",
        ),
        ({"description": "d" * 1001}, "description", "more than 1000 characters"),
    ],
)
def test_broken_rule_is_refused(
    api: Api, changes: Body, field: str, message: str
) -> None:
    made = ok(api.post(PATH, route(network="10.9.0.0/16")))
    whole = {key: value for key, value in made.items() if key != "id"}
    trail = Trail()
    for answer in (
        api.post(PATH, route(**changes)),
        api.put(f"{PATH}/{made['id']}", whole | {"network": "10.1.0.0/16"} | changes),
    ):
        assert answer.status == 422
        assert list(answer.fields) == [field]
        assert message in answer.json["message"]
    assert ok(api.get(PATH)) == [made]
    assert trail.codes == []


def test_peer_beside_peer_groups_is_refused(api: Api) -> None:
    answer = api.post(PATH, route(peer_groups=[group("gateways"), "x"]))
    assert answer.status == 422
    assert answer.fields == {
        "peer": "give either peer or peer_groups, not both",
        "peer_groups[1]": "group 'x' was not found",
    }


def _by_peer(number: int) -> dict[str, Any]:
    return {"peer": peer(number).pk}


def _by_groups(*groups: str) -> dict[str, Any]:
    return {"peer": "", "peer_groups": list(groups)}


@pytest.mark.parametrize(
    "place", [{}, {"network": "", "domains": ["b.test", "A.test"]}]
)
@pytest.mark.parametrize("field", ["peer", "peer_groups"])
def test_same_route_again_is_a_clash(api: Api, place: Body, field: str) -> None:
    groups = [with_members("gateways", 1, 2), with_members("others", 2, 3)]
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
        other = _by_groups(with_members("gateways", 1))
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
    ok(api.put(f"{PATH}/{made['id']}", {"groups": [body["groups"][0], group("more")]}))
    [added, _, updated] = trail.events
    assert added.meta == {
        "name": "office",
        "network_range": "10.1.0.0/16",
        "domains": "",
        "peer_id": body["peer"],
        "peer_groups": "",
    }
    assert (updated.activity_code, updated.target_id) == ("route.update", made["id"])
