"""How the copy of each kind of object is made: through the services of its room.

What an answer of the API shows is what a request of it takes, so a row whose ids are ours
goes the way of a request body: the strict serializer, then the service.
"""

import datetime as dt
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from django.db.models import QuerySet

from dns.api.views import NameserverGroupViewSet, RecordViewSet, ZoneViewSet
from dns.services.nameservers import dns_settings_update
from groups.models import Group, GroupPeer, GroupResource, Issued
from groups.selectors import all_group_id
from groups.services import change_groups_of_peers, group_create, group_update
from meshmgmt.access.api.views import (
    NetworkResourceViewSet,
    NetworkRouterViewSet,
    NetworkViewSet,
    PolicyViewSet,
    PostureCheckViewSet,
    RouteViewSet,
    SetupKeyViewSet,
)
from meshmgmt.access.rules.enrolment import VALID
from meshmgmt.access.rules.posture import CHECKS
from meshmgmt.access.services.enrolment import setup_keys
from meshmgmt.accesstests.api import AccessTestViewSet
from meshmgmt.accounts.models import User
from meshmgmt.accounts.selectors import the_account
from meshmgmt.accounts.services.account import WRITABLE, account_update
from meshmgmt.accounts.services.users import user_create, user_rename, user_update
from meshmgmt.api.views import ResourceViewSet
from meshmgmt.core import clock
from meshmgmt.core.orderedlinks import member_keys
from meshmgmt.core.queries import found
from meshmgmt.inventory.labels import is_label
from meshmgmt.inventory.models import Peer
from meshmgmt.inventory.services.peers import peer_insert, peer_update
from meshmgmt.movingin.rows import (
    NotCopiedError,
    Row,
    UnknownReferenceError,
    default_domain,
    first_label,
    peer_columns,
    translated,
)

GROUP_SETTINGS: Final = (
    # Before any other: a write of settings takes the IPv6 addresses of all others away.
    "ipv6_enabled_groups",
    "peer_expose_groups",
    "network_traffic_logs_groups",
)


@dataclass(slots=True)
class Run:
    """The state of a running copy; `ids` maps kind and old id to ours."""

    owner: User
    keys: Mapping[str, str]
    ids: dict[tuple[str, str], str] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)
    """Setup keys by our id, to be shown once."""


Create = Callable[[Row, Run], str]
"""Makes the copy of a row and returns its id. Raises ServiceError, ValidationError,
NotCopiedError."""


VIEWS: Final = {
    view.kind: view
    for view in (
        *(PostureCheckViewSet, NetworkViewSet, NetworkResourceViewSet),
        *(NetworkRouterViewSet, PolicyViewSet, RouteViewSet, NameserverGroupViewSet),
        *(ZoneViewSet, RecordViewSet, SetupKeyViewSet, AccessTestViewSet),
    )
}
"""What shows and makes the objects of a kind that has a `Resource`."""


def _by_body(view_class: type[ResourceViewSet]) -> Create:
    """Return what creates from a body, in our copy of the whole that it is part of."""

    def create(row: Row, run: Run) -> str:
        within = {}
        if whole := view_class.resource.whole:
            if (whole.kind, row["part_of"]) not in run.ids:
                raise NotCopiedError(f"its {whole.kind} is not copied")
            within[view_class.whole_url_kwarg] = run.ids[whole.kind, row["part_of"]]
        view = view_class.apart(**within)
        return view.create_object(view.checked(translated(row, run.ids)))

    return create


def _user(row: Row, run: Run) -> str:
    """Find the person by e-mail address, else make one who has no password here.

    Who was made by a command here has no name yet, and takes it over.
    """
    user: User | None = None
    if row["is_service_user"]:
        terms = {"name": row["name"], "role": row["role"], "issued": _issued(row)}
        user = user_create(**terms, is_service_user=True)
    else:
        user = User.objects.people().with_email(row["email"]).first()
    if user is None:
        user = user_create(
            email=row["email"],
            name=row["name"],
            role=row["role"],
            issued=_issued(row),
            pending=bool(row.get("pending_approval")),
        )
    elif row["name"] and not user.name:
        user_rename(user_id=user.pk, name=row["name"], email=user.email)
    # At once: what becomes of auto-groups must leave nobody in who was kept out. The
    # owner here cannot be; that is told with the rights.
    if row.get("is_blocked") and user.pk != run.owner.pk:
        user_update(user_id=user.pk, changes={"is_blocked": True}, by=run.owner)
    return user.pk


