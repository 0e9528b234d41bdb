"""Where each part of a snapshot is stored: all that is read of an account."""

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from ipaddress import ip_network
from operator import not_
from typing import Any, Final

import orjson
from django.conf import settings
from django.db.models import Case, Exists, OuterRef, Q, TextField, Value, When
from django.db.models.functions import Coalesce, Concat, Length
from django.db.models.lookups import LessThanOrEqual

from dns import models as dns
from dns.content import DIGEST_MARK
from groups.models import ALL, Group, GroupPeer, GroupResource, Issued
from meshmgmt.access import models as access
from meshmgmt.access.rules.networks import parse_address
from meshmgmt.accounts import models as accounts
from meshmgmt.accounts.models.account import peers_domain
from meshmgmt.accounts.oidc.configured import audience, is_configured, keys_location
from meshmgmt.core.names import MAX_OCTETS, canonical, is_too_long
from meshmgmt.core.orderedlinks import OrderedLink
from meshmgmt.core.queries import Prepared
from meshmgmt.inventory import models as inventory
from meshmgmt.mesh import snapshot as mesh
from meshmgmt.meshstate.reader import (
    GIVEN,
    Made,
    Query,
    Table,
    listed,
    loaded,
    made,
    text,
)


def _members(**which: Sequence[str]) -> Query:
    rows = GroupPeer.objects.filter(**which).order_by()
    return rows.values_list("group_id", "peer_id")


def _owners(link: type[OrderedLink], groups: Sequence[str]) -> Query:
    """What lists one of the groups."""
    links: Query = link._default_manager.filter(Q(group__in=groups))
    return links.order_by().values(f"{link.owner_field}_id")


@lru_cache(maxsize=1024)
def _tuple(stored: str) -> tuple[Any, ...]:
    return tuple(loaded(stored))


@lru_cache(maxsize=1024)
def _set(stored: str) -> frozenset[Any]:
    """A list as a set; most peers have the same."""
    return frozenset(loaded(stored))


@lru_cache(maxsize=1024)
def _switched_on(stored: str) -> frozenset[str]:
    return frozenset(name for name, on in dict(loaded(stored)).items() if on)


def _networks(addresses: str, connection_ip: str) -> tuple[str, ...]:
    """The prefixes a peer is attached to, and the address that it comes from."""
    found = [entry.get("net_ip", "") for entry in loaded(addresses)]
    return (*found, connection_ip) if connection_ip else tuple(found)


@lru_cache(maxsize=1024)
def _running(files: str) -> frozenset[str]:
    entries = loaded(files)
    return frozenset(e.get("path", "") for e in entries if e.get("process_is_running"))


def _last_login(expires: bool, moment: dt.datetime | str) -> float | None:
    """Seconds since the epoch, where they count; SQLite hands out texts in UTC."""
    if not expires:
        return None
    if isinstance(moment, str):
        moment = dt.datetime.fromisoformat(moment)
    return (moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).timestamp()


PEERS: Final = Table(
    mesh.Peer,
    inventory.Peer,
    # They go into a mapping, and sorting thousands takes time.
    order=(),
    key="wg_public_key",
    label="dns_label",
    extra_labels=made(_tuple, text("extra_dns_labels")),
    system="go_os",
    capabilities=made(_set, text("capabilities")),
    flags=made(_switched_on, text("local_flags")),
    networks=made(_networks, text("network_addresses"), "connection_ip"),
    running=made(_running, text("files")),
    country="country_code",
    city="city_name",
    approved=made(not_, "approval_required"),
    login_expires="login_expiration_enabled",
    last_login=made(
        _last_login, "login_expiration_enabled", Coalesce("last_login", "created_at")
    ),
)
PEERS_OF: Final = PEERS.where(lambda ids: Q(pk__in=ids))
PEERS_IN: Final = PEERS.where(
    lambda groups, ids: (
        Q(pk__in=_members(group__in=groups).values("peer")) | Q(pk__in=ids)
    )
)

