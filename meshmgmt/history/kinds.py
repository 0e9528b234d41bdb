"""What can be brought back, who may do it, and how the rules look at it again."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

from django.db import models

from dns.api.views import NameserverGroupViewSet, RecordViewSet, ZoneViewSet
from dns.models import DnsSettings
from dns.selectors import disabled_management_groups
from dns.services.nameservers import dns_settings_update
from dns.services.zones import records, zones
from groups import ipv6
from groups.api import GroupViewSet
from groups.models import Group
from groups.services import group_delete
from meshmgmt.access.api.views import (
    NetworkResourceViewSet,
    NetworkRouterViewSet,
    NetworkViewSet,
    PolicyViewSet,
    PostureCheckViewSet,
    RouteViewSet,
    SetupKeyViewSet,
)
from meshmgmt.access.models import Invite, Policy, PolicyRule, UserAutoGroup
from meshmgmt.access.services.enrolment import setup_keys
from meshmgmt.accesstests.api import AccessTestViewSet
from meshmgmt.accounts.models import Account, User
from meshmgmt.accounts.selectors import stored_account
from meshmgmt.accounts.services.account import account_update
from meshmgmt.accounts.services.users import (
    user_delete,
    user_get,
    user_rename,
    user_update,
)
from meshmgmt.api.views import ResourceViewSet
from meshmgmt.core import clock
from meshmgmt.core.errors import Conflict
from meshmgmt.core.history import shown_moment
from meshmgmt.core.orderedlinks import member_keys
from meshmgmt.core.resources import whole_of
from meshmgmt.inventory.models import Peer
from meshmgmt.inventory.rules import UNIQUE
from meshmgmt.inventory.services.peers import (
    ADDRESSES,
    KnownPeers,
    addresses_check,
    addresses_put_back,
    peer_prepare_again,
    peer_update,
)

Check = Callable[[Any, User], None]
Lists = Mapping[str, list[Any]]
Prepare = Callable[[Any, Lists], None]


def _nothing(*_: Any) -> None:
    """Leave it as it is."""


def _delete(instance: models.Model, by: User) -> None:
    instance.delete()


def _stays(instance: models.Model, by: User) -> None:
    raise Conflict("every account has this; it cannot be deleted")


@dataclass(frozen=True, slots=True)
class Kind:
    """How objects of one model are brought back.

    `preparing` gives what checks and completes rows that are made again, each given its
    lists; `check` has the rules look at an object that was made or changed, `check_gone` at
    what one leaves behind that was deleted. Where columns have rules of their own, `update`
    changes them, in place of the row; where going has, `delete` deletes. Columns that are
    `following` others are changed by these, too: when all is back, `follow` gives those
    that were made what they should have, and `settle` looks at columns that were changed
    back. `complete` fills columns that the trail does not hold: what they follow from is
    `derived_from`. The checks of a part look at its whole, which the column `part_of`
    names. Of objects with one `place` each is checked beside those that came back before
    it. Leaves (`is_leaf`), which only leaves refer to, go before all others, and come after
    all have changed.
    """

    module: str
    check: Check = _nothing
    check_gone: Check = _nothing
    preparing: Callable[[], Prepare] | None = None
    update: Callable[[str, dict[str, Any], User], object] | None = None
    delete: Check = _delete
    following: frozenset[str] = frozenset()
    follow: Callable[[Sequence[str]], None] = _nothing
    settle: Callable[[str, dict[str, Any]], None] = _nothing
    derived_from: frozenset[str] = frozenset()
    part_of: str = "pk"
    complete: Callable[[Any], None] = _nothing
    place: Callable[[Any], object] = attrgetter("pk")
    is_leaf: bool = False


def _sent_back(viewset: type[ResourceViewSet]) -> Check:
    """Replace an object by itself, as a client does that sends back what it read."""

    def check(instance: models.Model, by: User) -> None:
        key = whole_of(type(instance))
        ids = {viewset.whole_url_kwarg: getattr(instance, key.attname)} if key else {}
        view = viewset.apart(by, **ids)
        data = view.checked(view.row(instance.pk), changed=True)
        view.update_object(instance.pk, data)

    return check


def _resource(
    viewset: type[ResourceViewSet], **special: Any
) -> dict[type[models.Model], Kind]:
    """Return the kind of what a view shows, whose rules look at it again."""
    kind = Kind(viewset.module or "", check=_sent_back(viewset), **special)
    return {viewset.resource.model: kind}


# A rule has no address of its own in the API: its policy is looked at, with all of them.
def _check_policy_of(rule: PolicyRule, by: User) -> None:
    for policy in Policy.objects.filter(pk=rule.policy_id):
        KINDS[Policy].check(policy, by)


def _update_user(pk: str, columns: dict[str, Any], by: User) -> None:
    if others := columns.keys() - {"name", "role", "is_blocked"}:
        raise Conflict(f"{', '.join(sorted(others))} cannot be changed back")
    # Not as the API does: who had no name has none again.
    if "name" in columns:
        name, email = columns.pop("name"), user_get(pk).email
        user_rename(user_id=pk, name=name, email=email, by=by)
    user_update(user_id=pk, changes=columns, by=by)


def _check_user(user: User, by: User) -> None:
    groups = member_keys(UserAutoGroup, user)
    user_update(user_id=user.pk, changes={"auto_groups": groups}, by=by)


def _check_dns_settings(settings: DnsSettings, by: User) -> None:
    dns_settings_update(disabled_management_groups=disabled_management_groups())


def _update_peer(pk: str, columns: dict[str, Any], by: User) -> None:
    columns.pop("dns_label", None)  # follows the name
    # Before their ranges and groups, which give others to whom these do not fit.
    if addresses := {n: columns.pop(n) for n in ADDRESSES if n in columns}:
        addresses_put_back(pk, addresses)
    if columns:
        peer_update(peer_id=pk, **columns)


def _settle_addresses(pk: str, columns: dict[str, Any]) -> None:
    if addresses := {n: columns[n] for n in ADDRESSES if n in columns}:
        addresses_check(pk, addresses)


def _preparing_peers() -> Prepare:
    known = KnownPeers(stored_account() or Account(), Peer.objects.only(*UNIQUE))

    def prepare(peer: Peer, lists: Lists) -> None:
        peer_prepare_again(peer, known)
        _sign_in(peer)
        # Nor does it know when a machine was there last: who may not be away for long would
        # go, or be shut out, at once.
        if peer.ephemeral or peer.user_id:
            peer.last_seen = clock.now()

    return prepare


def _sign_in(peer: Peer) -> None:
    # The trail knows when a login ended, not when it began. One that had not ended is new,
    # or the machine would be shut out without anybody having asked for it.
    if peer.user_id and peer.last_login is None and not peer.login_expired:
        peer.last_login = shown_moment()


KINDS: Final[Mapping[type[models.Model], Kind]] = {
    Peer: Kind(
        "peers",
        preparing=_preparing_peers,
        update=_update_peer,
        following=frozenset(ADDRESSES),
        follow=ipv6.follow_groups,
        settle=_settle_addresses,
        complete=_sign_in,
    ),
    Group: Kind(
        "groups",
        check=_sent_back(GroupViewSet),
        delete=lambda group, by: group_delete(group_id=group.pk),
    ),
    Account: Kind(
        "settings",
        update=lambda pk, columns, by: account_update(settings=columns),
        delete=_stays,
    ),
    User: Kind(
        "users",
        check=_check_user,
        update=_update_user,
        delete=lambda user, by: user_delete(user_id=user.pk, by=by),
    ),
    **_resource(PostureCheckViewSet),
    **_resource(PolicyViewSet),
    PolicyRule: Kind(
        "policies",
        check=_check_policy_of,
        check_gone=_check_policy_of,
        part_of="policy_id",
    ),
    **_resource(RouteViewSet),
    **_resource(NetworkViewSet),
    **_resource(NetworkResourceViewSet),
    **_resource(NetworkRouterViewSet),
    Invite: Kind("users"),
    **_resource(
        SetupKeyViewSet, update=lambda pk, columns, by: setup_keys.update(pk, columns)
    ),
    **_resource(NameserverGroupViewSet),
    **_resource(
        ZoneViewSet,
        preparing=lambda: zones.prepare,
        derived_from=frozenset(["domain"]),
        complete=zones.complete,
        is_leaf=True,
    ),
    **_resource(
        RecordViewSet,
        preparing=lambda: records.prepare,
        derived_from=frozenset(["name", "type", "content"]),
        complete=records.complete,
        place=attrgetter("zone_id", "canonical_name"),
        is_leaf=True,
    ),
    DnsSettings: Kind("dns", check=_check_dns_settings, delete=_stays),
    **_resource(AccessTestViewSet),
}
"""What stands before another is made and changed before it, and deleted after it."""
