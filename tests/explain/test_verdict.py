"""Why a look-up ends as it does, in words, and what would change that."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from groups.models import Group, GroupPeer
from meshmgmt.core.orderedlinks import set_members
from meshmgmt.explain.resolution.explain import explain
from meshmgmt.explain.resolution.model import OutcomeKind, Phrase, Verdict, text_of
from meshmgmt.explain.resolution.trials import trials
from meshmgmt.explain.resolution.verdict import verdict
from meshmgmt.mesh.reasons import Subject
from meshmgmt.mesh.snapshot import (
    NameserverGroup,
    Policy,
    PostureCheck,
    Resource,
    Router,
    RuleSide,
    Snapshot,
    Zone,
)
from tests.api_client import Api
from tests.dns.bodies import nameserver_group, record, zone
from tests.explain.accounts import PEER_IDS, query_names, snapshots
from tests.explain.pure import config, policy, with_peer
from tests.explain.test_resolution import a, cname, servers, snapshot
from tests.explain.test_resolution import zone as plain_zone
from tests.factories import group_id, peer
from tests.resource_contract import ok

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
    found = config(account, peer)
    return verdict(explain(found, name, record_type, **kw), found, found.mesh)


def said(found: Verdict) -> tuple[str, list[str]]:
    return text_of(found.reason), [text_of(remedy) for remedy in found.remedies]


def far(*rules: Policy, record_type: str = "A", **facts: Any) -> tuple[str, list[str]]:
    """What is said of the name of a peer that `ann` does not see."""
    whole = with_peer(account(), "p3", **facts)
    whole = replace(whole, policies=rules, checks={NEW.id: NEW})
    return said(judged(whole, "far.mesh.lan", record_type, **HIDDEN))


def named(phrase: Phrase) -> list[tuple[str, str]]:
    return [(part.kind, part.name) for part in phrase if isinstance(part, Subject)]


FAR_PEER = Subject("peer", "p3", "far")
HIDDEN: dict[str, Any] = {"hidden_peer": lambda name: FAR_PEER}
TO_FAR = policy("To far", (RuleSide(peer="p1"), RuleSide(peer="p3")))
[TO_FAR_RULE] = TO_FAR.rules
NEW = PostureCheck("new", {"nb_version_check": {"min_version": "0.50.0"}}, "New client")
CORP = plain_zone("corp.test", a("www.corp.test"))
PRIMARY = servers("9.9.9.9")


def test_an_answer_names_its_zone_and_needs_no_change():
    found = judged(account(CORP), "www.corp.test")
    reason = "10.0.0.1, because zone Zone corp.test has www.corp.test"
    assert said(found) == (reason, [])
    assert named(found.reason) == [("zone", "Zone corp.test")]
    reason = "100.64.0.2, because the peers' own zone has bob.mesh.lan"
    assert said(judged(account(), "bob")) == (reason, [])


def test_a_zone_of_another_group_would_answer():
    other = replace(CORP, groups=OFFICE)
    found = judged(account(other, groups=(PRIMARY,)), "www.corp.test")
    reason, remedies = said(found)
    assert reason == (
        "forwarded to 9.9.9.9, because nameserver group Servers 9.9.9.9 serves all other"
        " names; zone Zone corp.test has the name, but the peer is in none of its groups"
    )
    assert remedies == ["It would resolve to 10.0.0.1 if the peer were in group Office"]
    assert named(found.remedies[0]) == [("group", "Office")]


def test_a_cname_that_leads_out_of_its_zone_is_told():
    led = plain_zone("corp.test", cname("crm.corp.test", "crm.example.org"))
    forwarded = "forwarded to 9.9.9.9, because nameserver group Servers 9.9.9.9 serves"
    found = judged(account(led, groups=(PRIMARY,)), "crm.corp.test")
    zone = "zone Zone corp.test"
    led_to = f"; a CNAME of {zone} leads to crm.example.org"
    assert said(found) == (f"{forwarded} all other names{led_to}", [])
    other = replace(led, groups=OFFICE)
    found = judged(account(other, groups=(PRIMARY,)), "crm.corp.test")
    reason, remedies = said(found)
    withheld = f"{zone} has the name, but the peer is in none of its groups"
    assert reason == f"{forwarded} all other names; {withheld}"
    would = "It would be looked up as crm.example.org if the peer were in group Office"
    assert remedies == [would]


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
def test_all_that_keeps_a_zone_away_is_named(changes: dict[str, Any], condition: str):
    _, remedies = said(judged(account(replace(CORP, **changes)), "www.corp.test"))
    assert remedies == [f"It would resolve to 10.0.0.1 if {condition}"]


def test_an_unmanaged_group_or_a_zone_without_the_name_would_not_help():
    other = account(replace(CORP, groups=OFFICE))
    unmanaged = replace(other, unmanaged_groups=OFFICE)
    assert judged(unmanaged, "www.corp.test").remedies == ()
    assert judged(other, "mail.corp.test").remedies == ()


def test_servers_for_the_domain_of_another_group_would_be_asked():
    other = replace(servers("10.0.0.53", "corp.test"), groups=OFFICE)
    [remedy] = said(judged(account(groups=(PRIMARY, other)), "www.corp.test"))[1]
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


def test_further_primary_servers_are_no_remedy_where_some_are_asked():
    other = replace(servers("1.1.1.1"), groups=OFFICE)
    assert judged(account(groups=(PRIMARY, other)), "x.test").remedies == ()
    reason, remedies = said(judged(account(groups=(other,)), "x.test"))
    assert reason == (
        "asked of the peer's own system resolver, because no zone and no nameserver group"
        " that the peer gets has x.test"
    )
    assert len(remedies) == 1
    assert "1.1.1.1" in remedies[0]


def test_a_record_that_a_zone_lacks_is_a_remedy():
    kind = "It would resolve if zone Zone corp.test had the"
    reason, remedies = said(judged(account(CORP), "www.corp.test", "AAAA"))
    assert reason == (
        "no data, because zone Zone corp.test has www.corp.test, but no AAAA record of it;"
        " nobody else is asked"
    )
    assert remedies == [f"{kind} AAAA record www.corp.test"]
    [remedy] = said(judged(account(CORP), "new.corp.test"))[1]
    assert remedy == f"{kind} A record new.corp.test"


def test_a_name_of_a_peer_out_of_reach_says_whose_it_is():
    reason, remedies = far()
    assert reason == (
        "does not exist, because far.mesh.lan belongs to peer far, which this peer cannot"
        " reach: no policy lets the two peers meet; nobody else is asked"
    )
    assert remedies == ["It would resolve if a policy let this peer reach peer far"]
    reason, remedies = said(judged(account(), "nobody.mesh.lan"))
    assert "no peer is called nobody.mesh.lan" in reason
    assert remedies == []


def test_what_hides_a_peer_is_said_and_all_that_would_show_it():
    reason, remedies = far(approved=False, login_expired=True)
    assert "which waits for approval and whose login expired;" in reason
    [remedy] = remedies
    assert remedy == (
        "It would resolve if peer far were approved and the login of peer far were"
        " renewed and a policy let this peer reach peer far"
    )
    [remedy] = far(TO_FAR, approved=False)[1]
    assert remedy == "It would resolve if peer far were approved"


@pytest.mark.parametrize(
    ("made", "why", "remedy"),
    [
        (
            replace(TO_FAR, enabled=False),
            "policy To far is disabled",
            "policy To far were enabled",
        ),
        (
            replace(TO_FAR, rules=(replace(TO_FAR_RULE, enabled=False),)),
            "a rule of policy To far is disabled",
            "a rule of policy To far were enabled",
        ),
        (
            replace(TO_FAR, checks=("new",)),
            "ann does not pass New client, which policy To far asks for",
            "peer ann passed New client, as policy To far asks",
        ),
        (
            replace(TO_FAR, checks=("new",), enabled=False),
            "policy To far is disabled and ann does not pass New client",
            (
                "policy To far were enabled and peer ann passed New client, as policy"
                " To far asks"
            ),
        ),
    ],
)
def test_rule_that_does_not_let_through_is_named(made: Policy, why: str, remedy: str):
    reason, remedies = far(made)
    assert f"which this peer cannot reach: {why}" in reason
    assert remedies == [f"It would resolve if {remedy}"]


def test_nothing_is_promised_of_a_type_that_the_peer_will_not_have():
    assert far(record_type="AAAA")[1] == []
    assert far(record_type="CNAME")[1] == []


def test_routing_peer_of_a_network_is_seen_though_its_name_is_not_told():
    there = Resource("r1", "n1", "Printer", "10.0.0.0/24")
    to_network = policy("Print", (RuleSide(peer="p1"), RuleSide(resource="r1")))
    whole = replace(
        account(),
        policies=(to_network,),
        resources=(there,),
        routers=(Router("w1", "n1", peer="p3"),),
    )
    found = judged(whole, "far.mesh.lan", **HIDDEN)
    assert "of which this peer sees the address alone" in said(found)[0]


def test_short_name_of_a_hidden_peer_says_whose_it_is_where_the_search_goes_on() -> (
    None
):
    whole = with_peer(account(groups=(PRIMARY,)), "p3", login_expired=True)
    found = judged(whole, "far", **HIDDEN)
    reason = said(found)[0]
    assert reason.startswith("forwarded to 9.9.9.9")
    assert reason.endswith("; peer far has the name, whose login expired")


def test_every_reason_stands_where_a_peer_is_not_managed():
    waiting = with_peer(account(CORP), "p1", approved=False)
    whole = replace(waiting, unmanaged_groups=frozenset({"staff"}))
    reason, remedies = said(judged(whole, "www.corp.test"))
    assert "waits for approval and DNS management is disabled for group Staff" in reason
    assert remedies[0] == (
        "It would be managed if peer ann were approved and the peer were not in group Staff"
    )
    [out] = config(whole, "p1").excluded
    codes = [each.code for each in out.reasons]
    assert codes == ["approval_pending", "management_disabled"]


def test_a_peer_that_is_not_managed_says_what_would_make_it():
    off = replace(account(CORP), unmanaged_groups=frozenset({"staff"}))
    reason, remedies = said(judged(off, "www.corp.test"))
    assert "DNS management is disabled for group Staff" in reason
    assert remedies == [
        "It would be managed if the peer were not in group Staff",
        "It would be managed if DNS management were not disabled for group Staff",
    ]
    pending = with_peer(account(CORP), "p1", approved=False)
    assert said(judged(pending, "www.corp.test"))[1] == [
        "It would be managed if peer ann were approved"
    ]
    both = with_peer(pending, "p1", login_expired=True)
    [remedy] = said(judged(both, "www.corp.test"))[1]
    assert remedy == (
        "It would be managed if peer ann were approved and the login of peer ann were"
        " renewed"
    )


def test_broken_aliases_say_so():
    there, back = (("a.corp.test", "b.corp.test"), ("b.corp.test", "a.corp.test"))
    loop = plain_zone("corp.test", cname(*there), cname(*back))
    assert "lead back to a.corp.test" in said(judged(account(loop), "a.corp.test"))[0]


def test_an_answer_after_servers_depends_on_them():
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
):
    """A peer that joins the group gets just that outcome, reach and members included."""
    got = config(whole, peer_id)
    explanation = explain(got, name, record_type)
    found = verdict(explanation, got, got.mesh)
    assert text_of(found.reason)
    assume(got.managed)
    if explanation.outcome.kind is OutcomeKind.ANSWER:  # nothing has to change
        assert found.remedies == ()
    for trial in trials(explanation, got, got.mesh):
        if {reason.code for reason in trial.excluded.reasons} != {"no_shared_group"}:
            continue
        for part in trial.condition:
            if isinstance(part, Subject) and part.kind == "group":
                joined = _joined(whole, peer_id, part.id)
                then = explain(config(joined, peer_id), name, record_type)
                assert trial.outcome in [query.outcome for query in then.queries]


def _joined(whole: Snapshot, peer_id: str, group_id: str) -> Snapshot:
    members = whole.members[group_id] | {peer_id}
    return replace(whole, members={**whole.members, group_id: members})


@pytest.mark.django_db
def test_the_api_tells_why_and_doing_it_helps(api: Api):
    staff = group_id("staff")
    laptop = peer("laptop")
    made = ok(api.post("/api/dns/zones", zone(distribution_groups=[staff])))
    ok(api.post(f"/api/dns/zones/{made['id']}/records", record()))
    primary = nameserver_group(groups=[staff], domains=[], primary=True)
    ok(api.post("/api/dns/nameservers", primary))
    path = f"/api/dns/explain?peer={laptop.pk}&name=www.svc.test"
    found = ok(api.get(path))["verdict"]
    assert "zone Services has the name" in found["reason"]["text"]
    [remedy] = found["remedies"]
    assert remedy == {
        "text": "It would resolve to 10.0.0.1 if the peer were in group staff",
        "objects": [{"kind": "group", "id": staff, "name": "staff"}],
    }
    set_members(GroupPeer, Group.objects.get(pk=staff), [laptop.pk])
    after = ok(api.get(path))["verdict"]
    assert after["remedies"] == []
    assert after["reason"]["text"].startswith("10.0.0.1, because zone Services")
