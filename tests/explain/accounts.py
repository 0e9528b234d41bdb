"""Random accounts whose names, groups and zones collide often.

Who is in them and what connects them is of `tests.mesh.meshes`; this adds DNS.
"""

from dataclasses import replace

from hypothesis import strategies as st

from dns.rules.zones import StoredRecord, record_conflicts
from meshmgmt.mesh.snapshot import Nameserver, NameserverGroup, Record, Snapshot, Zone
from tests.mesh import meshes

DNS_DOMAIN = "mesh.lan"
DOMAINS = ("lan", "corp", "a.corp", "b.a.corp", "a.mesh.lan")
LABELS = ("a", "b")
PEER_IDS = "abc"
"""Peers that all accounts have."""
ADDRESSES = {"A": ("10.0.0.1", "10.0.0.2"), "AAAA": ("2001:db8::1", "2001:db8::2")}

group_sets = st.sampled_from(
    [frozenset(ids) for ids in ("g", "gh", "h", "gi", ("all",), "")]
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
                st.sampled_from(["9.9.9.9", "8.8.8.8", "100.71.0.1", "fd00::2"]),
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
def snapshots(draw: st.DrawFn) -> Snapshot:
    """A whole account."""
    mesh = draw(meshes.snapshots())
    return replace(
        mesh,
        settings=replace(mesh.settings, dns_domain=DNS_DOMAIN),
        peers={
            id_: peer._replace(
                name=id_,
                label=LABELS[number % 2],
                extra_labels=draw(st.sampled_from([(), ("a",), ("b",), ("b.a",)])),
            )
            for number, (id_, peer) in enumerate(mesh.peers.items())
        },
        zones=draw(zones()),
        nameserver_groups=draw(nameserver_groups()),
    )
