"""The large mesh: 5,000 peers in ten dimensions of fifty groups, 200 zones.

Every peer is in exactly one group of each dimension. Policies join each group of the first
dimension with its counterpart in the second, so a peer sees about 200 others; each group
gets one zone or, in three dimensions, shares one, so a peer has about ten zones with about
a thousand records.
"""

import base64
import datetime as dt
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from dns.content import stored_form
from dns.models import Record, Zone, ZoneGroup
from dns.services.nameservers import dns_settings_update, nameserver_groups
from dns.services.zones import records as stored_records
from events.audit.audited import audited_bulk_create
from groups.models import ALL, Group, GroupPeer
from meshmgmt.access.services.enrolment import setup_keys
from meshmgmt.access.services.networks import routes
from meshmgmt.accounts.models import Account, User
from meshmgmt.core import clock
from meshmgmt.core.orderedlinks import set_members
from meshmgmt.demo.byname import policy_create
from meshmgmt.demo.people import overlay_address
from meshmgmt.inventory.models import Network, NetworkResource, Peer

PEERS: Final = 5000
PER_DIMENSION: Final = 50
DIMENSIONS: Final = (
    *("site", "team", "floor", "platform", "product", "project", "shift", "rack"),
    *("ring", "tier"),
)
ZONES: Final = 200
ZONES_PER_STEP: Final = 20
PEOPLE: Final = 300
NETWORKS: Final = 20
SYSTEMS: Final = ("linux 13", "darwin 15.1", "windows 11", "android 15", "ios 18.2")
ROLES: Final = ("admin", "network_admin", "auditor", "user", "user", "user")
MARK: Final = "LM"
"""Serial numbers of the machines begin with it."""

DOMAIN: Final = "grand.internal"


@dataclass
class LargeMesh:
    """What exists of the large mesh so far."""

    random: random.Random
    users: list[User] = field(default_factory=list)
    peers: list[Peer] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    zones: list[Zone] = field(default_factory=list)


def _users(mesh: LargeMesh) -> None:
    for number in range(PEOPLE):
        role = "owner" if number == 0 else ROLES[number % len(ROLES)]
        user = User(
            email=f"person-{number:03d}@{DOMAIN}",
            name=f"Person Number {number}",
            role=role,
        )
        user.set_unusable_password()
        mesh.users.append(user)
    audited_bulk_create(mesh.users)


def _peers(mesh: LargeMesh) -> None:
    now = clock.now()
    chance = mesh.random
    network_range = Account.objects.get().network_range
    owners = [*mesh.users, *[None] * PEOPLE]
    for number in range(PEERS):
        name = f"node-{number:04d}"
        mesh.peers.append(
            Peer(
                name=name,
                wg_public_key=base64.b64encode(chance.randbytes(32)).decode(),
                ip=overlay_address(network_range, number),
                dns_label=name,
                user=owners[number % len(owners)],
                hostname=name,
                os=SYSTEMS[number % len(SYSTEMS)],
                version="0.59.3",
                serial_number=f"{MARK}{number:08d}",
                connected=number % 5 != 0,
                last_seen=now - dt.timedelta(minutes=chance.randrange(10_000)),
                country_code=("SE", "PT", "DE", "NO")[number % 4],
                city_name=("Gothenburg", "Porto", "Leipzig", "Bergen")[number % 4],
            )
        )
    audited_bulk_create(mesh.peers)


def _groups(mesh: LargeMesh) -> None:
    mesh.groups = [
        Group(name=f"{dimension}-{number:02d}")
        for dimension in DIMENSIONS
        for number in range(PER_DIMENSION)
    ]
    audited_bulk_create(mesh.groups)


def _members(dimension: int, mesh: LargeMesh) -> None:
    """Spread all peers evenly over one dimension's groups."""
    ids = [peer.pk for peer in mesh.peers]
    mesh.random.shuffle(ids)
    size = PEERS // PER_DIMENSION
    for number in range(PER_DIMENSION):
        group = mesh.groups[dimension * PER_DIMENSION + number]
        part = ids[number * size : (number + 1) * size]
        set_members(GroupPeer, group, part, new=True)


def _policies(mesh: LargeMesh) -> None:
    for number in range(PER_DIMENSION):
        policy_create(
            f"site {number:02d} to team {number:02d}",
            sources=[mesh.groups[number].pk],
            destinations=[mesh.groups[PER_DIMENSION + number].pk],
        )


