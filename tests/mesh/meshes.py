"""Random accounts, small enough that everything meets everything; and sides of rules."""

import random
from typing import Any, Final

from hypothesis import strategies as st

from meshmgmt.mesh import Mesh, NetworkMap
from meshmgmt.mesh.snapshot import (
    Nameserver,
    NameserverGroup,
    Peer,
    Policy,
    PostureCheck,
    Record,
    Resource,
    Route,
    Router,
    Rule,
    RuleSide,
    Settings,
    Snapshot,
    User,
    Zone,
)

NOW: Final = 1_000_000.0
PEERS: Final = "abcdef"
GROUPS: Final = ("g", "h", "i", "all")
CHECKS: Final = {
    "new": PostureCheck("new", {"nb_version_check": {"min_version": "0.50.0"}}, "new"),
    "scan": PostureCheck(
        "scan",
        {"process_check": {"processes": [{"linux_path": "/av", "mac_path": "/m"}]}},
        "scan",
    ),
}
_PORTS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"protocol": "tcp", "ports": (22, 443)},
    {"protocol": "tcp"},
    {"protocol": "udp", "ranges": ((10, 30), (5, 5))},
    {"protocol": "netbird-ssh", "ports": (22,)},
    {"protocol": "netbird-ssh", "authorized": (("g", ("root",)), ("all", ()))},
    {
        "protocol": "netbird-ssh",
        "authorized": (("g", ("root",)), ("h", ("root", "me"))),
    },
    {"protocol": "icmp"},
)
_TARGETS: Final[tuple[dict[str, Any], ...]] = (
    {"network": "10.0.0.0/24"},
    {"network": "0.0.0.0/0"},
    {"network": "fd01::/64"},
    {"domains": ("x.test",)},
)
_ADDRESSES: Final[tuple[dict[str, Any], ...]] = (
    {"address": "10.9.0.0/16"},
    {"address": "0.0.0.0/0"},
    {"address": "fd02::1/128"},
    {"address": "y.test", "is_domain": True},
)


def side(*groups: str) -> RuleSide:
    """Groups on a side of a rule."""
    return RuleSide(groups=frozenset(groups))


class Remembering(Mesh):
    """A mesh that makes each map once, for whoever asks thousands of questions."""

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__(snapshot, NOW)
        self.maps: dict[str, NetworkMap] = {}

    def network_map(self, peer_id: str) -> NetworkMap:
        if peer_id not in self.maps:
            self.maps[peer_id] = super().network_map(peer_id)
        return self.maps[peer_id]


def snapshots() -> st.SearchStrategy[Snapshot]:
    """Accounts of three to six peers, and all that connects them."""
    return st.integers(0, 2**32).map(lambda seed: Account(seed).snapshot())


