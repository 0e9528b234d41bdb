"""Writes of setup keys, auto-groups and invites, and their use."""

import datetime as dt
import uuid
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final

from events.activities import Activity
from groups.models import ALL, Group, Issued
from groups.selectors import all_group_id, known_groups
from groups.services import change_groups_of_peers, group_create
from meshmgmt.access.models import (
    Invite,
    InviteAutoGroup,
    SetupKey,
    SetupKeyAutoGroup,
    UserAutoGroup,
)
from meshmgmt.access.rules import enrolment as rules
from meshmgmt.access.selectors.enrolment import is_valid, open_invite
from meshmgmt.accounts.audit import record_about
from meshmgmt.accounts.authority import check_may_grant
from meshmgmt.accounts.models import Account, User
from meshmgmt.accounts.rules import EMAIL_TAKEN, fold_email
from meshmgmt.accounts.services.users import (
    HashedPassword,
    new_password_errors,
    user_create,
)
from meshmgmt.accounts.tokens import INVITE_PREFIX, new_token, token_hash
from meshmgmt.api.middleware import set_actor
from meshmgmt.core import clock, context
from meshmgmt.core.durations import GRACE
from meshmgmt.core.errors import (
    Conflict,
    FieldError,
    NotFound,
    PreconditionFailed,
    raise_field_errors,
)
from meshmgmt.core.ids import new_id
from meshmgmt.core.orderedlinks import ids_by_owner, member_keys, set_members
from meshmgmt.core.queries import Prepared, columns_of, found, loaded, stored
from meshmgmt.core.resources import Resource, Values, Write
from meshmgmt.core.transactions import account_write
from meshmgmt.inventory.models import Peer

KEY_SHOWN: Final = 5
INVITE_SHOWN: Final = 8


class SetupKeys(Resource[SetupKey]):
    """Setup keys; of a stored one only `revoked` and `auto_groups` are looked at.

    A new one ends in `expires_in` seconds, 0: never.
    """

    model = SetupKey
    kind = "setup key"

    def errors(self, write: Write[SetupKey]) -> Iterator[FieldError]:
        values = write.values
        if write.is_new:
            yield from rules.setup_key_errors(values)
        else:
            before = write.before["revoked"]
            yield from rules.revocation_errors(before=before, after=values["revoked"])
        yield from errors_of_auto_groups(values["auto_groups"])

    def fill(self, instance: SetupKey, values: Values) -> None:
        super().fill(instance, values)
        instance.updated_at = now = clock.now()
        # Only a new one has none: what follows is given once.
        if instance.key_hash:
            return
        lifetime = dt.timedelta(seconds=values["expires_in"])
        instance.expires_at = now + lifetime if lifetime else None
        if instance.type == rules.ONE_OFF:
            instance.usage_limit = rules.ONE_USE
        # In capitals, as in the reference: `usable_setup_key` looks for them so.
        instance.plain = plain = str(uuid.uuid4()).upper()
        instance.key_hash = token_hash(plain)
        instance.key_prefix = plain[:KEY_SHOWN]


setup_keys: Final = SetupKeys()


def setup_key_rotate(*, key_id: str, at_once: bool) -> SetupKey:
    """Make a key like another, which is revoked at once or ends within `GRACE`.

    Raises NotFound, InvalidArgument.
    """
    with account_write():
        old = setup_keys.get(key_id)
        life = 0
        if old.expires_at is not None:
            # A new key with 0 seconds would never end.
            life = max(1, round((old.expires_at - old.created_at).total_seconds()))
        fresh = {"expires_in": life, "revoked": False}
        made = setup_keys.create({**setup_keys.stored(old), **fresh})
        end = clock.now() + GRACE
        if at_once:
            setup_keys.update(key_id, {"revoked": True})
        # A key that ends sooner keeps its end: a rotation lengthens no life.
        elif old.expires_at is None or old.expires_at > end:
            setup_keys.update(key_id, {"expires_at": end})
        return made


