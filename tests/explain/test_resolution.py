"""How names resolve: the seed's examples and each way a look-up can end."""

import json
from dataclasses import replace
from itertools import pairwise

import pytest

from meshmgmt.explain.api.serializers import ExplanationSerializer
from meshmgmt.explain.resolution.explain import explain
from meshmgmt.explain.resolution.model import Explanation, OutcomeKind, QueryError
from meshmgmt.explain.resolution.render import render
from meshmgmt.mesh.reasons import Subject
from meshmgmt.mesh.snapshot import (
    Nameserver,
    NameserverGroup,
    Record,
    RuleSide,
    Settings,
    Snapshot,
    Zone,
)
from tests.explain.pure import NO_GROUPS, config, machine, placed, policy

STAFF = frozenset({"staff"})
ANN = machine("p1", "ann", "100.64.0.1")
BOB = machine("p2", "bob", "100.64.0.2")
FAR = machine("p3", "far", "100.64.0.3")


def a(name: str, content: str = "10.0.0.1") -> Record:
    return Record(name, "A", content, 60)


def cname(name: str, target: str) -> Record:
    return Record(name, "CNAME", target, 60)


def zone(domain: str, *records: Record, search: bool = False) -> Zone:
    named = f"z-{domain}", f"Zone {domain}"
    return Zone(*named, domain, STAFF, records, search=search)


def servers(ip: str, *domains: str, search: bool = False) -> NameserverGroup:
    of = f"n-{ip}", f"Servers {ip}", (Nameserver(ip),), STAFF
    return NameserverGroup(*of, domains, primary=not domains, search=search)


def snapshot(*zones: Zone, groups: tuple[NameserverGroup, ...] = ()) -> Snapshot:
    everybody = policy("Everybody", (RuleSide(groups=STAFF), RuleSide(groups=STAFF)))
    return replace(
        placed({ANN: STAFF, BOB: STAFF, FAR: NO_GROUPS}, everybody),
        zones=zones,
        nameserver_groups=groups,
        group_names={"staff": "Staff"},
    )


def ask(account: Snapshot, name: str, rtype: str = "A") -> Explanation:
    return explain(config(account), name, rtype)


def queried(explanation: Explanation) -> list[str]:
    return [query.name for query in explanation.queries]


def told(explanation: Explanation) -> str:
    """Code and object of every step, in order."""
    legs = [leg for query in explanation.queries for leg in query.legs]
    steps = [step for leg in legs for step in leg.steps]
    names = [step.subject.name if step.subject else "" for step in steps]
    each = [f"{s.code} {name}" for s, name in zip(steps, names, strict=True)]
    return ", ".join(text.strip() for text in each)


def asked(explanation: Explanation) -> list[str]:
    return [server.ip for server in explanation.outcome.servers]


def ending(explanation: Explanation) -> tuple[OutcomeKind, list[str]]:
    return explanation.outcome.kind, asked(explanation)


def test_the_seeds_resolution_order():
    """Custom zones, then domain nameservers, then primary ones, then the system."""
    corp = zone("company.com", a("wiki.company.com"))
    domain, primary = servers("10.0.0.53", "company.com"), servers("9.9.9.9")
    full = snapshot(corp, groups=(primary, domain))
    wiki = ask(full, "wiki.company.com")
    assert wiki.outcome.kind is OutcomeKind.ANSWER
    assert wiki.outcome.records == (a("wiki.company.com"),)
    mail = ask(full, "mail.company.com")
    assert ending(mail) == (OutcomeKind.FORWARDED, ["10.0.0.53"])
    other = ask(full, "example.org")
    assert ending(other) == (OutcomeKind.FORWARDED, ["9.9.9.9"])
    without = replace(full, nameserver_groups=(domain,))
    assert ask(without, "example.org").outcome.kind is OutcomeKind.SYSTEM


