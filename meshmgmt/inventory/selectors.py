"""What the API shows of peers; few queries, whatever the size."""

from collections.abc import Sequence
from typing import Final, TypeVar

from django.db.models import Model, Q, QuerySet

from meshmgmt.accounts.models import Account, User
from meshmgmt.accounts.selectors import NEVER, account_domain
from meshmgmt.core import clock
from meshmgmt.core.errors import Conflict, NotFound
from meshmgmt.core.names import quoted
from meshmgmt.core.queries import narrowed
from meshmgmt.core.resources import Row
from meshmgmt.core.roles import Operation, allowed
from meshmgmt.inventory import contributions
from meshmgmt.inventory.contributions import GroupsOfPeer
from meshmgmt.inventory.models import CONNECTION, MACHINE, SWITCHES, Peer, PeerQuerySet
from meshmgmt.inventory.rules import LOCAL_FLAGS

ObjectT = TypeVar("ObjectT", bound=Model)

ACCESSIBLE: Final = (
    *("id", "name", "ip", "ipv6", "dns_label", "user_id", "os", "country_code"),
    *("city_name", "geoname_id", "connected", "last_seen"),
)
"""What is shown of a peer that another one can reach."""

FEW: Final = 500
"""Up to so many peers are asked for by id, more by reading the groups of all peers."""

_SHOWN: Final = (
    *("id", "name", "ip", "ipv6", "dns_label", "extra_dns_labels", "user_id"),
    *("created_at", "disapproval_reason", "local_flags"),
    *(*MACHINE, *CONNECTION, *SWITCHES),
)


def peer_known_as(reference: str) -> Peer:
    """Return the one peer with this id, name, DNS label or address.

    Raises NotFound, Conflict.
    """
    known = ("pk", "name", "dns_label", "ip", "ipv6")
    chosen = Q(*((name, reference) for name in known), _connector=Q.OR)
    return only_one(Peer.objects.filter(chosen), "peer", reference)


def only_one(found: QuerySet[ObjectT], kind: str, reference: str) -> ObjectT:
    """Return what a person names. Raises NotFound, Conflict if it is none or several."""
    first = list(found[:4])
    if not first:
        raise NotFound(f"no {kind} is known as {quoted(reference)}")
    if len(first) > 1:
        ids = ", ".join(str(each.pk) for each in first[:3])
        raise Conflict(
            f"several {kind}s are known as {quoted(reference)}; give an id: {ids}"
        )
    return first[0]


def visible_peers(viewer: User) -> PeerQuerySet:
    """Return the peers a user may see: all, or their own, or none at all.

    Who may not read peers sees their own, unless the account keeps regular users out
    (`regular_users_view_blocked`).
    """
    peers = Peer.objects.order_by("pk")
    if allowed(viewer.role, "peers", Operation.READ):
        return peers
    if Account.objects.filter(regular_users_view_blocked=True).exists():
        return peers.none()
    return peers.filter(user=viewer)


def peer_rows(
    viewer: User, ids: Sequence[str] | None = None, *, name: str = "", ip: str = ""
) -> list[Row]:
    """Return the peers that `viewer` may see, in the order of creation.

    `name` keeps peers whose name contains it in any letter case, `ip` those with it in
    one of their addresses; "" keeps all.
    """
    found = list(narrowed(visible_peers(viewer), ids).values(*_SHOWN))
    # Filtered here, for databases disagree about letter case beyond ASCII.
    wanted = name.casefold()
    if wanted:
        found = [row for row in found if wanted in row["name"].casefold()]
    if ip:
        found = [row for row in found if ip in row["ip"] or ip in (row["ipv6"] or "")]
    if not found:
        return []
    many = len(found) > FEW
    chosen = None if many else [row["id"] for row in found]
    groups = contributions.peer_groups.only(chosen)
    domain = account_domain()
    for row in found:
        _finish(row, groups, domain)
    return found


def peer_row(viewer: User, peer_id: str) -> Row:
    """Return one peer. Raises NotFound for one that `viewer` may not see."""
    rows = peer_rows(viewer, [peer_id])
    if not rows:
        raise NotFound.of("peer", peer_id)
    return rows[0]


def _finish(row: Row, groups: GroupsOfPeer, domain: str) -> None:
    """Turn the columns of one peer into what the API shows."""
    suffix = f".{domain}" if domain else ""
    flags = row["local_flags"]
    row["local_flags"] = {flag: bool(flags.get(flag)) for flag in LOCAL_FLAGS}
    row["dns_label"] += suffix
    row["extra_dns_labels"] = [label + suffix for label in row["extra_dns_labels"]]
    row["user_id"] = row["user_id"] or ""
    row["groups"] = groups(row["id"])
    row["created_at"] = clock.rfc3339(row["created_at"])
    row["last_seen"] = clock.rfc3339(row["last_seen"]) or NEVER
    row["last_login"] = clock.rfc3339(row["last_login"]) or NEVER
    # Absent and not empty where there is none, as in the reference.
    if not row["ipv6"]:
        del row["ipv6"]
    if not row["disapproval_reason"]:
        del row["disapproval_reason"]


def host_names() -> set[str]:
    """Return the name and the labels of every peer."""
    rows = Peer.objects.values_list("name", "dns_label", "extra_dns_labels")
    return {
        word for name, label, extra in rows for word in (name, label, *extra) if word
    }