_BY_HASH: Final = Prepared(
    lambda digest: (
        SetupKey.objects.filter(key_hash=digest)
        .order_by()
        .values_list(*columns_of(SetupKey))
    )
)


def usable_setup_key(plain: str) -> SetupKey:
    """Return the key that a peer shows, in any letter case; takes no lock.

    Raises NotFound, and PreconditionFailed for a key that is not valid.
    """
    rows = _BY_HASH.rows(token_hash(plain.upper()))
    return _usable(next((loaded(SetupKey, row) for row in rows), None))


def setup_key_use(*, key_id: str) -> tuple[SetupKey, list[str]]:
    """Count one use of a key, and return it with the groups that the peer joins.

    Raises NotFound, and PreconditionFailed for a key that is not valid any more.
    """
    with account_write(savepoint=False):
        # Looked at again: machines race for a last use, and only one holds the lock.
        key = _usable(next(stored(SetupKey, [key_id]), None))
        SetupKey.objects.filter(pk=key_id).unaudited_update(
            used_times=key.used_times + 1, last_used=clock.now()
        )
        return key, ids_by_owner(SetupKeyAutoGroup, [key_id]).get(key_id, [])


def _usable(key: SetupKey | None) -> SetupKey:
    if key is None:
        raise NotFound("the setup key was not found")
    state = rules.state_of(key, clock.now())
    if state != rules.VALID:
        raise PreconditionFailed(f"setup key {key.pk} ({key.name!r}) is {state}")
    return key


def forget_auto_groups(user: User, **kwargs: Any) -> None:
    """Empty the list of a user who is about to be deleted."""
    set_members(UserAutoGroup, user, [])


def join_auto_groups(**kwargs: Any) -> None:
    """Let all peers join the auto-groups of their owners; none leaves a group."""
    joining = defaultdict[str, list[str]](list)
    owned = Peer.objects.filter(user__auto_group_links__isnull=False)
    pairs = owned.order_by("pk").values_list("user__auto_group_links__group", "pk")
    for group_id, peer_id in pairs:
        joining[group_id].append(peer_id)
    for group_id, peer_ids in sorted(joining.items()):
        change_groups_of_peers(peer_ids, join=[group_id])


def errors_of_auto_groups(group_ids: Sequence[str]) -> list[FieldError]:
    known, everybody = known_groups(group_ids), all_group_id()
    return [*rules.auto_group_errors(group_ids, known, everybody)]


def set_auto_groups(user: User, group_ids: Sequence[str]) -> None:
    """Make `group_ids` the auto-groups of a user.

    With `groups_propagation_enabled` the peers of the user join the new ones and leave
    the old ones.
    """
    with account_write():
        before = member_keys(UserAutoGroup, user)
        after = list(dict.fromkeys(group_ids))
        set_members(UserAutoGroup, user, after)
        if before != after and _propagates():
            peers = Peer.objects.filter(user=user).order_by("pk")
            change_groups_of_peers(
                list(peers.values_list("pk", flat=True)),
                join=[pk for pk in after if pk not in set(before)],
                leave=[pk for pk in before if pk not in set(after)],
            )


def _propagates() -> bool:
    return Account.objects.filter(groups_propagation_enabled=True).exists()


def set_jwt_groups(user: User, names: Sequence[str]) -> None:
    """Make the groups with these names, and no others of claims, auto-groups of a user.

    Missing groups are made; auto-groups given by people stay.
    """
    with account_write():
        # Everybody is in `All`, whose name no other group may have.
        wanted = [_group(name).pk for name in names if name != ALL]
        before = member_keys(UserAutoGroup, user)
        claimed = Group.objects.filter(pk__in=before, issued=Issued.JWT)
        of_claims = set(claimed.values_list("pk", flat=True))
        kept = [pk for pk in before if pk not in of_claims or pk in wanted]
        set_auto_groups(user, [*kept, *(pk for pk in wanted if pk not in kept)])


