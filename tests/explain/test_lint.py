"""Every lint rule fires on what it is about and is silent on what it is not."""

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from meshmgmt.explain.api.serializers import FindingSerializer
from meshmgmt.explain.lint import lint
from meshmgmt.explain.lint.finding import CATALOGUE, Finding, Severity, at_least
from meshmgmt.mesh.snapshot import (
    Nameserver,
    NameserverGroup,
    Policy,
    Record,
    RuleSide,
    Settings,
    Snapshot,
    Zone,
)
from tests.explain.pure import config, machine, mesh, placed, policy, with_peer

STAFF, LAB = frozenset({"staff"}), frozenset({"lab"})
TOO_LONG = ".".join(["x" * 60] * 5)


def a(name: str, ttl: int = 300) -> Record:
    return Record(name, "A", "10.0.0.1", ttl, id=f"r-{name}")


def cname(name: str, target: str) -> Record:
    return Record(name, "CNAME", target, 300, id=f"r-{name}")


ZONE = Zone("z1", "Corp", "corp.lan", STAFF, (a("a.corp.lan"),))
SERVERS = NameserverGroup("n1", "Office", (Nameserver("10.0.0.53"),), STAFF, ("x.lan",))
PRIMARY = NameserverGroup("n2", "Main", (Nameserver("9.9.9.9"),), STAFF, primary=True)


def account(
    zones: Iterable[Zone] = (ZONE,),
    groups: Iterable[NameserverGroup] = (SERVERS, PRIMARY),
    **changes: object,
) -> Snapshot:
    ann = machine("p1", "ann", "100.64.0.1")
    bob = machine("p2", "bob", "100.64.0.2")
    snapshot = replace(
        placed({ann: STAFF, bob: STAFF}),
        zones=tuple(zones),
        nameserver_groups=tuple(groups),
        group_names={"staff": "Staff", "lab": "Lab"},
    )
    return replace(snapshot, **changes)  # type: ignore[arg-type]


def corp(**changes: Any) -> Snapshot:
    """The account with another zone."""
    return account([replace(ZONE, **changes)])


def office(**changes: Any) -> Snapshot:
    """The account with another nameserver group, and no primary one."""
    return account(groups=[replace(SERVERS, **changes)])


def primary(**changes: Any) -> Snapshot:
    """The account with another primary nameserver group alone."""
    return account(groups=[replace(PRIMARY, **changes)])


def found(snapshot: Snapshot, code: str) -> list[Finding]:
    return [finding for finding in lint(mesh(snapshot)) if finding.code == code]


def search_zones(number: int, length: int = 1) -> list[Zone]:
    domains = [f"{'s' * length}{index}.lan" for index in range(number)]
    return [
        Zone(f"z{i}", domain, domain, STAFF, (a(f"a.{domain}"),), search=True)
        for i, domain in enumerate(domains)
    ]


def many_records(number: int) -> Zone:
    return replace(ZONE, records=tuple(a(f"h{i}.corp.lan") for i in range(number)))


def allowing(sources: RuleSide, destinations: RuleSide) -> tuple[Policy]:
    return (policy("Work", (sources, destinations)),)


LAB_SIDE = RuleSide(groups=LAB)
LONGER = Zone("z2", "Sub", "sub.corp.lan", STAFF, (a("a.sub.corp.lan"),))
SHADOWED = replace(ZONE, records=(a("a.sub.corp.lan"), a("b.sub.corp.lan")))

TO_NOBODY = allowing(LAB_SIDE, RuleSide())
WILD = replace(LONGER, records=(a("*.sub.corp.lan"),))
NOWHERE = cname("w.corp.lan", "no.corp.lan")
NO_LABELS = (a("corp.lan"), a("a.b.corp.lan"))
UNKEPT = (a("a.corp.lan", 0), a("b.corp.lan", 0))
UNLIKE = (a("a.corp.lan", 60), a("a.corp.lan", 300)._replace(content="10.0.0.2"))
ONE = Nameserver("1.1.1.1")
SECOND = replace(PRIMARY, id="n3", name="Second")