MEMBERS: Final = Prepared(_members)
MEMBERS_OF: Final = Prepared(lambda groups: _members(group__in=groups))
GROUPS_OF: Final = Prepared(lambda peers: _members(peer__in=peers))
GROUPS: Final = Prepared(lambda: Group.objects.order_by("pk").values_list("pk", "name"))
EVERYBODY: Final = Prepared(
    # Groups of an identity provider may have that name, too.
    lambda: Group.objects.filter(name=ALL, issued=Issued.API).values_list("pk")
)
UNMANAGED: Final = Prepared(
    lambda: dns.DisabledManagementGroup.objects.order_by().values_list("group_id")
)
USERS: Final = Table(
    mesh.User,
    accounts.User,
    active=made(
        lambda *out: not any(out), "is_blocked", "pending_approval", "is_service_user"
    ),
    blocked="is_blocked",
    groups=listed(access.UserAutoGroup),
    subject=made(lambda subject: (subject or "").partition("|")[2], "subject"),
)
BLOCKED: Final = USERS.where(lambda: Q(is_blocked=True))
CHECKS: Final = Table(
    mesh.PostureCheck, access.PostureCheck, checks=made(orjson.loads, text("checks"))
)


def _side(link: type[OrderedLink], resource: str) -> Made:
    """A side of a rule; clients may call the type of a peer what they like."""
    is_peer = Exists(inventory.Peer.objects.filter(pk=OuterRef(resource)))
    return made(_made_side, *listed(link).columns, is_peer, resource)


def _made_side(groups: str, is_peer: object, id_: str) -> mesh.RuleSide:
    if not id_:
        return mesh.RuleSide(frozenset(loaded(groups)))
    return mesh.RuleSide(peer=id_) if is_peer else mesh.RuleSide(resource=id_)


