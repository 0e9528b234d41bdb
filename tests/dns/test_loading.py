"""What is loaded from the database decides the same as the account it was made from."""

import datetime as dt
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.db import transaction
from hypothesis import HealthCheck, given, settings

from dns.effective.compute import Configurator, peer_config
from dns.effective.result import EffectiveZone, PeerDns, Reason, to_json
from dns.effective.snapshot import (
    Nameserver,
    NameserverGroup,
    Peer,
    Record,
    Snapshot,
    Zone,
)
from dns.mapsize import observe_map
from dns.selectors.effective import all_peer_dns, peer_dns
from dns.selectors.snapshot import account_snapshot, peer_snapshot
from dns.services.settings import dns_settings_update
from dns.services.zones import zone_update
from groups.models import Group
from meshmgmt.access.models import PolicyRule, RuleDestination
from meshmgmt.access.reach import (
    Policy,
    ReachFacts,
    Resource,
    Router,
    Rule,
    RuleSide,
)
from meshmgmt.core.errors import NotFound
from meshmgmt.core.names import canonical
from meshmgmt.core.orderedlinks import set_members
from observability.metrics.instruments import REGISTRY
from tests.api_client import Api
from tests.dns.accounts import snapshots
from tests.dns.bodies import created, new_group, record, zone
from tests.dns.stored_account import storable, store

pytestmark = pytest.mark.django_db


class _Undo(Exception):
    pass


def _compare(drawn: Snapshot) -> None:
    snapshot = storable(drawn)
    try:
        with transaction.atomic():
            store(snapshot)
            everything = Configurator(account_snapshot())
            for peer_id in snapshot.peers:
                expected = to_json(peer_config(snapshot, peer_id))
                assert to_json(everything.config(peer_id)) == expected
                loaded, graph = peer_snapshot(peer_id)
                alone = Configurator(loaded, graph=graph).config(peer_id)
                assert to_json(alone) == expected
            raise _Undo
    except _Undo:
        pass


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=snapshots())
def test_loaded_account_gives_the_same_configurations(
    db: None, drawn: Snapshot
) -> None:
    _compare(drawn)