def _issued(row: Row) -> str:
    said = row.get("issued")
    return str(said) if said in User.Issued.values else User.Issued.API


def _rights(row: Row, run: Run) -> str:
    """Give a copied user their auto-groups. Refuses to block the owner here."""
    if ("user", row["id"]) not in run.ids:
        raise NotCopiedError("the user is not copied")
    user_id = run.ids["user", row["id"]]
    groups = translated(row, run.ids).get("auto_groups") or []
    changes: dict[str, Any] = {"auto_groups": groups}
    if row.get("is_blocked"):
        changes["is_blocked"] = True
    user_update(user_id=user_id, changes=changes, by=run.owner)
    return user_id


def _peer(row: Row, run: Run) -> str:
    """Make the peer with its address and its label, which others know it by."""
    columns = peer_columns(row, run.keys)
    if not columns["wg_public_key"]:
        raise NotCopiedError("nobody says its public key: use --peer-keys")
    # Whose owner is not copied would be nobody's, whom no block and no expiry keeps out.
    owner = row.get("user_id") or None
    if owner is not None and ("user", owner) not in run.ids:
        raise UnknownReferenceError("user", owner)
    columns["user_id"] = owner and run.ids["user", owner]
    peer = peer_insert(columns, the_account())
    label = first_label(row["dns_label"])
    # Where it is taken, the peer goes by the label that it was given here.
    free = not Peer.objects.filter(dns_label=label).exists()
    if label != peer.dns_label and is_label(label) and free:
        peer_update(peer_id=peer.pk, dns_label=label)
    # Groups that an earlier run copied without this peer.
    named = [("group", entry["id"]) for entry in row.get("groups") or ()]
    join = [run.ids[group] for group in named if group in run.ids]
    change_groups_of_peers([peer.pk], join=join)
    return peer.pk


def _group(row: Row, run: Run) -> str:
    """Make the group with the peers that are copied.

    Peers as resources follow in a step of their own, resources of networks with theirs.
    """
    issued = row.get("issued") or Issued.API
    # Groups that come from tokens or integrations may have the name, too.
    if row["name"] == "All" and issued == Issued.API:
        return all_group_id()
    # Who is not copied yet joins when a later run copies it: see `_peer`.
    members = [entry["id"] for entry in row.get("peers") or ()]
    peers = [run.ids["peer", old] for old in members if ("peer", old) in run.ids]
    return group_create(name=row["name"], peers=peers, issued=issued).pk


def _peer_resources(row: Row, run: Run) -> str:
    """Put into a copied group the peers that it lists as resources."""
    if ("group", row["id"]) not in run.ids:
        raise NotCopiedError("the group is not copied")
    group = found(Group, run.ids["group", row["id"]], kind="group")
    ours = [translated({"peer": entry}, run.ids) for entry in _listed_peers(row)]
    group_update(
        group_id=group.pk,
        name=group.name,
        peers=member_keys(GroupPeer, group),
        resources=[
            *member_keys(GroupResource, group),
            *((entry["peer"], "peer") for entry in ours),
        ],
    )
    return group.pk


def _listed_peers(group: Row) -> list[Row]:
    return [row for row in group.get("resources") or () if row["type"] == "peer"]


def _policy(row: Row, run: Run) -> str:
    """Make the policy; a side that answers leave out is empty, and lets nobody in."""
    sides = ("source", "destination")
    rules = [
        rule
        | {
            f"{side}s": []
            for side in sides
            if not rule.get(f"{side}s") and not _named(rule.get(f"{side}Resource"))
        }
        for rule in row["rules"]
    ]
    return _by_body(PolicyViewSet)({**row, "rules": rules}, run)


def _named(resource: Row | None) -> bool:
    return bool(resource and resource.get("id"))