def test_the_seeds_short_name_with_a_search_domain():
    """With search domains on for company.com a short name gets it appended."""
    account = snapshot(groups=(servers("10.0.0.53", "company.com", search=True),))
    short = ask(account, "wiki")
    assert queried(short) == ["wiki.mesh.lan", "wiki.company.com", "wiki"]
    assert short.outcome == ask(account, "wiki.company.com").outcome
    assert asked(short) == ["10.0.0.53"]
    assert short.depends


def test_search_domains_come_in_order_and_once():
    account = snapshot(
        zone("z1.lan", a("x.z1.lan"), search=True),
        zone("z2.lan", a("x.z2.lan"), search=False),
        zone("z3.lan", a("x.z3.lan"), search=True),
        groups=(
            servers("1.1.1.1", "n2.lan", "n1.lan", "z3.lan", search=True),
            servers("2.2.2.2", "n3.lan", search=False),
        ),
    )
    found = [search.domain for search in config(account).search_domains]
    assert found == ["mesh.lan", "z1.lan", "z3.lan", "n2.lan", "n1.lan"]


def test_a_name_without_dots_is_searched_up_to_the_first_local_answer():
    account = snapshot(
        zone("z1.lan", a("x.z1.lan"), search=True),
        zone("z2.lan", a("x.z2.lan"), search=True),
    )
    short = ask(account, "x")
    assert queried(short) == ["x.mesh.lan", "x.z1.lan"]
    assert not short.depends
    for typed in ("x.", "x.z1"):  # dots turn the search list off
        assert len(ask(account, typed).queries) == 1


def test_nodata_in_a_search_list_goes_on_and_is_remembered():
    account = snapshot(zone("z1.lan", a("x.z1.lan"), search=True))
    short = ask(account, "x", "AAAA")
    kinds = [query.outcome.kind.value for query in short.queries]
    assert kinds == ["nxdomain", "nodata", "system"]
    assert short.outcome.kind is OutcomeKind.SYSTEM
    hidden = replace(account, settings=Settings(dns_domain="z0.lan"))
    assert ask(hidden, "x.z1.lan", "AAAA").outcome.kind is OutcomeKind.NODATA


def test_the_longest_zone_wins_and_the_shorter_is_shadowed():
    account = snapshot(
        zone("corp.lan", a("x.sub.corp.lan", "10.0.0.1")),
        zone("sub.corp.lan", a("x.sub.corp.lan", "10.0.0.2")),
    )
    result = ask(account, "x.sub.corp.lan")
    assert [r.content for r in result.outcome.records] == ["10.0.0.2"]
    assert told(result) == "match Zone sub.corp.lan, shadowed Zone corp.lan"


def test_an_absent_name_falls_to_the_shorter_zone_and_on():
    account = snapshot(
        zone("corp.lan", a("x.sub.corp.lan")),
        zone("sub.corp.lan", a("y.sub.corp.lan")),
        groups=(servers("1.1.1.1", "corp.lan"),),
    )
    result = ask(account, "x.sub.corp.lan")
    absent = "absent Zone sub.corp.lan"
    assert told(result) == f"{absent}, match Zone corp.lan, shadowed Servers 1.1.1.1"
    beyond = ask(account, "z.sub.corp.lan")
    assert asked(beyond) == ["1.1.1.1"]
    assert told(beyond) == f"{absent}, absent Zone corp.lan, match Servers 1.1.1.1"


WILD = zone("corp.lan", a("*.corp.lan"), a("x.corp.lan", "10.0.0.9"))
SIX = Record("x.corp.lan", "AAAA", "2001:db8::1", 60)


