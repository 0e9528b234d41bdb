"""From rows of the database to the parts of a snapshot."""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

import orjson

from dns.effective.snapshot import Nameserver, NameserverGroup, Record, Zone
from meshmgmt.access.models import Action
from meshmgmt.access.reach import RuleSide
from meshmgmt.control.loading.statements import Rows
from meshmgmt.core.names import MAX_OCTETS, canonical
from meshmgmt.netmap.snapshot import Peer, Policy, Resource, Route, Router, Rule, User

Lists = Mapping[str, Mapping[str, frozenset[str]]]
Logins = Mapping[str, tuple[tuple[str, tuple[str, ...]], ...]]

_EMPTY: Final = ("[]", "{}", None)


def peer(row: tuple[Any, ...]) -> Peer:
    """The peer of a row of `statements.peers`."""
    (
        id_, key, label, ip, ipv6, extra, user_id, ssh_key, ssh_enabled, version,
        system, os_version, kernel_version, capabilities, flags, addresses,
        connection_ip, files, country, city, waiting, expired, expires, last_login,
    ) = row  # fmt: skip
    networks = [entry.get("net_ip", "") for entry in _json(addresses)]
    return Peer(
        id=id_,
        key=key,
        label=label,
        ip=ip,
        ipv6=ipv6 or None,
        extra_labels=tuple(_json(extra)),
        user_id=user_id,
        ssh_key=ssh_key,
        ssh_enabled=bool(ssh_enabled),
        version=version,
        system=system,
        os_version=os_version,
        kernel_version=kernel_version,
        capabilities=frozenset(_json(capabilities)),
        flags=frozenset([name for name, on in _items(flags) if on]),
        networks=(*networks, connection_ip) if connection_ip else tuple(networks),
        running=frozenset(
            [
                entry.get("path", "")
                for entry in _json(files)
                if entry.get("process_is_running")
            ]
        ),
        country=country,
        city=city,
        approved=not waiting,
        login_expired=bool(expired),
        login_expires=bool(expires),
        last_login=_seconds(last_login) if expires else None,
    )


def policies(rows: Rows, lists: Lists, logins: Logins) -> tuple[Policy, ...]:
    """The policies of rows of `statements.rules`."""
    rules: defaultdict[tuple[str, bool, str], list[Rule]] = defaultdict(list)
    for policy_id, policy_enabled, name, id_, enabled, action, both, *rest in rows:
        protocol, ports, ranges, type_, source, other_type, other = rest
        found = rules[policy_id, bool(policy_enabled), name]
        if id_ is None:
            continue
        found.append(
            Rule(
                id=id_,
                sources=_side(lists["source"].get(id_), type_, source),
                destinations=_side(lists["destination"].get(id_), other_type, other),
                enabled=bool(enabled),
                accept=action == Action.ACCEPT,
                bidirectional=bool(both),
                protocol=protocol,
                ports=tuple(int(port) for port in _json(ports)),
                ranges=tuple((entry["start"], entry["end"]) for entry in _json(ranges)),
                authorized=logins.get(id_, ()),
            )
        )
    checks = lists["check"]
    return tuple(
        Policy(id_, tuple(found), enabled, tuple(sorted(checks.get(id_, ()))), name)
        for (id_, enabled, name), found in rules.items()
    )


def routes(rows: Rows, lists: Lists) -> tuple[Route, ...]:
    """The routes of rows of `statements.routes`."""
    return tuple(
        Route(
            id=id_,
            net_id=net_id,
            groups=lists["route"].get(id_, frozenset()),
            network=network,
            domains=tuple(_names(_json(domains))),
            peer=peer_id,
            peer_groups=lists["route_peer"].get(id_, frozenset()),
            access_groups=lists["route_access"].get(id_, frozenset()),
            metric=metric,
            masquerade=bool(masquerade),
            keep_route=bool(keep),
            skip_auto_apply=bool(skip),
            enabled=bool(enabled),
        )
        for (
            id_, net_id, network, domains, peer_id, metric, masquerade, keep, skip,
            enabled,
        ) in rows
    )  # fmt: skip