class Account(random.Random):
    """Draws the parts of an account."""

    def snapshot(self) -> Snapshot:
        return Snapshot(
            settings=Settings(
                dns_domain="mesh.test",
                prefix_length_v6=64,
                login_period=self.choice((None, 3600)),
            ),
            peers={id_: self.peer(id_) for id_ in PEERS[: self.randint(3, 6)]},
            members={
                group: frozenset(self.sample(PEERS, self.randint(1, 4)))
                for group in GROUPS
                if group != "all"
            },
            everybody="all",
            users={
                "u": User("u", groups=self.groups()),
                "v": User("v", active=False, blocked=self.mostly()),
            },
            policies=tuple(self.policy(number) for number in range(self.randint(1, 4))),
            checks=CHECKS,
            routes=tuple(self.route(number) for number in range(self.randint(0, 3))),
            routers=tuple(self.router(number) for number in range(self.randint(0, 3))),
            resources=tuple(self.resource(n) for n in range(self.randint(0, 2))),
            zones=tuple(self.zone(number) for number in range(self.randint(0, 2))),
            nameserver_groups=tuple(self.servers(n) for n in range(self.randint(0, 2))),
            unmanaged_groups=frozenset() if self.mostly() else frozenset({"i"}),
        )

    def mostly(self) -> bool:
        return self.random() < 0.85

    def groups(self, least: int = 0, most: int = 2) -> frozenset[str]:
        return frozenset(self.sample(GROUPS, self.randint(least, most)))

    def peer(self, id_: str) -> Peer:
        number = PEERS.index(id_) + 1
        capable = self.choice((frozenset(), frozenset({1}), frozenset({1, 2})))
        return Peer(
            id=id_,
            key=f"key-{id_}",
            label=f"host-{id_}",
            ip=f"100.71.0.{number}",
            ipv6=self.choice((None, f"fd00::{number:x}")),
            extra_labels=self.choice(((), ("db",))),
            user_id=self.choice((None, "u", "v")),
            ssh_enabled=self.choice((True, False)),
            version=self.choice(("0.77.1", "0.59.0", "0.45.0", "development", "")),
            system=self.choice(("linux", "linux", "darwin", "js")),
            capabilities=capable,
            flags=frozenset() if self.mostly() else frozenset({"disable_ipv6"}),
            running=self.choice((frozenset(), frozenset({"/av", "/m"}))),
            approved=self.mostly(),
            login_expired=not self.mostly(),
            login_expires=self.choice((True, False)),
            last_login=NOW - (10 if self.mostly() else 5000),
        )

    def side(self) -> RuleSide:
        if self.random() < 0.7:
            return RuleSide(groups=self.groups(1))
        if self.random() < 0.6:
            return RuleSide(peer=self.choice(("a", "b", "nobody")))
        return RuleSide(resource=self.choice(("r0", "r1", "nothing")))

    def policy(self, number: int) -> Policy:
        rules = tuple(
            Rule(
                id=f"p{number}r{n}",
                sources=self.side(),
                destinations=self.side(),
                enabled=self.mostly(),
                accept=self.random() < 0.75,
                bidirectional=self.choice((True, False)),
                **self.choice(_PORTS),
            )
            for n in range(self.randint(1, 2))
        )
        checks = self.choice(((), (), (), ("new",), ("scan",), ("gone", "new")))
        return Policy(f"p{number}", rules, self.mostly(), checks, f"policy {number}")

    def routing(self) -> dict[str, Any]:
        if self.random() < 0.5:
            return {"peer": self.choice("abcd")}
        return {"peer_groups": self.groups(1)}

    def route(self, number: int) -> Route:
        return Route(
            id=f"t{number}",
            net_id=self.choice(("lan", "wan")),
            groups=self.groups(),
            access_groups=self.groups(0, 1),
            enabled=self.mostly(),
            **self.choice(_TARGETS),
            **self.routing(),
        )

    def router(self, number: int) -> Router:
        return Router(
            id=f"w{number}",
            network=self.choice(("n0", "n0", "n1")),
            metric=number + 1,
            enabled=self.mostly(),
            **self.routing(),
        )

    def resource(self, number: int) -> Resource:
        return Resource(
            id=f"r{number}",
            network=self.choice(("n0", "n0", "n1")),
            name=f"resource {number}",
            groups=self.groups(1),
            enabled=self.mostly(),
            **self.choice(_ADDRESSES),
        )

    def zone(self, number: int) -> Zone:
        record = Record(f"www.z{number}.test", "A", "10.0.0.1", self.choice((60, 300)))
        return Zone(
            id=f"z{number}",
            name="zone",
            domain=f"z{number}.test",
            groups=self.groups(),
            records=(record,) if self.mostly() else (),
            enabled=self.mostly(),
        )

    def servers(self, number: int) -> NameserverGroup:
        return NameserverGroup(
            id=f"s{number}",
            name="servers",
            nameservers=(Nameserver(self.choice(("9.9.9.9", "100.71.0.1"))),),
            groups=self.groups(),
            primary=True,
            enabled=self.mostly(),
        )