@pytest.mark.parametrize(
    ("corp", "name", "rtype", "kind"),
    [
        # Another type does not fall through to a nameserver.
        (zone("corp.lan", a("x.corp.lan")), "x.corp.lan", "AAAA", OutcomeKind.NODATA),
        # Empty non-terminals count as absent.
        (zone("corp.lan", a("x.y.corp.lan")), "y.corp.lan", "A", OutcomeKind.FORWARDED),
        (zone("corp.lan", a("x.y.corp.lan")), "corp.lan", "A", OutcomeKind.FORWARDED),
        # A wildcard covers one label, and only where the name itself has nothing.
        (WILD, "a.b.corp.lan", "A", OutcomeKind.FORWARDED),
        (WILD, "corp.lan", "A", OutcomeKind.FORWARDED),
        (WILD, "any.corp.lan", "AAAA", OutcomeKind.NODATA),
        (zone("corp.lan", a("*.corp.lan"), SIX), "x.corp.lan", "A", OutcomeKind.NODATA),
    ],
)
def test_a_zone_decides_about_the_names_that_it_has(
    corp: Zone, name: str, rtype: str, kind: OutcomeKind
):
    beyond = {OutcomeKind.FORWARDED: OutcomeKind.SYSTEM}
    with_primary = snapshot(corp, groups=(servers("9.9.9.9"),))
    assert ask(with_primary, name, rtype).outcome.kind is kind
    assert ask(snapshot(corp), name, rtype).outcome.kind is beyond.get(kind, kind)


def test_a_wildcard_gives_its_records_to_names_without_their_own():
    wild = ask(snapshot(WILD), "any.corp.lan")
    assert wild.outcome.records == (a("any.corp.lan"),)
    assert told(wild).split(", ")[0] == "wildcard Zone corp.lan"
    exact = ask(snapshot(WILD), "x.corp.lan")
    assert exact.outcome.records[0].content == "10.0.0.9"


def test_aliases_are_followed_and_the_second_leg_may_be_forwarded():
    account = snapshot(
        zone("corp.lan", cname("www.corp.lan", "web.corp.lan"), a("web.corp.lan")),
        zone("ext.lan", cname("shop.ext.lan", "shop.example.org")),
        groups=(servers("9.9.9.9"),),
    )
    local = ask(account, "www.corp.lan")
    assert local.outcome.name == "web.corp.lan"
    assert [r.type for r in local.outcome.records] == ["CNAME", "A"]
    outside = ask(account, "shop.ext.lan")
    assert ending(outside) == (OutcomeKind.FORWARDED, ["9.9.9.9"])
    assert outside.outcome.name == "shop.example.org"
    assert len(outside.queries[0].legs) == 2
    asked_itself = ask(account, "www.corp.lan", "CNAME")
    assert [r.type for r in asked_itself.outcome.records] == ["CNAME"]


def chain(*names: str) -> list[Record]:
    """Aliases, each of the next name."""
    return [cname(*pair) for pair in pairwise(names)]


def test_alias_loops_fail_and_eight_aliases_are_followed_and_no_more():
    loop = zone("corp.lan", *chain("a.corp.lan", "b.corp.lan", "a.corp.lan"))
    result = ask(snapshot(loop), "a.corp.lan")
    assert result.outcome.kind is OutcomeKind.LOOP
    assert told(result).split(", ")[-1] == "loop"
    for aliases, kind in ((8, OutcomeKind.ANSWER), (9, OutcomeKind.DEPTH)):
        names = [f"n{i}.corp.lan" for i in range(aliases + 1)]
        account = snapshot(zone("corp.lan", *chain(*names), a(names[-1])))
        assert ask(account, "n0.corp.lan").outcome.kind is kind


def test_the_peers_own_zone_is_authoritative():
    account = snapshot(
        zone("lan", a("db.mesh.lan")),
        zone("sub.mesh.lan", a("x.sub.mesh.lan")),
        groups=(servers("9.9.9.9"), servers("1.1.1.1", "mesh.lan")),
    )
    assert ask(account, "bob.mesh.lan").outcome.records[0].content == "100.64.0.2"
    assert ask(account, "ann.mesh.lan").outcome.records[0].content == "100.64.0.1"
    for name in ("db.mesh.lan", "far.mesh.lan", "z.sub.mesh.lan", "mesh.lan"):
        assert ask(account, name).outcome.kind is OutcomeKind.NXDOMAIN
    assert ask(account, "x.sub.mesh.lan").outcome.kind is OutcomeKind.ANSWER


