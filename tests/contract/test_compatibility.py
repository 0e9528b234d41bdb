"""What docs/compatibility.md says and no other test holds."""

from typing import Any

import pytest

from groups.selectors import all_group_id
from meshmgmt.control.maps import MapStore
from meshmgmt.control.protocol.management_pb2 import PeerConfig
from meshmgmt.control.server.messages import read_flow_rule
from meshmgmt.core.context import account_id
from tests.access.bodies import policy, route, rule
from tests.api_client import Api
from tests.factories import group_id, network, numbered, peer
from tests.people import api_of, robot
from tests.resource_contract import ok

pytestmark = pytest.mark.django_db


def settings(api: Api, **changes: Any) -> Any:
    """Change settings over HTTP; return them all as answered."""
    changes.setdefault("auto_update_version", "disabled")
    body = {"settings": changes}
    return ok(api.put(f"/api/accounts/{account_id()}", body))["settings"]


def maps() -> MapStore:
    store = MapStore(serving=False)
    store.refresh()
    return store


def without_serial(message: dict[str, Any]) -> dict[str, Any]:
    """Return a map without the number that every change makes greater."""
    del message["NetworkMap"]["Serial"]
    return message


def told(peer_id: str) -> PeerConfig:
    """Return what the account's settings tell a peer about itself."""
    return maps().peer_config(peer_id)


def test_service_user_with_the_role_user_reads_nothing_of_others():
    peer()
    api = api_of(robot("user"))
    assert api.get("/api/peers").json == []
    assert api.get("/api/groups").status == 403
    assert api_of(robot("auditor")).get("/api/groups").status == 200


@pytest.mark.parametrize("on", [True, False])
def test_lazy_connections_and_dns_of_routing_peers_reach_agents(api: Api, on: bool):
    mine = peer().pk
    settings(api, lazy_connection_enabled=on, routing_peer_dns_resolution_enabled=on)
    config = told(mine)
    assert config.LazyConnectionEnabled is on
    assert config.RoutingPeerDnsResolutionEnabled is on


def test_updates_that_agents_shall_make_reach_them(api: Api):
    mine = peer().pk
    for version, always in (("1.2.3", True), ("disabled", False)):
        settings(api, auto_update_version=version, auto_update_always=always)
        wanted = told(mine).autoUpdate
        assert (wanted.version, wanted.alwaysUpdate) == (version, always)


@pytest.mark.parametrize("on", [True, False])
def test_pushing_metrics_reaches_agents(api: Api, on: bool):
    settings(api, metrics_push_enabled=on)
    assert maps().mesh.snapshot.settings.metrics_push is on


def test_counters_of_packets_are_asked_of_those_who_report(api: Api):
    mine = peer().pk
    extra = {"network_traffic_packet_counter_enabled": True}
    for on in (True, False):
        settings(api, extra=extra | {"network_traffic_logs_enabled": on})
        assert read_flow_rule().told(mine) == (on, on)


def test_settings_without_effect_change_nothing_of_a_map(api: Api):
    mine = peer().pk
    before = without_serial(maps().as_dict(mine))
    changes: dict[str, Any] = {
        "peer_expose_enabled": True,
        "peer_expose_groups": [all_group_id()],
        "local_mfa_enabled": True,
    }
    shown = settings(api, **changes)
    assert {name: shown[name] for name in changes} == changes
    assert without_serial(maps().as_dict(mine)) == before


def test_parts_that_are_not_here_are_always_off(api: Api):
    shown = settings(api, agent_network_only=True, embedded_idp_enabled=True)
    assert shown["agent_network_only"] is False
    assert shown["embedded_idp_enabled"] is False


@pytest.mark.parametrize("change", [{"enabled": False}, {}])
def test_router_is_on_unless_told_otherwise(api: Api, change: Any):
    path = f"/api/networks/{network().pk}/routers"
    made = ok(api.post(path, {"peer": numbered(1).pk} | change))
    assert made["enabled"] is change.get("enabled", True)
    kept = ok(api.put(f"{path}/{made['id']}", {"metric": 7}))
    assert (kept["enabled"], kept["metric"]) == (made["enabled"], 7)


@pytest.mark.parametrize("path", ["/api/ingress/peers", "/api/agent-network/settings"])
def test_ingress_ports_and_agent_networks_are_not_served(api: Api, path: str):
    assert api.get(path).status == 404


def test_groups_are_taken_as_ids_and_as_answers_show_them(api: Api):
    crew = group_id("crew")
    shown = ok(api.get(f"/api/groups/{crew}"))
    for sources in ([crew], [shown], [{"id": crew}]):
        made = ok(api.post("/api/policies", policy(rules=[rule(sources=sources)])))
        assert [each["id"] for each in made["rules"][0]["sources"]] == [crew]


def test_kind_of_a_routes_network_is_worked_out(api: Api):
    path = "/api/routes"
    made = ok(api.post(path, route(network="10.1.0.0/16", network_type="IPv6")))
    assert made["network_type"] == "IPv4"
    names = route(domains=["wiki.test"], network_type="IPv4")
    del names["network"]
    assert ok(api.post(path, names))["network_type"] == "Domain"


def test_peer_that_waits_for_approval_is_in_no_map(api: Api):
    crew = group_id("crew", 1, 2)
    between = rule(sources=[crew], destinations=[crew])
    ok(api.post("/api/policies", policy(rules=[between])))
    one, other = numbered(1), numbered(2)

    def seen() -> int:
        return len(maps().as_dict(one.pk)["NetworkMap"].get("remotePeers", ()))

    assert seen() == 1
    other.approval_required = True
    other.save()
    assert seen() == 0
    ok(api.put(f"/api/peers/{other.pk}", {"approval_required": False}))
    assert seen() == 1
