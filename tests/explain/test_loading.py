"""What is loaded from the database decides the same as the account it was made from."""

import datetime as dt
import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.db import connection
from hypothesis import HealthCheck, given, settings

from dns.services.nameservers import dns_settings_update
from dns.services.zones import zones
from groups.models import Group
from meshmgmt.access.models import PolicyRule, RuleDestination
from meshmgmt.core.errors import NotFound
from meshmgmt.core.names import canonical
from meshmgmt.core.orderedlinks import set_members
from meshmgmt.core.transactions import read_snapshot
from meshmgmt.explain.answers import all_peer_dns, peer_dns
from meshmgmt.explain.api.serializers import PeerDnsSerializer
from meshmgmt.explain.lint import lint
from meshmgmt.explain.mapsize import observe_map
from meshmgmt.inventory.services.peers import peer_update
from meshmgmt.mesh import Mesh
from meshmgmt.mesh.peerdns import PeerDns
from meshmgmt.mesh.reach import Destination, Traffic, verdict
from meshmgmt.mesh.snapshot import (
    Nameserver,
    NameserverGroup,
    Peer,
    Record,
    Resource,
    Route,
    Router,
    RuleSide,
    Snapshot,
    Zone,
)
from meshmgmt.meshstate.loading import load, load_among, load_around
from observability.metrics.instruments import REGISTRY
from tests.api_client import Api
from tests.databases import undone
from tests.dns.bodies import record, zone
from tests.explain.accounts import snapshots
from tests.explain.pure import NO_GROUPS, config, machine, mesh, placed, policy
from tests.explain.stored_account import storable, store
from tests.factories import group_id, peer
from tests.mesh.meshes import side
from tests.mesh.test_properties import flat
from tests.races import race
from tests.resource_contract import ok

pytestmark = pytest.mark.django_db


shown = PeerDnsSerializer.plain


def _gets(whole: Mesh, peer_id: str) -> tuple[object, ...]:
    """What a peer gets: its DNS in words, and its map, nothing twice.

    Without the port of DNS forwarders, which no part of an account tells.
    """
    found = whole.network_map(peer_id)
    numbers = len(found.grants), len(found.route_rules), len(found.files)
    return shown(PeerDns(whole, peer_id)), flat(found), numbers


def _compare_reach(whole: Mesh, snapshot: Snapshot) -> None:
    """Of two ends and the routing peers alone, verdicts are those of the account."""
    ends = [Destination("peer", id_, peer.ip) for id_, peer in snapshot.peers.items()]
    ends += [Destination("resource", r.id, r.address) for r in snapshot.resources]
    places = {"address": "10.0.0.7", "domain": "y.test"}
    ends += [Destination(kind, "", text) for kind, text in places.items()]
    source = min(snapshot.peers)
    for end in ends:
        is_peer = end.kind == "peer"
        few = mesh(load_among([source, end.id][: 1 + is_peer], routers=not is_peer))
        for traffic in (Traffic(), Traffic("tcp", 22)):
            found = verdict(whole, source, end, traffic)
            assert verdict(few, source, end, traffic)[:4] == found[:4]


def _compare(drawn: Snapshot) -> None:
    snapshot = storable(drawn)
    with undone():
        store(snapshot)
        expected, loaded = mesh(snapshot), mesh(load())
        for peer_id in snapshot.peers:
            gets = _gets(expected, peer_id)
            assert _gets(loaded, peer_id) == gets
            assert _gets(mesh(load_around(peer_id)), peer_id) == gets
        _compare_reach(expected, snapshot)


MANY = pytest.param(40, marks=[pytest.mark.slow, pytest.mark.timeout(900)])


@pytest.mark.parametrize("examples", [25, MANY])
def test_loaded_account_gives_the_same_configurations(db: None, examples: int):
    settled = settings(
        max_examples=examples, suppress_health_check=[HealthCheck.too_slow]
    )
    settled(given(snapshots())(_compare))()


def _peer(number: int) -> Peer:
    return machine(f"p{number}", f"host{number}", f"100.64.0.{number}")