def test_a_name_of_a_peer_out_of_reach_is_explained():
    far = Subject("peer", "p3", "far")
    found = config(snapshot())
    result = explain(found, "far.mesh.lan", hidden_peer={"far.mesh.lan": far}.get)
    assert "peer_not_reachable far" in told(result).split(", ")
    unknown = explain(found, "no.mesh.lan", hidden_peer={"far.mesh.lan": far}.get)
    assert "peer_not_reachable" not in told(unknown)


def test_groups_of_one_domain_are_all_asked_in_creation_order():
    account = snapshot(
        groups=(
            servers("1.1.1.1", "corp.lan"),
            servers("2.2.2.2", "lan", "x.corp.lan"),
            servers("3.3.3.3", "corp.lan"),
            servers("4.4.4.4"),
            servers("5.5.5.5"),
        )
    )
    result = ask(account, "a.corp.lan")
    assert asked(result) == ["1.1.1.1", "3.3.3.3"]
    assert told(result) == (
        "match Servers 1.1.1.1, shadowed Servers 2.2.2.2, match Servers 3.3.3.3,"
        " shadowed Servers 4.4.4.4, shadowed Servers 5.5.5.5"
    )
    assert asked(ask(account, "a.x.corp.lan")) == ["2.2.2.2"]
    assert asked(ask(account, "corp.lan")) == ["1.1.1.1", "3.3.3.3"]
    assert asked(ask(account, "xcorp.example")) == ["4.4.4.4", "5.5.5.5"]


def test_an_unmanaged_peer_asks_its_system():
    managed = snapshot(zone("corp.lan", a("x.corp.lan")))
    account = replace(managed, unmanaged_groups=STAFF)
    result = ask(account, "x.corp.lan")
    assert not result.managed
    assert result.outcome.kind is OutcomeKind.SYSTEM
    assert "Staff" in result.queries[0].legs[0].steps[0].text
    assert len(ask(account, "short").queries) == 1


@pytest.mark.parametrize(
    ("name", "rtype", "kind", "decisive"),
    [
        ("x.corp.lan", "A", OutcomeKind.ANSWER, "match"),
        ("x.corp.lan", "AAAA", OutcomeKind.NODATA, "nodata"),
        ("w.corp.lan", "A", OutcomeKind.LOOP, "cname"),
    ],
)
def test_servers_that_lose_a_name_to_a_zone_are_named(
    name: str, rtype: str, kind: OutcomeKind, decisive: str
):
    account = snapshot(
        zone("corp.lan", a("x.corp.lan"), cname("w.corp.lan", "w.corp.lan")),
        groups=(
            servers("1.1.1.1", "corp.lan"),
            servers("2.2.2.2"),
            servers("3.3.3.3", "x"),
        ),
    )
    result = ask(account, name, rtype)
    assert result.outcome.kind is kind
    losing = ["shadowed Servers 1.1.1.1", "shadowed Servers 2.2.2.2"]
    assert told(result).split(", ")[:3] == [f"{decisive} Zone corp.lan", *losing]
    assert "3.3.3.3" not in told(result)


def test_excluded_objects_that_would_match_are_named():
    account = snapshot(
        replace(zone("corp.lan", a("x.corp.lan")), enabled=False),
        groups=(
            replace(servers("1.1.1.1", "corp.lan"), groups=frozenset({"other"})),
            replace(servers("2.2.2.2"), enabled=False),
            replace(servers("3.3.3.3", "else.lan"), enabled=False),
        ),
    )
    result = ask(account, "x.corp.lan")
    assert told(result) == (
        "excluded Zone corp.lan, excluded Servers 1.1.1.1, excluded Servers 2.2.2.2,"
        " system"
    )


