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
SERVERS = ("9.9.9.9", "8.8.8.8", "100.71.0.1", "fd00::2")
PREFIXES = ("a.", "b.", "a.b.", "b.a.", "a.a.b.", "")
QUERY_NAMES = (
    tuple(prefix + domain for domain in (*DOMAINS, DNS_DOMAIN) for prefix in PREFIXES),
    LABELS,
    (*DOMAINS, "a.example", "example"),
)

query_names = st.one_of(*map(st.sampled_from, QUERY_NAMES))


class Account(meshes.Account):
    """Draws the parts of an account that has more of DNS."""

    def snapshot(self) -> Snapshot:
        mesh = super().snapshot()
        return replace(
            mesh,
            settings=replace(mesh.settings, dns_domain=DNS_DOMAIN),
            peers={
                id_: peer._replace(
                    name=id_,
                    label=LABELS[number % 2],
                    extra_labels=self.choice(((), ("a",), ("b",), ("b.a",))),
                )
                for number, (id_, peer) in enumerate(mesh.peers.items())
            },
            zones=self.zones(),
            nameserver_groups=tuple(
                self.nameserver_group(number) for number in range(self.randint(0, 5))
            ),
        )

    def some_groups(self) -> frozenset[str]:
        return frozenset(self.choice(("g", "gh", "h", "gi", ("all",), "")))

    def zones(self) -> tuple[Zone, ...]:
        domains = self.sample(DOMAINS, self.randint(0, len(DOMAINS)))
        return tuple(
            Zone(
                id=f"z{index}",
                name=f"Zone {index}",
                domain=domain,
                groups=self.some_groups(),
                records=self.records(domain),
                enabled=self.random() < 0.8,
                search=self.choice((True, False)),
            )
            for index, domain in enumerate(domains)
        )

    def records(self, domain: str) -> tuple[Record, ...]:
        """Records that keep the rules: a CNAME is alone and not at the apex."""
        kept: dict[StoredRecord, Record] = {}
        for _ in range(self.randint(0, 6)):
            rtype = self.choice(("A", "AAAA", "CNAME", "CNAME"))
            name = self.choice(PREFIXES) + domain
            if self.random() < 0.2:
                name = f"*.{name}"
            if rtype != "CNAME":
                content = self.choice(ADDRESSES[rtype])
            elif name != domain:
                content = self.choice(self.choice(QUERY_NAMES))
            else:
                continue
            candidate = StoredRecord(name, rtype, content)
            if not record_conflicts(candidate, kept):
                kept[candidate] = Record(name, rtype, content, self.randint(0, 600))
        return tuple(kept.values())

    def nameserver_group(self, number: int) -> NameserverGroup:
        primary = self.choice((True, False))
        ips = self.choices(SERVERS, k=self.randint(1, 2))
        domains = self.choices((*DOMAINS, DNS_DOMAIN), k=self.randint(1, 2))
        return NameserverGroup(
            id=f"n{number}",
            name=f"Servers {number}",
            nameservers=tuple(Nameserver(ip, 53 + number) for ip in ips),
            groups=self.some_groups(),
            domains=() if primary else tuple(domains),
            primary=primary,
            enabled=self.random() < 0.8,
            search=not primary and self.choice((True, False)),
        )


accounts = st.integers(0, 2**32).map(Account)


def snapshots() -> st.SearchStrategy[Snapshot]:
    return accounts.map(Account.snapshot)


def records(domain: str) -> st.SearchStrategy[tuple[Record, ...]]:
    """Records of a zone that keep the rules."""
    return accounts.map(lambda account: account.records(domain))