def _zones(mesh: LargeMesh) -> None:
    for number in range(ZONES):
        domain = f"z{number:03d}.{DOMAIN}"
        mesh.zones.append(
            Zone(
                name=f"Zone {number:03d}",
                domain=domain,
                canonical_domain=stored_form(domain),
                enable_search_domain=number % 10 == 0,
            )
        )
    audited_bulk_create(mesh.zones)
    for number, zone in enumerate(mesh.zones):
        # There are more groups than zones: a zone goes to two or three of them.
        groups = [group.pk for group in mesh.groups[number::ZONES]]
        set_members(ZoneGroup, zone, groups, new=True)


def _records(first: int, mesh: LargeMesh) -> None:
    """Fill some zones from number `first` on."""
    records = []
    for zone in mesh.zones[first : first + ZONES_PER_STEP]:
        for row in _rows(zone.domain, mesh.random):
            record = Record(zone=zone)
            names = ("name", "type", "content", "ttl")
            stored_records.fill(record, dict(zip(names, row, strict=True)))
            records.append(record)
    audited_bulk_create(records)


def _rows(domain: str, chance: random.Random) -> Iterator[tuple[str, str, str, int]]:
    """Yield the hundred records of a zone: addresses, aliases and a wildcard."""
    for number in range(60):
        address = f"10.{chance.randrange(64, 128)}.{chance.randrange(256)}.{number + 1}"
        yield (f"host-{number:02d}.{domain}", "A", address, 300)
    for number in range(20):
        name = f"host-{number:02d}.{domain}"
        yield (name, "AAAA", f"fd10::{number + 1:x}", 300)
    for number in range(19):
        target = f"host-{chance.randrange(60):02d}.{domain}"
        yield (f"alias-{number:02d}.{domain}", "CNAME", target, 600)
    yield (f"*.wild.{domain}", "A", "10.64.0.1", 60)


def _nameservers(mesh: LargeMesh) -> None:
    everybody = Group.objects.get(name=ALL, issued="api").pk
    _nameserver_group("Default resolvers", "9.9.9.9", [], [everybody])
    for number in range(9):
        groups = [group.pk for group in mesh.groups[number * 5 : number * 5 + 5]]
        domain = f"site-{number}.{DOMAIN}"
        _nameserver_group(f"Resolvers {number}", f"10.1.{number}.53", [domain], groups)
    dns_settings_update(disabled_management_groups=[mesh.groups[-1].pk])


def _nameserver_group(
    name: str, address: str, domains: list[str], groups: list[str]
) -> None:
    nameserver_groups.create(
        {
            "name": name,
            "nameservers": [{"ip": address, "ns_type": "udp", "port": 53}],
            "groups": groups,
            "primary": not domains,
            "domains": domains,
            "search_domains_enabled": bool(domains),
        }
    )


def _others(mesh: LargeMesh) -> None:
    """Networks with resources, routes and setup keys: enough to fill their pages."""
    networks = [Network(name=f"Network {number:02d}") for number in range(NETWORKS)]
    audited_bulk_create(networks)
    audited_bulk_create(
        [
            NetworkResource(
                network=network,
                name=f"subnet {number:02d}-{part}",
                type="subnet",
                address=f"10.{200 + number}.{part}.0/24",
            )
            for number, network in enumerate(networks)
            for part in range(5)
        ]
    )
    for number, group in enumerate(mesh.groups[:NETWORKS]):
        route = {"network_id": f"route-{number:02d}", "groups": [group.pk]}
        route["network"] = f"10.{200 + number}.0.0/16"
        routes.create({**route, "peer": mesh.peers[number].pk})
        key = {"name": f"key of {group.name}", "type": "reusable", "expires_in": 0}
        setup_keys.create({**key, "auto_groups": [group.pk]})


STEPS: Final[tuple[Callable[[LargeMesh], None], ...]] = (
    _users,
    _peers,
    _groups,
    *(partial(_members, number) for number in range(len(DIMENSIONS))),
    _policies,
    _zones,
    *(partial(_records, first) for first in range(0, ZONES, ZONES_PER_STEP)),
    _nameservers,
    _others,
)
