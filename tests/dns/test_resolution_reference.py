"""The implementation against the naive resolver, over random accounts."""

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from dns.effective.compute import Configurator
from dns.effective.snapshot import Snapshot
from dns.resolution.explain import explain
from tests.dns import accounts
from tests.dns.naive_resolver import Answer, resolve

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
    configurator = Configurator(snapshot)
    for peer_id, name, rtype in asked:
        outcome = explain(configurator.config(peer_id), name, rtype).outcome
        expected = resolve(snapshot, peer_id, name, rtype)
        event(f"{expected.kind}, {len(expected.records)} records")
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


@settings(max_examples=200, deadline=None, suppress_health_check=slow_data)
@given(accounts.snapshots(), questions)
def test_resolution_agrees_with_a_naive_reading(
    snapshot: Snapshot, asked: list[tuple[str, str, str]]
) -> None:
    check_agreement(snapshot, asked)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@settings(max_examples=1_500, deadline=None, suppress_health_check=slow_data)
@given(accounts.snapshots(), questions)
def test_resolution_agrees_over_thousands_of_accounts(
    snapshot: Snapshot, asked: list[tuple[str, str, str]]
) -> None:
    check_agreement(snapshot, asked)