LONG_DOMAIN = Settings(dns_domain=".".join(["x" * 62] * 4))
SHORTER = account(settings=Settings(dns_domain=LONG_DOMAIN.dns_domain[2:]))

# code -> (snapshots it must fire on, object named, words in the sentence)
FIRING: dict[str, list[tuple[Snapshot, str, str]]] = {
    "zone_shadowed": [
        (account([SHADOWED, LONGER]), "Corp", "1 name of zone corp.lan"),
        (account([LONGER, SHADOWED]), "Corp", "wins for 2 peers (ann, bob)"),
        (account([SHADOWED, WILD]), "Corp", "2 names of zone corp.lan"),
    ],
    "zone_overlaps_peer_domain": [
        (corp(domain="x.mesh.lan"), "Corp", "lies in the peers' domain"),
        (corp(domain="lan", records=(a("db.mesh.lan"),)), "Corp", "never answers"),
    ],
    "zone_without_peers": [
        (corp(groups=frozenset()), "Corp", "no managed peer"),
        (corp(groups=LAB), "Corp", "no managed peer"),
        (account(unmanaged_groups=STAFF), "Corp", "no managed peer"),
    ],
    "zone_empty": [(corp(records=()), "Corp", "no records")],
    "cname_target_missing": [(corp(records=(NOWHERE,)), "w.corp.lan", "no.corp.lan")],
    "search_domain_unused": [
        (corp(search=True, records=NO_LABELS), "Corp", "search domain")
    ],
    "ttl_zero": [(corp(records=UNKEPT), "Corp", "2 names (a.corp.lan, …)")],
    "name_too_long": [
        (corp(domain=TOO_LONG), "Corp", "253"),
        (corp(unusable=(a(f"{TOO_LONG}.corp.lan"),)), f"{TOO_LONG}.corp.lan", "253"),
        (corp(unusable=(cname("a.corp.lan", TOO_LONG),)), "a.corp.lan", "253"),
        (office(unusable=(TOO_LONG,)), "Office", "253"),
        (account(settings=LONG_DOMAIN), "", "2 peers (ann, bob)"),
        (with_peer(SHORTER, "p2", extra_labels=("db-1",)), "", "1 peer (bob)"),
    ],
    "match_domain_shadowed": [
        (office(domains=("mesh.lan",)), "Office", "mesh.lan"),
        (office(domains=("a.mesh.lan",)), "Office", ""),
    ],
    "match_domain_overlaid": [
        (
            office(domains=("corp.lan",)),
            "Office",
            "1 name inside match domain corp.lan",
        ),
        (office(domains=("a.corp.lan",)), "Office", ""),
    ],
    "nameserver_group_only_disabled": [
        (account(unmanaged_groups=STAFF, groups=[SERVERS]), "Office", "disabled")
    ],
    "nameserver_group_without_peers": [
        (office(groups=LAB), "Office", "no managed peer"),
        (office(groups=frozenset()), "Office", "no group is assigned"),
    ],
    "nameserver_repeated": [
        (office(nameservers=(ONE,) * 2), "Office", "1.1.1.1 port 53 2 times")
    ],
    "group_empty": [(corp(groups=STAFF | LAB), "Lab", "Corp is meant for it")],
    "several_primaries": [
        (account(groups=[PRIMARY, SECOND]), "Main", "2 peers (ann, bob) with several"),
        (account(groups=[PRIMARY, SECOND]), "Main", "primary groups: Main, Second"),
    ],
    "no_primary": [
        (account(groups=[SERVERS]), "", "2 peers (ann, bob)"),
        (primary(nameservers=(Nameserver("100.64.0.1"),)), "", "1 peer (ann)"),
        (primary(enabled=False), "", "2 peers"),
    ],
    "unmanaged_with_zones": [
        (account(unmanaged_groups=STAFF), "Staff", "2 peers (ann, bob)")
    ],
    "too_many_search_domains": [
        (account(search_zones(6)), "ann", "7 search domains"),
        (account(search_zones(5, length=50)), "ann", "of 288 characters"),
    ],
    "policy_one_sided": [
        (account(policies=allowing(RuleSide(), LAB_SIDE)), "Work", "without sources"),
        (account(policies=TO_NOBODY), "Work", "without destinations"),
    ],
    "ttl_differs": [
        (corp(records=UNLIKE), "Corp", "different TTLs at 1 name (a.corp.lan)")
    ],
    "network_range_uneven": [
        (account(settings=Settings(dns_domain="mesh.lan", prefix_length=10)), "", "/10")
    ],
    "network_map_large": [(account([many_records(5001)]), "ann", "2 peers (ann, bob)")],
}