def test_routers_and_resources_are_loaded():
    plain = placed(
        {_peer(1): frozenset({"users"}), _peer(2): frozenset({"routing"})},
        policy("a", (side("users"), RuleSide(resource="r1"))),
        policy("b", (side("users"), side("things"))),
    )
    snapshot = replace(
        plain,
        members={**plain.members, "things": NO_GROUPS},
        routers=(
            Router("u1", "n1", peer_groups=frozenset({"routing"})),
            Router("u2", "n2", peer="p2", enabled=False),
        ),
        resources=(
            Resource("r1", "n1", "one", "10.0.0.1/32", groups=frozenset({"things"})),
            Resource("r2", "n2", "two", "10.0.0.2/32", enabled=False),
        ),
    )
    store(snapshot)
    for one, other in (("p1", "p2"), ("p2", "p1")):
        found = mesh(load_around(one)).network_map(one)
        assert found.remotes.ids == {other}
        assert [route.network for route in found.routes] == ["10.0.0.1/32"]
        assert not found.names.ids
        assert _gets(mesh(load()), one) == _gets(mesh(snapshot), one)
        assert shown(peer_dns(one)) == shown(config(snapshot, one))
    assert shown(next(all_peer_dns())) == shown(config(snapshot, "p1"))


def test_whom_a_routing_peer_lets_in_has_the_route_too():
    plain = placed(
        {_peer(1): frozenset({"users", "staff"}), _peer(2): frozenset({"routing"})},
        policy("a", (side("staff"), side("things", "routing"))),
    )
    snapshot = replace(
        plain,
        members={**plain.members, "things": NO_GROUPS},
        routes=(
            Route(
                *("t", "net", frozenset({"users"}), "10.0.0.0/24"),
                peer_groups=frozenset({"routing"}),
                access_groups=frozenset({"things"}),
            ),
        ),
    )
    store(snapshot)
    [rule] = mesh(load_around("p2")).network_map("p2").route_rules
    assert rule.sources == ("100.64.0.1/32",)


def test_group_of_all_peers_counts_without_rows():
    everybody = Group.objects.get(name="All")
    found = Record("www.svc.lan", "A", "10.0.0.1", 60)
    unassigned = Zone("z1", "Zone", "svc.lan", NO_GROUPS, (found,))
    peers = {_peer(1): frozenset("g"), _peer(2): NO_GROUPS}
    plain = placed(peers, policy("Out", (side("g"), RuleSide())))
    store(replace(plain, zones=(unassigned,)))
    assert [z.name for z in peer_dns("p2").zones] == ["Peers"]
    zones.update("z1", {"distribution_groups": [everybody.pk]})
    set_members(RuleDestination, PolicyRule.objects.get(), [everybody.pk])
    of_all = {each.peer_id: shown(each) for each in all_peer_dns()}
    for peer_id, seen in (("p1", ["p1", "p2"]), ("p2", ["p2", "p1"])):
        got = peer_dns(peer_id)
        assert [z.name for z in got.zones] == ["Peers", "Zone"]
        assert [peer.id for peer in got.visible_peers] == seen
        assert shown(got) == of_all[peer_id]
    dns_settings_update(disabled_management_groups=[everybody.pk])
    assert not peer_dns("p1").managed


def test_first_cause_wins_when_everybody_is_seen_too():
    peers = {_peer(1): frozenset("a"), _peer(2): frozenset("b"), _peer(3): NO_GROUPS}
    narrow = policy("Narrow", (side("a"), side("b")))
    store(placed(peers, narrow, policy("Wide", (side("a"), RuleSide()))))
    wide = PolicyRule.objects.get(policy="Wide")
    set_members(RuleDestination, wide, [Group.objects.get(name="All").pk])
    [itself, *others] = peer_dns("p1").visible_peers
    assert itself.reason.code == "self"
    causes = {peer.id: peer.reason.subjects for peer in others}
    assert causes == {"p2": ("Narrow",), "p3": ("Wide",)}


@pytest.mark.parametrize("size", [1, 20])
def test_one_peer_and_all_need_as_many_queries_whatever_the_size(
    size: int, django_assert_num_queries: Any
):
    store(_account_of(size))
    with django_assert_num_queries(18):
        one = peer_dns("p0")
    assert len(one.zones) == size + 1
    assert len(one.nameserver_groups) == len(one.visible_peers) == size
    with django_assert_num_queries(16):
        configs = list(all_peer_dns())
    assert len(configs) == size
    assert shown(configs[0]) == shown(one)


def _account_of(size: int) -> Snapshot:
    everyone, group = side("g"), frozenset({"g"})
    plain = placed(
        {_peer(n): group for n in range(size)}, policy("Mesh", (everyone, everyone))
    )
    servers = (Nameserver("9.9.9.9"),)
    zones, groups = [], []
    for n in range(size):
        found = (Record(f"www.z{n}.lan", "A", "10.0.0.1", 60),)
        zones.append(Zone(f"z{n:02}", f"Zone {n}", f"z{n}.lan", group, found))
        groups.append(NameserverGroup(f"n{n:02}", f"N {n}", servers, group, ("x.lan",)))
    return replace(plain, zones=tuple(zones), nameserver_groups=tuple(groups))


