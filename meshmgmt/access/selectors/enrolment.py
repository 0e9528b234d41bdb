"""What the API shows of setup keys and invites."""

from collections.abc import Sequence

from meshmgmt.access.models import Invite, InviteAutoGroup, SetupKey, SetupKeyAutoGroup
from meshmgmt.access.rules.enrolment import VALID, state_of
from meshmgmt.accounts.models import User
from meshmgmt.accounts.selectors import NEVER
from meshmgmt.accounts.tokens import INVITE_PREFIX, is_well_formed, token_hash
from meshmgmt.core import clock
from meshmgmt.core.errors import NotFound
from meshmgmt.core.orderedlinks import ids_by_owner
from meshmgmt.core.queries import narrowed
from meshmgmt.core.resources import Row, column_values, columns


def setup_key_rows(ids: Sequence[str] | None = None) -> list[Row]:
    """Return setup keys, the keys themselves masked, in the order of creation."""
    found = list(narrowed(SetupKey.objects.order_by("id"), ids))
    groups = ids_by_owner(SetupKeyAutoGroup, ids) if found else {}
    return [_row(key, groups.get(key.pk, [])) for key in found]


def _row(key: SetupKey, groups: list[str]) -> Row:
    state = state_of(key, clock.now())
    columns = column_values(key)
    del columns["expires_at"]  # told as `expires`, in the words of the reference
    return {
        "id": key.pk,
        **columns,
        "used_times": key.used_times,
        "key": key.masked,
        "expires": clock.rfc3339(key.expires_at) or NEVER,
        "last_used": clock.rfc3339(key.last_used) or NEVER,
        "updated_at": clock.rfc3339(key.updated_at),
        "valid": state == VALID,
        "state": state,
        "auto_groups": groups,
    }


def invite_rows(ids: Sequence[str] | None = None) -> list[Row]:
    """Return the invites that wait to be accepted, in the order of creation."""
    invites = narrowed(Invite.objects.filter(accepted_by="").order_by("id"), ids)
    found: list[Row] = list(invites.values("id", "created_at", *columns(Invite)))
    groups = ids_by_owner(InviteAutoGroup, ids) if found else {}
    now = clock.now()
    for row in found:
        row["expired"] = row["expires_at"] <= now
        row["auto_groups"] = groups.get(row["id"], [])
    return found


def open_invite(token: str) -> Invite:
    """Return the invite of a link that nobody has used. Raises NotFound."""
    # The checksum refuses what is mistyped or made up without a query.
    if is_well_formed(token, INVITE_PREFIX):
        invites = Invite.objects.filter(token_hash=token_hash(token), accepted_by="")
        if (invite := invites.first()) is not None:
            return invite
    raise NotFound("this invite was not found")


def is_valid(invite: Invite) -> bool:
    return invite.expires_at > clock.now()


def invite_facts(invite: Invite) -> Row:
    """Return what somebody who has the link may know."""
    # Kept by value: who invited may be gone.
    inviter = User.objects.filter(pk=invite.created_by).first()
    return {
        "email": invite.email,
        "name": invite.name,
        "expires_at": invite.expires_at,
        # A user with this address would be in the way of whoever accepts it.
        "valid": is_valid(invite)
        and not User.objects.with_email(invite.email).exists(),
        "invited_by": "" if inviter is None else inviter.name or inviter.email,
    }
