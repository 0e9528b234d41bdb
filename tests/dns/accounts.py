"""Random accounts, small enough that names, groups and zones collide often."""

from hypothesis import strategies as st

from dns.effective.snapshot import (
    Nameserver,
    NameserverGroup,
    Peer,
    Record,
    Snapshot,
    Zone,
)
from dns.rules.records import StoredRecord, record_conflicts
from meshmgmt.access.reach import Policy, ReachFacts, Route, Rule, RuleSide

DNS_DOMAIN = "mesh.lan"
GROUPS = ("g1", "g2", "g3")
DOMAINS = (
    "lan",
    "corp",
    "a.corp",
    "b.a.corp",
    "a.mesh.lan",
)
LABELS = ("a", "b")
PEER_IDS = ("p1", "p2", "p3", "p4")
ADDRESSES = {"A": ("10.0.0.1", "10.0.0.2"), "AAAA": ("2001:db8::1", "2001:db8::2")}

group_sets = st.sampled_from(
    [frozenset(ids) for ids in ({"g1"}, {"g1", "g2"}, {"g2"}, {"g1", "g3"}, set())]
)
prefixes = st.sampled_from(["a", "b", "a.b", "b.a", "a.a.b", ""])


@st.composite
def names_below(draw: st.DrawFn, domain: str, *, wildcard: bool = False) -> str:
    prefix = draw(prefixes)
    name = f"{prefix}.{domain}" if prefix else domain
    return f"*.{name}" if wildcard and draw(st.integers(0, 4)) == 0 else name


all_domains = st.sampled_from((*DOMAINS, DNS_DOMAIN))
query_names = st.one_of(
    all_domains.flatmap(names_below),
    st.sampled_from(LABELS),
    st.sampled_from((*DOMAINS, "a.example", "example")),
)


@st.composite
def records(draw: st.DrawFn, domain: str) -> tuple[Record, ...]:
    """Records that keep the rules: a CNAME is alone and not at the apex."""
    kept: dict[StoredRecord, Record] = {}
    for _ in range(draw(st.integers(0, 6))):
        rtype = draw(st.sampled_from(["A", "AAAA", "CNAME", "CNAME"]))
        name = draw(names_below(domain, wildcard=True))
        if rtype == "CNAME":
            if name == domain:
                continue
            content = draw(query_names)
        else:
            content = draw(st.sampled_from(ADDRESSES[rtype]))
        candidate = StoredRecord(name, rtype, content)
        if not record_conflicts(candidate, kept):
            kept[candidate] = Record(name, rtype, content, draw(st.integers(0, 600)))
    return tuple(kept.values())


@st.composite
def zones(draw: st.DrawFn) -> tuple[Zone, ...]:
    domains = draw(st.lists(st.sampled_from(DOMAINS), unique=True, max_size=5))
    return tuple(
        Zone(
            id=f"z{index}",
            name=f"Zone {index}",
            domain=domain,
            groups=draw(group_sets),
            records=draw(records(domain)),
            enabled=draw(st.integers(0, 4)) > 0,
            search=draw(st.booleans()),
        )
        for index, domain in enumerate(domains)
    )


@st.composite
def nameserver_groups(draw: st.DrawFn) -> tuple[NameserverGroup, ...]:
    groups = []
    for index in range(draw(st.integers(0, 5))):
        primary = draw(st.booleans())
        ips = draw(
            st.lists(
                st.sampled_from(["9.9.9.9", "8.8.8.8", "100.64.0.1", "fd00::2"]),
                min_size=1,
                max_size=2,
            )
        )
        domains = (
            ()
            if primary
            else tuple(draw(st.lists(all_domains, min_size=1, max_size=2)))
        )
        groups.append(
            NameserverGroup(
                id=f"n{index}",
                name=f"Servers {index}",
                nameservers=tuple(Nameserver(ip, 53 + index) for ip in ips),
                groups=draw(group_sets),
                domains=domains,
                primary=primary,
                enabled=draw(st.integers(0, 4)) > 0,
                search=draw(st.booleans()) and not primary,
            )
        )
    return tuple(groups)


@st.composite
def peers(draw: st.DrawFn) -> dict[str, Peer]:
    return {
        id_: Peer(
            id=id_,
            name=id_,
            label=LABELS[number % 2],
            ip=f"100.64.0.{number + 1}",
            groups=draw(group_sets),
            ipv6=draw(st.sampled_from([None, f"fd00::{number + 1}"])),
            extra_labels=draw(
                st.lists(st.sampled_from(["a", "b", "b.a"]), max_size=1).map(tuple)
            ),
            approved=draw(st.integers(0, 7)) > 0,
        )
        for number, id_ in enumerate(PEER_IDS)
    }


sides = st.one_of(
    st.builds(RuleSide, groups=group_sets),
    st.builds(RuleSide, peer=st.sampled_from((*PEER_IDS, "gone"))),
)
rules = st.builds(
    Rule,
    sources=sides,
    destinations=sides,
    enabled=st.sampled_from([True, True, False]),
    accept=st.sampled_from([True, True, False]),
)
policies = st.lists(
    st.builds(
        Policy,
        id=st.just("policy"),
        name=st.just("Policy"),
        rules=st.lists(rules, max_size=2).map(tuple),
        enabled=st.sampled_from([True, True, False]),
    ),
    max_size=2,
).map(tuple)
routes = st.lists(
    st.builds(
        Route,
        id=st.just("route"),
        name=st.just("Route"),
        groups=group_sets,
        peer=st.sampled_from([None, *PEER_IDS]),
        peer_groups=group_sets,
        enabled=st.booleans(),
    ),
    max_size=1,
).map(tuple)


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    """A whole account."""
    people = draw(peers())
    return Snapshot(
        dns_domain=DNS_DOMAIN,
        peers=people,
        members={
            group: [p.id for p in people.values() if group in p.groups]
            for group in GROUPS
        },
        zones=draw(zones()),
        nameserver_groups=draw(nameserver_groups()),
        disabled_groups=draw(st.sampled_from([frozenset(), frozenset({"g3"})])),
        reach=ReachFacts(policies=draw(policies), routes=draw(routes)),
    )