def test_excluded_groups_that_would_lose_anyway_are_not_named():
    account = snapshot(
        groups=(
            servers("1.1.1.1", "sub.corp.lan"),
            replace(servers("2.2.2.2", "corp.lan"), enabled=False),
            replace(servers("3.3.3.3", "sub.corp.lan"), enabled=False),
            replace(servers("4.4.4.4", "x.sub.corp.lan"), enabled=False),
            replace(servers("5.5.5.5"), enabled=False),
        )
    )
    assert told(ask(account, "x.sub.corp.lan")) == (
        "match Servers 1.1.1.1, excluded Servers 3.3.3.3, excluded Servers 4.4.4.4"
    )


@pytest.mark.parametrize(
    ("name", "rtype", "words"),
    [
        ("", "A", "empty"),
        ("a b", "A", "letters"),
        (".".join(["a" * 63] * 4), "A", "longer than the 253"),
        ("x.lan", "MX", "not supported"),
        ("x.lan", "", "not supported"),
    ],
)
def test_bad_questions_are_refused(name: str, rtype: str, words: str):
    with pytest.raises(QueryError, match=words):
        ask(snapshot(), name, rtype)


def test_names_and_types_ignore_case():
    account = snapshot(zone("corp.lan", a("x.corp.lan")))
    assert ask(account, "X.Corp.LAN.", "a").outcome.records == (a("x.corp.lan"),)


def test_too_long_candidates_are_skipped():
    domain = ".".join(["z" * 60] * 4)
    account = snapshot(zone(domain, a(f"a.{domain}"), search=True))
    result = ask(account, "x" * 20)
    kinds = [query.outcome.kind.value for query in result.queries]
    assert kinds == ["nxdomain", "too_long", "system"]


def full_account() -> Snapshot:
    return snapshot(
        zone("corp.lan", cname("www.corp.lan", "web.example.org"), search=True),
        zone("lan", a("other.lan")),
        groups=(servers("2001:db8::53"), servers("1.1.1.1", "corp.lan", search=True)),
    )


def test_json_form_is_plain_data():
    text = json.dumps(ExplanationSerializer.plain(ask(full_account(), "www")))
    data = json.loads(text)
    assert data["outcome"]["kind"] == "forwarded"
    assert data["outcome"]["servers"][0]["ip"] == "2001:db8::53"
    assert data["queries"][1]["legs"][0]["steps"][0]["code"] == "cname"


def test_the_tree_shows_queries_steps_and_outcome():
    assert (
        render(ask(full_account(), "www"))
        == """\
www A
├─ query www.mesh.lan (search domain of the peers' own zone)
│  > [zones] the peers' own zone mesh.lan has no www.mesh.lan for this peer, and no \
other place is asked about it
│  - [zones] zone lan is not looked at: zone mesh.lan is longer
│  - [primary nameservers] primary group Servers 2001:db8::53 is not asked: a zone \
decides
│  = www.mesh.lan: the name does not exist (NXDOMAIN)
├─ query www.corp.lan (search domain of zone Zone corp.lan)
│  > [zones] zone corp.lan has www.corp.lan as an alias of web.example.org
│      www.corp.lan 60 CNAME web.example.org
│  - [zones] zone lan is not looked at: zone corp.lan is longer
│  - [domain nameservers] group Servers 1.1.1.1 serves corp.lan, but is not asked: a \
zone decides
│  - [primary nameservers] primary group Servers 2001:db8::53 is not asked: a zone \
decides
│  then web.example.org
│  > [primary nameservers] primary group Servers 2001:db8::53 serves all other names
│  = web.example.org: forwarded to these servers, in this order
└─ query www
   > [primary nameservers] primary group Servers 2001:db8::53 serves all other names
   = www: forwarded to these servers, in this order
=> web.example.org: forwarded to these servers, in this order
   www.corp.lan 60 CNAME web.example.org
   [2001:db8::53]:53 (udp, group Servers 2001:db8::53)
   if they do not know the name, the next query above is tried
"""
    )