def test_names_too_long_for_an_index_are_loaded_whole(api: Api):
    domain = "中.test"
    path = "/api/dns/zones"
    group = group_id("g")
    made = ok(api.post(path, zone(domain=domain, distribution_groups=[group])))
    name = ".".join(["㌖"] * 120) + "." + domain
    body = record(name=name)
    ok(api.post(f"{path}/{made['id']}/records", body))
    assert api.post(f"{path}/{made['id']}/records", body).status == 409
    [stored] = load().zones
    assert (stored.records, stored.is_empty) == ((), True)
    assert stored.unusable[0].name == canonical(name)
    assert len(stored.unusable[0].name) > 1000


def test_zone_whose_aliases_lead_too_far_is_empty():
    member = _peer(1)
    target = ".".join(["x" * 60] * 5)
    alias = Record("a.lan", "CNAME", target, 60)
    far = Zone("z1", "Zone", "lan", frozenset({"g"}), unusable=(alias,))
    store(replace(placed({member: frozenset({"g"})}), zones=(far,)))
    for whole in (mesh(load()), mesh(load_around("p1"))):
        [out] = PeerDns(whole, "p1").excluded
        assert [reason.code for reason in out.reasons] == ["empty_zone"]
    assert "zone_empty" in {finding.code for finding in lint(mesh(load()))}


def test_unknown_peer_is_not_found():
    with pytest.raises(NotFound, match="not found"):
        peer_dns("0" * 20)


def _large_map(peer_id: str, objects: int) -> PeerDns:
    staff = frozenset({"staff"})
    # The peer's own name is a record, and the peer is an object.
    found = (Record("a.lan", "A", "10.0.0.1", 60),) * (objects - 2)
    whole = Zone("z", "Zone", "lan", staff, found)
    peer = machine(peer_id, peer_id, "100.64.0.1")
    return config(replace(placed({peer: staff}), zones=(whole,)), peer_id)


def test_large_map_is_warned_of_once_per_peer_and_hour(
    caplog: pytest.LogCaptureFixture, settings: Any, tmp_path: Path
):
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


def test_large_map_is_warned_of_where_nobody_can_note_it(
    caplog: pytest.LogCaptureFixture, settings: Any
):
    settings.SVC = replace(settings.SVC, runtime_dir=Path("/proc/nowhere"))
    for _ in range(2):
        observe_map(_large_map("p3", 5001), seconds=0.1)
    assert [vars(entry)["peer_id"] for entry in caplog.records] == ["p3"]


def test_configurations_are_measured_and_computing_all_once_when_complete():
    store(_account_of(3))
    objects = "management_account_network_map_object_count_count"
    family = "management_account_update_account_peers_duration_ms"
    single = "management_account_get_peer_network_map_duration_ms"
    names = (f"{family}_count", f"{family}_sum", f"{single}_sum", objects)
    runs, total, parts, made = map(_count, names)
    assert len(list(all_peer_dns())) == 3
    assert _count(f"{family}_count") == runs + 1
    assert _count(f"{family}_sum") - total > _count(f"{single}_sum") - parts > 0
    next(all_peer_dns())
    peer_dns("p0")
    assert _count(f"{family}_count") == runs + 1
    assert _count(objects) == made + 5
    assert _count(f"{single}_count") >= 5


def _count(sample: str) -> float:
    return REGISTRY.get_sample_value(sample) or 0.0


@pytest.mark.django_db(transaction=True)
def test_two_writers_while_the_account_is_read_change_nothing_of_what_is_read():
    owner, other = peer("owner"), peer("other")
    before = load()
    writers: list[Callable[[], Any]] = [
        partial(peer_update, peer_id=owner.pk, name="renamed"),
        partial(peer_update, peer_id=other.pk, name="too"),
    ]

    def written_before(execute: Any, *args: Any) -> Any:
        if writers:
            race([writers.pop(), writers.pop()])
        return execute(*args)

    with read_snapshot():
        load_among([owner.pk])  # the snapshot is that of the first query
        with connection.execute_wrapper(written_before):
            during = load()
    assert during == before
    assert {each.name for each in load().peers.values()} == {"renamed", "too"}
