"""Why a look-up ends as it does, in words, and what would change that."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from dns.effective.compute import peer_config
from dns.effective.snapshot import NameserverGroup, Snapshot, Zone
from dns.resolution.explain import explain
from dns.resolution.model import OutcomeKind, Phrase, Subject, Verdict, text_of
from dns.resolution.trials import trials
from dns.resolution.verdict import verdict
from groups.models import Group, GroupPeer
from meshmgmt.access.reach import ReachGraph
from meshmgmt.core.orderedlinks import set_members
from tests.api_client import Api
from tests.dns.accounts import PEER_IDS, query_names, snapshots
from tests.dns.bodies import created, nameserver_group, record, zone
from tests.dns.test_resolution import a, cname, servers, snapshot
from tests.dns.test_resolution import zone as plain_zone
from tests.mesh import group_id, peer

OFFICE = frozenset({"office"})
slow_data = [
    HealthCheck.too_slow,
    HealthCheck.data_too_large,
    HealthCheck.filter_too_much,
]


def account(*zones: Zone, groups: tuple[NameserverGroup, ...] = ()) -> Snapshot:
    """Peers in the group staff, beside which there is a group office."""
    plain = snapshot(*zones, groups=groups)
    return replace(plain, group_names={"staff": "Staff", "office": "Office"})


def judged(
    account: Snapshot, name: str, record_type: str = "A", peer: str = "p1", **kw: Any
) -> Verdict:
    config = peer_config(account, peer)
    return verdict(explain(config, name, record_type, **kw), config, account)


def said(found: Verdict) -> tuple[str, list[str]]:
    return text_of(found.reason), [text_of(remedy) for remedy in found.remedies]


def named(phrase: Phrase) -> list[tuple[str, str]]:
    return [(part.kind, part.name) for part in phrase if isinstance(part, Subject)]


CORP = plain_zone("corp.test", a("www.corp.test"))
PRIMARY = servers("9.9.9.9")


def test_an_answer_names_its_zone_and_needs_no_change() -> None:
    found = judged(account(CORP), "www.corp.test")
    reason = "10.0.0.1, because zone Zone corp.test has www.corp.test"
    assert said(found) == (reason, [])
    assert named(found.reason) == [("zone", "Zone corp.test")]


def test_a_name_of_a_peer_is_in_the_peers_own_zone() -> None:
    reason, remedies = said(judged(account(), "bob"))
    assert reason == "100.64.0.2, because the peers' own zone has bob.mesh.lan"
    assert remedies == []


def test_a_zone_of_another_group_would_answer() -> None:
    other = replace(CORP, groups=OFFICE)
    found = judged(account(other, groups=(PRIMARY,)), "www.corp.test")
    reason, remedies = said(found)
    assert reason == (
        "forwarded to 9.9.9.9, because nameserver group Servers 9.9.9.9 serves all other"
        " names; zone Zone corp.test has the name, but the peer is in none of its groups"
    )
    assert remedies == ["It would resolve to 10.0.0.1 if the peer were in group Office"]
    assert named(found.remedies[0]) == [("group", "Office")]


@pytest.mark.parametrize(
    ("changes", "condition"),
    [
        ({"enabled": False}, "zone Zone corp.test were enabled"),
        (
            {"enabled": False, "groups": OFFICE},
            "zone Zone corp.test were enabled and the peer were in group Office",
        ),
        (
            {"groups": frozenset()},
            "zone Zone corp.test were assigned to a group of the peer",
        ),
    ],
)
def test_all_that_keeps_a_zone_away_is_named(
    changes: dict[str, Any], condition: str
) -> None:
    _, remedies = said(judged(account(replace(CORP, **changes)), "www.corp.test"))
    assert remedies == [f"It would resolve to 10.0.0.1 if {condition}"]


def test_a_group_without_dns_management_would_not_help() -> None:
    other = replace(CORP, groups=OFFICE)
    plain = replace(account(other), disabled_groups=OFFICE)
    assert judged(plain, "www.corp.test").remedies == ()


def test_a_zone_without_the_name_would_not_help() -> None:
    other = replace(CORP, groups=OFFICE)
    assert judged(account(other), "mail.corp.test").remedies == ()


def test_servers_for_the_domain_of_another_group_would_be_asked() -> None:
    other = replace(servers("10.0.0.53", "corp.test"), groups=OFFICE)
    found = judged(account(groups=(PRIMARY, other)), "www.corp.test")
    [remedy] = said(found)[1]
    assert remedy == (
        "It would be forwarded to 10.0.0.53 (nameserver group Servers 10.0.0.53) if the"
        " peer were in group Office"
    )
    asked = judged(
        account(groups=(PRIMARY, replace(other, groups=CORP.groups))), "x.corp.test"
    )
    assert said(asked)[0] == (
        "forwarded to 10.0.0.53, because nameserver group Servers 10.0.0.53 serves"
        " corp.test"
    )


def test_further_primary_servers_are_no_remedy_where_some_are_asked() -> None:
    other = replace(servers("1.1.1.1"), groups=OFFICE)
    assert judged(account(groups=(PRIMARY, other)), "x.test").remedies == ()
    reason, remedies = said(judged(account(groups=(other,)), "x.test"))
    assert reason == (
        "asked of the peer's own system resolver, because no zone and no nameserver group"
        " that the peer gets has x.test"
    )
    assert len(remedies) == 1
    assert "1.1.1.1" in remedies[0]


def test_a_record_that_a_zone_lacks_is_a_remedy() -> None:
    kind = "It would resolve if zone Zone corp.test had the"
    reason, remedies = said(judged(account(CORP), "www.corp.test", "AAAA"))
    assert reason == (
        "no data, because zone Zone corp.test has www.corp.test, but no AAAA record of it;"
        " nobody else is asked"
    )
    assert remedies == [f"{kind} AAAA record www.corp.test"]
    assert said(judged(account(CORP), "new.corp.test"))[1] == [
        f"{kind} A record new.corp.test"
    ]


def test_a_name_of_a_peer_out_of_reach_says_whose_it_is() -> None:
    far = Subject("peer", "p3", "far")
    found = judged(account(), "far.mesh.lan", hidden_peer=lambda name: far)
    reason, remedies = said(found)
    assert reason == (
        "does not exist, because far.mesh.lan belongs to peer far, which this peer cannot"
        " reach; nobody else is asked"
    )
    assert remedies == ["It would resolve if a policy let this peer reach peer far"]
    reason, remedies = said(judged(account(), "nobody.mesh.lan"))
    assert "no peer is called nobody.mesh.lan" in reason
    assert remedies == []


def test_a_peer_that_is_not_managed_says_what_would_make_it() -> None:
    off = replace(account(CORP), disabled_groups=frozenset({"staff"}))
    reason, remedies = said(judged(off, "www.corp.test"))
    assert "DNS management is disabled for group Staff" in reason
    assert remedies == [
        "It would be managed if the peer were not in group Staff",
        "It would be managed if DNS management were not disabled for group Staff",
    ]
    plain = account(CORP)
    waiting = plain.peers["p1"]._replace(approved=False)
    pending = replace(plain, peers={**plain.peers, "p1": waiting})
    assert said(judged(pending, "www.corp.test"))[1] == [
        "It would be managed if peer ann were approved"
    ]


def test_broken_aliases_say_so() -> None:
    loop = plain_zone(
        "corp.test",
        cname("a.corp.test", "b.corp.test"),
        cname("b.corp.test", "a.corp.test"),
    )
    assert "lead back to a.corp.test" in said(judged(account(loop), "a.corp.test"))[0]


def test_an_answer_after_servers_depends_on_them() -> None:
    first = plain_zone("first.test", a("x.first.test"), search=True)
    second = replace(
        plain_zone("second.test", a("www.second.test"), search=True), groups=OFFICE
    )
    plain = account(first, second, groups=(PRIMARY,))
    _, remedies = said(judged(plain, "www"))
    assert remedies[0] == (
        "It would resolve to 10.0.0.1 if the peer were in group Office, unless the servers"
        " asked before know the name"
    )


@settings(max_examples=150, deadline=None, suppress_health_check=slow_data)
@given(
    snapshots(), query_names, st.sampled_from(["A", "AAAA"]), st.sampled_from(PEER_IDS)
)
def test_what_is_promised_comes_true(
    whole: Snapshot, name: str, record_type: str, peer_id: str
) -> None:
    """A peer that joins the group gets just that outcome, reach and members included."""
    config = peer_config(whole, peer_id)
    explanation = explain(config, name, record_type)
    found = verdict(explanation, config, whole)
    assert text_of(found.reason)
    assume(config.managed)
    if explanation.outcome.kind is OutcomeKind.ANSWER:  # nothing has to change
        assert found.remedies == ()
    for trial in trials(explanation, config, whole, ReachGraph(whole.reach)):
        if {reason.code for reason in trial.excluded.reasons} != {"no_shared_group"}:
            continue
        for part in trial.condition:
            if isinstance(part, Subject) and part.kind == "group":
                joined = _joined(whole, peer_id, part.id)
                then = explain(peer_config(joined, peer_id), name, record_type)
                assert trial.outcome in [query.outcome for query in then.queries]


def _joined(whole: Snapshot, peer_id: str, group_id: str) -> Snapshot:
    peer = whole.peers[peer_id]
    peers = {**whole.peers, peer_id: peer._replace(groups=peer.groups | {group_id})}
    members = {
        g: [p.id for p in peers.values() if g in p.groups] for g in whole.members
    }
    return replace(whole, peers=peers, members=members)


@pytest.mark.django_db
def test_the_api_tells_why_and_doing_it_helps(owner: Api) -> None:
    staff = group_id("staff")
    laptop = peer("laptop")
    made = created(owner.post("/api/dns/zones", zone(distribution_groups=[staff])))
    created(owner.post(f"/api/dns/zones/{made['id']}/records", record()))
    created(
        owner.post(
            "/api/dns/nameservers",
            nameserver_group(groups=[staff], domains=[], primary=True),
        )
    )
    path = f"/api/dns/explain?peer={laptop.pk}&name=www.svc.test"
    found = created(owner.get(path))["verdict"]
    assert "zone Services has the name" in found["reason"]["text"]
    [remedy] = found["remedies"]
    assert remedy == {
        "text": "It would resolve to 10.0.0.1 if the peer were in group staff",
        "objects": [{"kind": "group", "id": staff, "name": "staff"}],
    }
    set_members(GroupPeer, Group.objects.get(pk=staff), [laptop.pk])
    after = created(owner.get(path))["verdict"]
    assert after["remedies"] == []
    assert after["reason"]["text"].startswith("10.0.0.1, because zone Services")
