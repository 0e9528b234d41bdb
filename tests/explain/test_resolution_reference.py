"""The implementation against the naive resolver, over random accounts.

The resolver knows once what follows from each pair of peers, once what is pushed.
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from meshmgmt.control.checks import Unsendable
from meshmgmt.explain.resolution.explain import explain
from meshmgmt.mesh.peerdns import EffectiveZone, PeerDns
from meshmgmt.mesh.snapshot import Snapshot, Zone
from tests.explain import accounts
from tests.explain.naive_resolver import Answer, Host, resolve
from tests.explain.pure import mesh
from tests.explain.pushed import Pushed, message

questions = st.lists(
    st.tuples(
        st.sampled_from(accounts.PEER_IDS),
        st.one_of(accounts.query_names, accounts.query_names.map("{}.".format)),
        st.sampled_from(["A", "AAAA", "CNAME"]),
    ),
    min_size=8,
    max_size=16,
)


def check_agreement(snapshot: Snapshot, asked: list[tuple[str, str, str]]) -> None:
    whole = mesh(snapshot)
    for peer_id, name, rtype in asked:
        outcome = explain(PeerDns(whole, peer_id), name, rtype).outcome
        expected = resolve(Host(snapshot, peer_id), name, rtype)
        event(f"{expected.kind}, {len(expected.records)} records")
        with suppress(Unsendable):
            pushed = resolve(Pushed(message(whole, peer_id)), name, rtype)
            assert sorted(pushed.records) == sorted(expected.records)
            assert pushed._replace(records=()) == expected._replace(records=())
        got = Answer(
            kind=outcome.kind.value,
            name=outcome.name,
            records=tuple((r.name, r.type, r.content) for r in outcome.records),
            servers=tuple((s.ip, s.port) for s in outcome.servers),
        )
        # Peers rotate the records of one name: their order carries no meaning.
        assert sorted(got.records) == sorted(expected.records)
        assert got._replace(records=()) == expected._replace(records=())


slow_data = [HealthCheck.too_slow, HealthCheck.data_too_large]


MANY = pytest.param(500, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])


@pytest.mark.parametrize("examples", [200, MANY])
def test_resolution_agrees_with_a_naive_reading(examples: int):
    settled = settings(max_examples=examples, suppress_health_check=slow_data)
    settled(given(accounts.snapshots(), questions)(check_agreement))()


def held(zones: Iterable[EffectiveZone | Zone]) -> dict[str, list[Any]]:
    """Records by the domain of their zone, in no order."""
    return {
        zone.domain: sorted((r.name, r.type, r.content, r.ttl) for r in zone.records)
        for zone in zones
    }


@settings(max_examples=100, deadline=None, suppress_health_check=slow_data)
@given(accounts.snapshots())
def test_what_is_told_of_a_peer_is_what_it_is_pushed(snapshot: Snapshot):
    """Names, zones, servers and peers: told as `/api/peers/{id}/...`, pushed as map."""
    whole = mesh(snapshot)
    for peer_id in snapshot.peers:
        config, sight = PeerDns(whole, peer_id), whole.sight(peer_id)
        try:
            pushed = message(whole, peer_id)
        except Unsendable:
            event("unsendable")
            continue
        keys = {remote.wgPubKey for remote in pushed.remotePeers}
        seen = sight.remotes.ids if sight else frozenset()
        assert keys == {snapshot.peers[id_].key for id_ in seen}
        host = Pushed(pushed)
        assert config.managed == host.managed
        assert held(config.zones) == held(host.all_zones)
        assert [(g.nameservers, g.domains, g.primary) for g in config.servers] == [
            (g.nameservers, g.domains, g.primary) for g in host.groups
        ]
        labels = {snapshot.peers[p.id].label for p in config.visible_peers}
        domain = snapshot.settings.dns_domain
        owners = {name for name, *_ in host.names()}
        assert not domain or {f"{label}.{domain}" for label in labels} <= owners