def _posture_check(row: Row, run: Run) -> str:
    """Make the check; without one of its parts it would let more in."""
    if unknown := sorted(row["checks"].keys() - CHECKS.keys()):
        raise NotCopiedError(f"it has checks that are not known here: {unknown}")
    return _by_body(PostureCheckViewSet)(row, run)


def _route(row: Row, run: Run) -> str:
    """Make the route; that of domains has no network, whatever stands in its place."""
    body = {**row, "network": ""} if row.get("domains") else row
    return _by_body(RouteViewSet)(body, run)


def _setup_key(row: Row, run: Run) -> str:
    """Make a key of the same terms: its secret is new, for the old one is not told."""
    if row["state"] != VALID:
        raise NotCopiedError(f"it is {row['state']}")
    expires = dt.datetime.fromisoformat(row["expires"])
    ends = expires.year > 1
    left = math.ceil((expires - clock.now()).total_seconds()) if ends else 0
    # It was valid when it was read; to a new key no time that is left means no end.
    if ends and left <= 0:
        raise NotCopiedError("it is expired")
    uses = row["usage_limit"] - row["used_times"] if row["usage_limit"] else 0
    terms = {"expires_in": left, "usage_limit": uses}
    body = translated(row, run.ids) | terms
    made = setup_keys.create(SetupKeyViewSet().checked(body))
    run.secrets[made.pk] = made.plain
    return made.pk


def _setting(row: Row, run: Run) -> str:
    name = str(row["id"])
    value = translated(row, run.ids)[name]
    # The reference answers null for some lists of groups that are empty.
    account_update(settings={name: [] if value is None else value})
    return name


def _dns_settings(row: Row, run: Run) -> str:
    groups = translated(row, run.ids).get("disabled_management_groups") or []
    dns_settings_update(disabled_management_groups=groups)
    return "dns"


STEPS: Final[Mapping[str, Create]] = {
    "setting": _setting,
    "user": _user,
    "peer": _peer,
    "group": _group,
    "setting of groups": _setting,
    "group's resources": _peer_resources,
    "user's rights": _rights,
    "posture check": _posture_check,
    "network": _by_body(NetworkViewSet),
    "network resource": _by_body(NetworkResourceViewSet),
    "network router": _by_body(NetworkRouterViewSet),
    "policy": _policy,
    "route": _route,
    "nameserver group": _by_body(NameserverGroupViewSet),
    "DNS settings": _dns_settings,
    "zone": _by_body(ZoneViewSet),
    "record": _by_body(RecordViewSet),
    "setup key": _setup_key,
    "access test": _by_body(AccessTestViewSet),
}
"""Every kind, in an order in which what an object names is there before it."""


def with_steps(rows: Mapping[str, list[Row]]) -> dict[str, list[Row]]:
    """Return the rows of every step."""
    # What the service says of itself stands among them, and some that only it has.
    settings = [row for row in rows["setting"] if row["id"] in WRITABLE]
    settings += _default_domain(rows)
    late = [row for row in settings if row["id"] in GROUP_SETTINGS]
    late.sort(key=lambda row: GROUP_SETTINGS.index(row["id"]))
    shared = {
        "setting": [row for row in settings if row not in late],
        "setting of groups": late,
        "group's resources": [r for r in rows.get("group", []) if _listed_peers(r)],
        "user's rights": rows["user"],
    }
    return {kind: shared.get(kind, rows.get(kind, [])) for kind in STEPS}


def _default_domain(rows: Mapping[str, list[Row]]) -> list[Row]:
    """Return as a setting what the other service takes for an empty DNS domain."""
    is_empty = any(row.get("dns_domain") == "" for row in rows["setting"])
    # Its settings do not tell the default: the full names of peers do.
    domain = default_domain(rows["peer"]) if is_empty else ""
    name = "default_dns_domain"
    return [{"id": name, name: domain}] if domain else []


def configuration() -> dict[str, QuerySet[Any]]:
    """Return what an account holds beside its users and settings, by kind."""
    return {
        "peer": Peer.objects.all(),
        "group": Group.objects.exclude(pk=all_group_id()),
        **{
            kind: view.resource.model._default_manager.all()
            for kind, view in VIEWS.items()
            if view.resource.whole is None
        },
    }