SILENT: dict[str, list[Snapshot]] = {
    "zone_shadowed": [
        account([SHADOWED, replace(LONGER, records=(a("c.sub.corp.lan"),))]),
        account([SHADOWED, replace(LONGER, groups=LAB)]),
        account([SHADOWED, replace(LONGER, enabled=False)]),
        account([SHADOWED, replace(LONGER, domain="bcorp.lan")]),
    ],
    "zone_overlaps_peer_domain": [
        corp(domain="lan", records=(a("db.lan"),)),
        corp(domain="xmesh.lan"),
        account([replace(ZONE, domain="a.mesh.lan")], settings=Settings()),
    ],
    "zone_without_peers": [account(), corp(groups=LAB, enabled=False)],
    "zone_empty": [account(), corp(records=(), enabled=False)],
    "cname_target_missing": [
        corp(records=(cname("w.corp.lan", "a.example"),)),
        corp(records=(cname("w.corp.lan", "a.corp.lan"), *ZONE.records)),
        corp(records=(cname("w.corp.lan", "q.corp.lan"), a("*.corp.lan"))),
    ],
    "search_domain_unused": [
        corp(search=True),
        corp(search=True, records=(a("*.corp.lan"),)),
        corp(records=(a("corp.lan"),)),
    ],
    "ttl_zero": [account()],
    "ttl_differs": [corp(records=(a("a.corp.lan", 60), a("b.corp.lan", 300)))],
    "network_range_uneven": [
        account(settings=Settings(dns_domain="mesh.lan", prefix_length=24))
    ],
    "name_too_long": [account(), SHORTER],
    "match_domain_shadowed": [
        office(domains=("lan", "amesh.lan")),
        office(domains=("mesh.lan",), enabled=False),
    ],
    "match_domain_overlaid": [
        office(domains=("b.corp.lan", "lan")),
        office(domains=("corp.lan",), groups=LAB),
    ],
    "nameserver_group_only_disabled": [
        account(unmanaged_groups=LAB),
        account(groups=[replace(SERVERS, groups=frozenset())], unmanaged_groups=STAFF),
    ],
    "nameserver_group_without_peers": [account(), office(groups=LAB, enabled=False)],
    "nameserver_repeated": [office(nameservers=(ONE, Nameserver("1.1.1.1", 54)))],
    "group_empty": [account(), corp(groups=LAB, enabled=False)],
    "several_primaries": [
        account(),
        account(groups=[PRIMARY, replace(PRIMARY, id="n3", groups=LAB)]),
        account(groups=[PRIMARY, replace(PRIMARY, id="n3", enabled=False)]),
        account(groups=[PRIMARY, replace(PRIMARY, id="n3")], unmanaged_groups=STAFF),
    ],
    "no_primary": [account(), account(groups=[], unmanaged_groups=STAFF)],
    "unmanaged_with_zones": [
        account(unmanaged_groups=LAB),
        account([replace(ZONE, groups=LAB)], unmanaged_groups=STAFF),
    ],
    "too_many_search_domains": [
        account(search_zones(5)),
        account(search_zones(6), unmanaged_groups=STAFF),
    ],
    "policy_one_sided": [
        account(policies=allowing(LAB_SIDE, RuleSide(peer="p1"))),
        account(policies=allowing(RuleSide(resource="r1"), LAB_SIDE)),
    ],
    "network_map_large": [
        account([many_records(4996)]),
        account([replace(many_records(6000), groups=LAB)]),
    ],
}


