"""Writes of invites, and their use."""

import datetime as dt
from typing import Any, Final

from events.activities import Activity
from events.audit.emission import audit_record
from meshmgmt.access.models import Invite, InviteAutoGroup
from meshmgmt.access.rules.invites import DEFAULT_LIFE, invite_errors, life_errors
from meshmgmt.access.selectors.invites import is_valid, open_invite
from meshmgmt.access.services.autogroups import errors_of_auto_groups, set_auto_groups
from meshmgmt.accounts.audit import user_facts
from meshmgmt.accounts.authority import check_may_grant
from meshmgmt.accounts.models import User
from meshmgmt.accounts.rules import fold_email
from meshmgmt.accounts.services.userchanges import new_password_errors
from meshmgmt.accounts.services.users import HashedPassword, user_create
from meshmgmt.accounts.tokens import INVITE_PREFIX, new_token, token_hash
from meshmgmt.api.middleware import set_actor
from meshmgmt.core import clock, context
from meshmgmt.core.errors import FieldError, PreconditionFailed, raise_field_errors
from meshmgmt.core.ids import new_id
from meshmgmt.core.orderedlinks import member_keys
from meshmgmt.core.queries import found
from meshmgmt.core.resources import Resource, Values, Write
from meshmgmt.core.transactions import account_write

SHOWN_LENGTH: Final = 8


class Invites(Resource[Invite]):
    """Invites that wait to be accepted; a new one is good for `expires_in` seconds."""

    model = Invite
    kind = "invite"
    defaults = {"expires_in": DEFAULT_LIFE}

    def get(self, identifier: str, within: str = "") -> Invite:
        return found(Invite, identifier, kind=self.kind, accepted_by="")

    def errors(self, write: Write[Invite]) -> list[FieldError]:
        values, email = write.values, write.values["email"]
        return [
            *invite_errors(
                values,
                user_exists=User.objects.with_email(email).exists(),
                invite_exists=_is_invited(email),
            ),
            *errors_of_auto_groups(values["auto_groups"]),
        ]

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


def invite_regenerate(*, invite_id: str, expires_in: int = DEFAULT_LIFE) -> Invite:
    """Give an invite another link; the old one ends. Raises NotFound, InvalidArgument."""
    with account_write():
        invite = invites.get(invite_id)
        raise_field_errors(life_errors(expires_in))
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
        audit_record(
            Activity.USER_JOIN,
            target_id=user.pk,
            target_type="user",
            meta=user_facts(user),
        )
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
    invite.token_hash, invite.token_prefix = token_hash(token), token[:SHOWN_LENGTH]
    invite.expires_at = clock.now() + dt.timedelta(seconds=expires_in)