def _logins(listed: Iterable[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Groups, each with the names below it."""
    # Joined below by line feeds, so that one column has group and logins.
    entries = (each.splitlines() for each in listed)
    return tuple(sorted((group, tuple(names)) for group, *names in entries))


RULES: Final = Table(
    mesh.Rule,
    access.PolicyRule,
    by="policy_id",
    order=("policy_id", "position", "id"),
    sources=_side(access.RuleSource, "source_resource_id"),
    destinations=_side(access.RuleDestination, "destination_resource_id"),
    accept=made(lambda action: action == access.Action.ACCEPT, "action"),
    # Texts, as the API has them.
    ports=made(lambda ports: tuple(map(int, loaded(ports))), text("ports")),
    ranges=made(
        lambda ranges: tuple((each["start"], each["end"]) for each in loaded(ranges)),
        text("port_ranges"),
    ),
    authorized=listed(
        access.RuleAuthorizedGroup,
        Concat("group_id", Value("\n"), "local_users", output_field=TextField()),
        kind=_logins,
    ),
)


def _rules_of(peers: Sequence[str], groups: Sequence[str]) -> Q:
    """Rules with one of the peers, or of the groups, on a side."""
    return (
        Q(pk__in=_owners(access.RuleSource, groups))
        | Q(pk__in=_owners(access.RuleDestination, groups))
        | Q(source_resource_id__in=peers)
        | Q(destination_resource_id__in=peers)
    )


RULES_OF: Final = RULES.where(_rules_of)
POLICIES: Final = Table(
    mesh.Policy,
    access.Policy,
    rules=GIVEN,
    checks=listed(
        access.PolicyPostureCheck,
        "posture_check_id",
        kind=lambda ids: tuple(sorted(ids)),
    ),
)


def _names(stored: str) -> list[str]:
    return [canonical(name) for name in loaded(stored)]


def _usable_names(stored: str) -> tuple[str, ...]:
    return tuple(name for name in _names(stored) if not is_too_long(name))


def _unusable_names(stored: str) -> tuple[str, ...]:
    return tuple(name for name in _names(stored) if is_too_long(name))


@lru_cache(maxsize=4096)
def _address(sent: str) -> str:
    """The address of a resource as peers get it: masked, or a name."""
    address = parse_address(sent)
    return canonical(address.text) if address.type == "domain" else address.text


ROUTES: Final = Table(
    mesh.Route,
    access.Route,
    net_id="network_id",
    groups=listed(access.RouteGroup),
    domains=made(_usable_names, text("domains")),
    peer_groups=listed(access.RoutePeerGroup),
    access_groups=listed(access.RouteAccessControlGroup),
)
ROUTERS: Final = Table(
    mesh.Router, access.Router, peer_groups=listed(access.RouterPeerGroup)
)
RESOURCES: Final = Table(
    mesh.Resource,
    inventory.NetworkResource,
    address=made(_address, "address"),
    is_domain=made(lambda kind: kind == "domain", "type"),
    groups=listed(GroupResource, owner="resource_id"),
)


_NAMING: Final = (
    *(access.RuleDestination, access.RuleAuthorizedGroup, access.RouteGroup),
    *(access.RoutePeerGroup, access.RouteAccessControlGroup, access.RouterPeerGroup),
)


def _routed_by(peers: Sequence[str], groups: Sequence[str]) -> Query:
    """Routes and routers that one of the peers, or of the groups, routes."""
    routes, routers = (
        model._default_manager.filter(
            Q(peer__in=peers) | Q(pk__in=_owners(link, groups))
        ).values_list("pk")
        for model, link in (
            (access.Route, access.RoutePeerGroup),
            (access.Router, access.RouterPeerGroup),
        )
    )
    # `all`: whether there is any is asked, and finding duplicates takes sorting.
    return routes.order_by().union(routers.order_by(), all=True)


ROUTED_BY: Final = Prepared(_routed_by)
NAMING: Final = Prepared(
    lambda groups: _owners(access.RuleSource, groups).union(
        *(_owners(link, groups) for link in _NAMING), all=True
    )
)
"""Rules, routes and routers that name one of the groups."""


def _canonical(column: str) -> Made:
    """The canonical form; of what a client sent, where only its digest is stored."""
    stored = f"canonical_{column}"
    # Of names longer than an index takes, the column has a digest.
    digest = Q(**{f"{stored}__startswith": DIGEST_MARK})
    sent = Case(When(digest, then=column), default=Value(""))
    return made(lambda form, text: canonical(text) if text else form, stored, sent)


def with_records(zone: mesh.Zone, records: tuple[mesh.Record, ...]) -> mesh.Zone:
    """The zone with these, those too long for DNS apart."""
    too_long = [
        record
        for record in records
        if len(record.name) > MAX_OCTETS or len(record.content) > MAX_OCTETS
    ]
    if not too_long:
        return replace(zone, records=records)
    usable = tuple(record for record in records if record not in too_long)
    return replace(zone, records=usable, unusable=tuple(too_long))


def _usable_records() -> Exists:
    """Whether a zone has records that DNS can carry."""
    columns = ("canonical_name", "canonical_content")
    return Exists(
        dns.Record.objects.filter(
            *(LessThanOrEqual(Length(column), MAX_OCTETS) for column in columns),
            *(~Q(**{f"{column}__startswith": DIGEST_MARK}) for column in columns),
            zone=OuterRef("pk"),
        )
    )


RECORDS: Final = Table(
    mesh.Record,
    dns.Record,
    by="zone_id",
    name=_canonical("name"),
    content=_canonical("content"),
)
RECORDS_OF: Final = RECORDS.where(lambda zones: Q(zone__in=zones))
ZONES: Final = Table(
    mesh.Zone,
    dns.Zone,
    domain=_canonical("domain"),
    groups=listed(dns.ZoneGroup),
    records=GIVEN,
    search="enable_search_domain",
    unusable=GIVEN,
    has_records=_usable_records(),
)
NAMESERVER_GROUPS: Final = Table(
    mesh.NameserverGroup,
    dns.NameserverGroup,
    nameservers=made(
        lambda found: tuple(mesh.Nameserver(**each) for each in loaded(found)),
        text("nameservers"),
    ),
    groups=listed(dns.NameserverGroupGroup),
    domains=made(_usable_names, text("domains")),
    search="search_domains_enabled",
    unusable=made(_unusable_names, text("domains")),
)


def _prefix_length(network: str) -> int | None:
    return ip_network(network).prefixlen if network else None


def _jwt(_account: str) -> mesh.JwtConfig | None:
    issuer = settings.SVC.oidc_issuer
    audiences = tuple(filter(None, audience()))
    if not is_configured() or not audiences:
        return None
    return mesh.JwtConfig(issuer, audiences, keys_location())


SETTINGS: Final = Table(
    mesh.Settings,
    accounts.Account,
    dns_domain=made(
        lambda *domains: canonical(peers_domain(*domains)),
        "dns_domain",
        "default_dns_domain",
    ),
    prefix_length=made(_prefix_length, "network_range"),
    prefix_length_v6=made(_prefix_length, "network_range_v6"),
    login_period=made(
        lambda seconds, expires: seconds if expires else None,
        "peer_login_expiration",
        "peer_login_expiration_enabled",
    ),
    routing_peer_dns="routing_peer_dns_resolution_enabled",
    lazy_connections="lazy_connection_enabled",
    metrics_push="metrics_push_enabled",
    # It needs no column, but what is made is made of at least one.
    jwt=made(_jwt, "id"),
)