def _group(name: str) -> Group:
    """The group that claims call so (seed, Group origins: jwt)."""
    # Their names may repeat: the oldest, so that all sign-ins mean the same one.
    found = Group.objects.filter(name=name, issued=Issued.JWT).order_by("pk").first()
    return found or group_create(name=name, issued=Issued.JWT)


class Invites(Resource[Invite]):
    """Invites that wait to be accepted; a new one is good for `expires_in` seconds."""

    model = Invite
    kind = "invite"
    defaults = {"expires_in": rules.DEFAULT_LIFE}

    def get(self, identifier: str, within: str = "") -> Invite:
        return found(Invite, identifier, kind=self.kind, accepted_by="")

    def errors(self, write: Write[Invite]) -> Iterator[FieldError]:
        values, email = write.values, write.values["email"]
        yield from rules.invite_errors(
            values,
            user_exists=User.objects.with_email(email).exists(),
            invite_exists=_is_invited(email),
        )
        yield from errors_of_auto_groups(values["auto_groups"])

    def fill(self, instance: Invite, values: Values) -> None:
        super().fill(instance, values)
        instance.created_by = context.current().actor.id
        _renew(instance, values["expires_in"])


invites: Final = Invites()


def invite_create(*, by: User | None, **data: Any) -> Invite:
    """Create an invite. Raises Forbidden, InvalidArgument, Conflict."""
    with account_write():
        check_may_grant(by, data["role"])
        return invites.create(data)


def invite_regenerate(
    *, invite_id: str, expires_in: int = rules.DEFAULT_LIFE
) -> Invite:
    """Give an invite another link; the old one ends.

    Raises NotFound, InvalidArgument, Conflict when the e-mail address is taken by now.
    """
    with account_write():
        invite = invites.get(invite_id)
        raise_field_errors(rules.life_errors(expires_in))
        # A link that nobody could accept.
        if User.objects.with_email(invite.email).exists():
            raise Conflict(EMAIL_TAKEN)
        # No update of the resource: its rules would find this address invited already.
        _renew(invite, expires_in)
        invite.save()
        return invite


def invite_accept(*, token: str, password: str, name: str = "") -> User:
    """Make the invited user, with the password they chose, and the name unless empty.

    Raises NotFound, PreconditionFailed for an expired link, InvalidArgument for a weak
    password, Conflict when the e-mail address is taken by now.
    """
    invite = _valid_invite(token)
    # Before there is a user: the password must not be like their name or address, and the
    # events of what follows name them.
    newcomer = User(pk=new_id(), email=invite.email, name=name or invite.name)
    raise_field_errors(new_password_errors("password", password, newcomer))
    hashed = HashedPassword(password)
    with account_write():
        invite = _valid_invite(token)  # others may have used it since
        invite.name = newcomer.name  # as the trail tells it; it is not saved
        set_actor(newcomer)  # nobody else initiates what follows
        user = user_create(
            user_id=newcomer.pk,
            email=invite.email,
            name=invite.name,
            role=invite.role,
            password=hashed,
        )
        set_auto_groups(user, member_keys(InviteAutoGroup, invite))
        record_about(user, Activity.USER_JOIN)
        invite.accepted_by = user.pk
        invite.save(update_fields=["accepted_by"])
        return user


def _valid_invite(token: str) -> Invite:
    invite = open_invite(token)
    if not is_valid(invite):
        raise PreconditionFailed("this invite has expired: ask for another link")
    return invite


def _is_invited(email: str) -> bool:
    waiting = Invite.objects.filter(accepted_by="").values_list("email", flat=True)
    # Folded here: the column holds addresses as they were written.
    return fold_email(email) in {fold_email(other) for other in waiting}


def _renew(invite: Invite, expires_in: int) -> None:
    invite.token = token = new_token(INVITE_PREFIX)
    invite.token_hash, invite.token_prefix = token_hash(token), token[:INVITE_SHOWN]
    invite.expires_at = clock.now() + dt.timedelta(seconds=expires_in)