OF_THE_MESH = [code for code in CATALOGUE if code != "access_test_failing"]
"""What rules find; how access tests go is told by their own room."""


@pytest.mark.parametrize("code", OF_THE_MESH)
def test_each_rule_fires(code: str):
    for snapshot, name, words in FIRING[code]:
        [finding] = found(snapshot, code)
        assert finding.subject.name == name
        assert words in finding.text


@pytest.mark.parametrize("code", OF_THE_MESH)
def test_each_rule_is_silent(code: str):
    for snapshot in SILENT[code]:
        assert found(snapshot, code) == []


def test_a_sound_account_has_no_findings():
    assert lint(mesh(account())) == []
    assert lint(mesh(placed({}))) == []


def test_findings_come_in_the_order_of_the_catalogue():
    snapshot = account([replace(ZONE, records=()), *search_zones(7)], groups=[])
    codes = [finding.code for finding in lint(mesh(snapshot))]
    assert codes == sorted(codes, key=list(CATALOGUE).index)
    assert len(set(codes)) >= 3


def test_search_domains_are_judged_for_peers_that_serve_themselves():
    """A peer does not get the group it serves, so its list is shorter."""
    own = (Nameserver("100.64.0.1"),)
    group = replace(SERVERS, domains=("s8.lan",), search=True, nameservers=own)
    judged = account(search_zones(5), groups=[group])
    [finding] = found(judged, "too_many_search_domains")
    assert finding.subject.name == "bob"
    assert "1 peer (bob)" in finding.text


def test_visible_peers_count_in_the_network_map():
    peers = [
        machine(f"p{i:04}", f"n{i}", f"10.0.{i // 250}.{i % 250}") for i in range(2600)
    ]
    all_staff = policy("P", (RuleSide(peer="p0000"), RuleSide(groups=STAFF)))
    everybody = placed(dict.fromkeys(peers, STAFF), all_staff)
    parts = ("peers", "members", "policies")
    snapshot = account(**{part: getattr(everybody, part) for part in parts})
    [finding] = found(snapshot, "network_map_large")
    # 2,600 names, 2,600 peers, one zone record, two nameserver groups.
    assert "n0 has 5203" in finding.text


def test_nameserver_group_that_only_its_own_server_uses_serves_nobody():
    ann = machine("p1", "ann", "100.64.0.1")
    own = replace(SERVERS, nameservers=(Nameserver(ann.ip),))
    zone = replace(ZONE, domain="x.lan", records=(a("a.x.lan"),))
    alone = replace(placed({ann: STAFF}), nameserver_groups=(own,), zones=(zone,))
    assert config(alone, "p1").nameserver_groups == ()
    assert found(alone, "nameserver_group_without_peers")
    assert not found(alone, "match_domain_overlaid")


def test_severities_can_be_compared():
    zone = replace(ZONE, records=(a("a.corp.lan", 0),))
    findings = lint(mesh(account([zone], groups=[])))
    assert {finding.severity for finding in findings} == {Severity.INFO}
    assert at_least(findings, Severity.INFO) == findings
    assert at_least(findings, Severity.WARNING) == []
    assert at_least(lint(mesh(corp(groups=LAB))), Severity.WARNING)


def test_json_form_is_plain_data():
    [finding] = found(corp(records=()), "zone_empty")
    assert json.loads(json.dumps(FindingSerializer.plain(finding))) == {
        "code": "zone_empty",
        "severity": "warning",
        "object": {"kind": "zone", "id": "z1", "name": "Corp"},
        "message": finding.text,
        "remedy": CATALOGUE["zone_empty"].remedy,
    }


def test_the_documentation_lists_every_code_as_it_is():
    text = (Path(__file__).parents[2] / "docs" / "dns.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert [row for row in rows if row.split("`")[1] in CATALOGUE] == [
        f"| `{code}` | {rule.severity.value} | {rule.meaning} | {rule.remedy} |"
        for code, rule in CATALOGUE.items()
    ]