@pytest.mark.slow
@pytest.mark.timeout(900)
@settings(
    max_examples=200,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(drawn=snapshots())
def test_many_loaded_accounts_give_the_same_configurations(
    db: None, drawn: Snapshot
) -> None:
    _compare(drawn)


def _peer(number: int, *groups: str) -> Peer:
    return Peer(
        id=f"p{number}",
        name=f"peer {number}",
        label=f"host{number}",
        ip=f"100.64.0.{number}",
        groups=frozenset(groups),
    )


def test_routers_and_resources_are_loaded() -> None:
    users, routing = _peer(1, "users"), _peer(2, "routing")
    rule = Rule(RuleSide(groups=frozenset({"users"})), RuleSide(resource="r1"))
    in_group = Rule(
        RuleSide(groups=frozenset({"users"})), RuleSide(groups=frozenset({"things"}))
    )
    snapshot = Snapshot(
        dns_domain="mesh.lan",
        peers={"p1": users, "p2": routing},
        members={"users": ["p1"], "routing": ["p2"], "things": []},
        reach=ReachFacts(
            policies=(
                Policy("a", "To one", (rule,)),
                Policy("b", "To all", (in_group,)),
            ),
            routers=(
                Router("u1", "n1", peer_groups=frozenset({"routing"})),
                Router("u2", "n2", peer="p2", enabled=False),
            ),
            resources=(
                Resource("r1", "n1", frozenset({"things"})),
                Resource("r2", "n2", enabled=False),
            ),
        ),
    )
    store(snapshot)
    expected = to_json(peer_config(snapshot, "p1"))
    assert [peer["name"] for peer in expected["visible_peers"]] == ["peer 1", "peer 2"]  # type: ignore[attr-defined]
    assert to_json(peer_dns("p1")) == expected
    assert to_json(next(all_peer_dns())) == expected
    assert to_json(peer_dns("p2")) == to_json(peer_config(snapshot, "p2"))


def test_group_of_all_peers_counts_without_rows() -> None:
    everybody = Group.objects.get(name="All")
    peers = {peer.id: peer for peer in (_peer(1, "g"), _peer(2))}
    found = Record("www.svc.lan", "A", "10.0.0.1", 60)
    empty = Zone("z1", "Zone", "svc.lan", frozenset(), (found,))
    rule = Rule(RuleSide(groups=frozenset({"g"})), RuleSide())
    reach = ReachFacts(policies=(Policy("a", "Out", (rule,)),))
    store(Snapshot("mesh.lan", peers, {"g": ["p1"]}, zones=(empty,), reach=reach))
    assert [z.name for z in peer_dns("p2").zones] == ["Peers"]
    zone_update(zone_id="z1", distribution_groups=[everybody.pk])
    set_members(RuleDestination, PolicyRule.objects.get(), [everybody.pk])
    for peer_id in ("p1", "p2"):
        config = peer_dns(peer_id)
        assert [z.name for z in config.zones] == ["Peers", "Zone"]
        assert [peer.id for peer in config.visible_peers] == (
            ["p1", "p2"] if peer_id == "p1" else ["p2", "p1"]
        )
        assert config in list(all_peer_dns())
    dns_settings_update(disabled_management_groups=[everybody.pk])
    assert not peer_dns("p1").managed


def test_first_cause_wins_when_everybody_is_seen_too() -> None:
    peers = {peer.id: peer for peer in (_peer(1, "a"), _peer(2, "b"), _peer(3))}
    sides = RuleSide(groups=frozenset({"a"})), RuleSide(groups=frozenset({"b"}))
    reach = ReachFacts(
        policies=(
            Policy("p1", "Narrow", (Rule(*sides),)),
            Policy(
                "p2", "Wide", (Rule(RuleSide(groups=frozenset({"a"})), RuleSide()),)
            ),
        )
    )
    store(Snapshot("mesh.lan", peers, {"a": ["p1"], "b": ["p2"]}, reach=reach))
    wide = PolicyRule.objects.get(policy="p2")
    set_members(RuleDestination, wide, [Group.objects.get(name="All").pk])
    causes = {p.id: p.cause.name for p in peer_dns("p1").visible_peers if p.cause}
    assert causes == {"p2": "Narrow", "p3": "Wide"}


@pytest.mark.parametrize("size", [1, 20])
def test_one_peer_needs_sixteen_queries_whatever_the_size(
    size: int, django_assert_num_queries: Any
) -> None:
    store(_account_of(size))
    with django_assert_num_queries(16):
        config = peer_dns("p0")
    assert len(config.zones) == size + 1
    assert len(config.nameserver_groups) == size
    assert len(config.visible_peers) == size


@pytest.mark.parametrize("size", [1, 20])
def test_all_peers_need_fourteen_queries_whatever_the_size(
    size: int, django_assert_num_queries: Any
) -> None:
    store(_account_of(size))
    with django_assert_num_queries(14):
        configs = list(all_peer_dns())
    assert len(configs) == size
    assert configs[0] == peer_dns("p0")


def _account_of(size: int) -> Snapshot:
    peers = {f"p{n}": _peer(n, "g") for n in range(size)}
    everyone = RuleSide(groups=frozenset({"g"}))
    return Snapshot(
        dns_domain="mesh.lan",
        peers=peers,
        members={"g": list(peers)},
        zones=tuple(
            Zone(
                f"z{n:02}",
                f"Zone {n}",
                f"z{n}.lan",
                frozenset({"g"}),
                (Record(f"www.z{n}.lan", "A", "10.0.0.1", 60),),
            )
            for n in range(size)
        ),
        nameserver_groups=tuple(
            NameserverGroup(
                f"n{n:02}",
                f"N {n}",
                (Nameserver("9.9.9.9"),),
                frozenset({"g"}),
                ("x.lan",),
            )
            for n in range(size)
        ),
        reach=ReachFacts(policies=(Policy("a", "Mesh", (Rule(everyone, everyone),)),)),
    )


def test_names_too_long_for_an_index_are_loaded_whole(owner: Api) -> None:
    domain = "中.test"
    path = "/api/dns/zones"
    group = new_group("g")
    made = created(owner.post(path, zone(domain=domain, distribution_groups=[group])))
    name = ".".join(["㌖"] * 120) + "." + domain
    body = record(name=name)
    created(owner.post(f"{path}/{made['id']}/records", body))
    assert owner.post(f"{path}/{made['id']}/records", body).status == 409
    [loaded] = account_snapshot().zones[0].records
    assert loaded.name == canonical(name)
    assert len(loaded.name) > 1000


def test_unknown_peer_is_not_found() -> None:
    with pytest.raises(NotFound, match="not found"):
        peer_dns("0" * 20)


def _large_map(peer_id: str, records: int) -> PeerDns:
    found = (Record("a.lan", "A", "10.0.0.1", 60),) * records
    reason = Reason("peers_zone")
    own = EffectiveZone("peers", "", "Peers", "lan", True, found, reason)
    return PeerDns(peer_id, peer_id, managed=True, reason=reason, zones=(own,))


def test_large_map_is_warned_of_once_per_peer_and_hour(
    caplog: pytest.LogCaptureFixture, settings: Any, tmp_path: Path
) -> None:
    settings.SVC = replace(settings.SVC, runtime_dir=tmp_path)
    start = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    with time_machine.travel(start, tick=False) as clock:
        observe_map(_large_map("p1", 5000), seconds=0.1)
        assert not caplog.records
        for _ in range(3):
            observe_map(_large_map("p1", 5001), seconds=0.1)
        observe_map(_large_map("p2", 5001), seconds=0.1)
        clock.shift(3599)
        observe_map(_large_map("p1", 5001), seconds=0.1)
        assert [vars(entry)["peer_id"] for entry in caplog.records] == ["p1", "p2"]
        clock.shift(1)
        observe_map(_large_map("p1", 5001), seconds=0.1)
    assert [vars(entry)["peer_id"] for entry in caplog.records] == ["p1", "p2", "p1"]
    assert {entry.levelno for entry in caplog.records} == {logging.WARNING}


def test_each_configuration_is_measured() -> None:
    store(_account_of(2))
    before = _count("management_account_network_map_object_count_count")
    peer_dns("p0")
    list(all_peer_dns())
    assert _count("management_account_network_map_object_count_count") == before + 3
    name = "management_account_get_peer_network_map_duration_ms_count"
    assert _count(name) >= 3


def test_computing_every_peer_is_measured_once_when_it_is_complete() -> None:
    store(_account_of(3))
    family = "management_account_update_account_peers_duration_ms"
    single = "management_account_get_peer_network_map_duration_ms_sum"
    runs, total, parts = (
        _count(n) for n in (f"{family}_count", f"{family}_sum", single)
    )
    assert len(list(all_peer_dns())) == 3
    assert _count(f"{family}_count") == runs + 1
    assert _count(f"{family}_sum") - total > _count(single) - parts > 0
    next(all_peer_dns())
    peer_dns("p0")
    assert _count(f"{family}_count") == runs + 1


def _count(sample: str) -> float:
    return REGISTRY.get_sample_value(sample) or 0.0