def routers(rows: Rows, lists: Lists) -> tuple[Router, ...]:
    """The routers of rows of `statements.routers`."""
    return tuple(
        Router(
            id=id_,
            network=network,
            peer=peer_id,
            peer_groups=lists["router_peer"].get(id_, frozenset()),
            metric=metric,
            masquerade=bool(masquerade),
            enabled=bool(enabled),
        )
        for id_, network, peer_id, metric, masquerade, enabled in rows
    )


def resources(rows: Rows, lists: Lists) -> tuple[Resource, ...]:
    """The resources of rows of `statements.resources`."""
    return tuple(
        Resource(
            id=id_,
            network=network,
            name=name,
            address=canonical(address) if kind == "domain" else address,
            is_domain=kind == "domain",
            groups=lists["resource"].get(id_, frozenset()),
            enabled=bool(enabled),
        )
        for id_, network, name, address, kind, enabled in rows
    )


def users(rows: Rows, lists: Lists) -> dict[str, User]:
    """The users of rows of `statements.users`."""
    return {
        id_: User(
            id=id_,
            active=not (blocked or pending or service),
            blocked=bool(blocked),
            groups=lists["user"].get(id_, frozenset()),
            subject=(subject or "").partition("|")[2],
        )
        for id_, blocked, pending, service, subject in rows
    }


def zone_records(rows: Rows) -> dict[str, tuple[Record, ...]]:
    """Records by zone, of rows in the order of zones."""
    return {
        zone_id: tuple([Record(*columns) for _, *columns in of_zone])
        for zone_id, of_zone in groupby(rows, itemgetter(0))
    }


def zones(
    rows: Rows, lists: Lists, records: Mapping[str, tuple[Record, ...]]
) -> tuple[Zone, ...]:
    """The zones of rows of `statements.zones`."""
    return tuple(
        Zone(
            id=id_,
            name=name,
            domain=canonical(domain),
            groups=lists["zone"].get(id_, frozenset()),
            records=records.get(id_, ()),
            enabled=bool(enabled),
            search=bool(search),
        )
        for id_, name, domain, enabled, search in rows
    )


def nameserver_groups(rows: Rows, lists: Lists) -> tuple[NameserverGroup, ...]:
    """The nameserver groups of rows of `statements.nameserver_groups`.

    One whose every domain is too long for a query serves nobody and is left out.
    """
    return tuple(
        NameserverGroup(
            id=id_,
            name=name,
            nameservers=tuple(
                Nameserver(server["ip"], server["port"], server["ns_type"])
                for server in _json(servers)
            ),
            groups=lists["nameserver_group"].get(id_, frozenset()),
            domains=tuple(_names(_json(domains))),
            primary=bool(primary),
            enabled=bool(enabled),
            search=bool(search),
        )
        for id_, name, servers, domains, primary, enabled, search in rows
        if primary or any(_names(_json(domains)))
    )


def _side(groups: frozenset[str] | None, type_: str, resource_id: str) -> RuleSide:
    if not resource_id:
        return RuleSide(groups=groups or frozenset())
    if type_ == "peer":
        return RuleSide(peer=resource_id)
    return RuleSide(resource=resource_id)


def _names(texts: Iterable[str]) -> Iterator[str]:
    """Those that a query can hold, in canonical form."""
    return (name for text in texts if len(name := canonical(text)) <= MAX_OCTETS)


def _json(text: str | None) -> Any:
    return () if text in _EMPTY else orjson.loads(text or "[]")


def _items(text: str | None) -> Iterable[tuple[str, Any]]:
    return () if text in _EMPTY else orjson.loads(text or "{}").items()


def _seconds(value: dt.datetime | str) -> float:
    """Seconds since the epoch; SQLite hands out texts in UTC."""
    moment = dt.datetime.fromisoformat(value) if isinstance(value, str) else value
    return (moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).timestamp()
