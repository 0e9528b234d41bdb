"""Rules of setup keys and invites (reference API 13.4 and 13.8): pure."""

import datetime as dt
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from meshmgmt.accounts.rules import EMAIL_TAKEN, email_errors, role_errors
from meshmgmt.core.errors import FieldError
from meshmgmt.core.roles import Role
from meshmgmt.core.textrules import name_errors, range_errors, unknown_id_errors

REUSABLE: Final = "reusable"
ONE_OFF: Final = "one-off"
TYPES: Final = (REUSABLE, ONE_OFF)
MAX_SECONDS: Final = 100 * 365 * 24 * 60 * 60
MAX_USES: Final = 2**31 - 1
ONE_USE: Final = 1

VALID: Final = "valid"
EXPIRED: Final = "expired"
REVOKED: Final = "revoked"
OVERUSED: Final = "overused"


def setup_key_errors(key: Mapping[str, Any]) -> Iterator[FieldError]:
    """Yield every broken rule of a new key, which ends in `expires_in` seconds, 0: never.

    Those on the auto-groups are apart.
    """
    life, uses = key["expires_in"], key["usage_limit"]
    yield from name_errors("name", key["name"], what="setup key name")
    yield from _type_errors(key["type"], uses)
    yield from range_errors(
        "expires_in", life, 0, MAX_SECONDS, what="time until expiry"
    )
    yield from range_errors("usage_limit", uses, 0, MAX_USES, what="usage limit")


def auto_group_errors(
    groups: Sequence[str], known_groups: Collection[str], all_group: str
) -> Iterator[FieldError]:
    """Check a list of groups that enrolled peers join; `all_group` is the id of `All`."""
    for index, group_id in enumerate(groups):
        if group_id == all_group:
            text = "everybody is in the group All without joining it"
            yield FieldError(f"auto_groups[{index}]", text)
    yield from unknown_id_errors("auto_groups", groups, known_groups, kind="group")


def revocation_errors(*, before: bool, after: bool) -> Iterator[FieldError]:
    """Refuse to bring a revoked key back."""
    if before and not after:
        yield FieldError("revoked", "a revoked setup key stays revoked")


class Terms(Protocol):
    """Until when and how often a key is good, and how often it was used."""

    expires_at: dt.datetime | None
    revoked: bool
    used_times: int
    usage_limit: int


def state_of(key: Terms, now: dt.datetime) -> str:
    """Return what the API calls the state of a key; the first that holds."""
    # The order is that of the reference: a revoked key that has ended is expired.
    if key.expires_at is not None and key.expires_at <= now:
        return EXPIRED
    if key.revoked:
        return REVOKED
    if key.usage_limit and key.used_times >= key.usage_limit:
        return OVERUSED
    return VALID


def _type_errors(kind: str, usage_limit: int) -> Iterator[FieldError]:
    if kind not in TYPES:
        known = " or ".join(TYPES)
        text = f"{kind[:40]!r} is no type of setup key: use {known}"
        yield FieldError("type", text)
    # 0 is what a limit is that was left out: a one-off key is made with 1 anyway.
    elif kind == ONE_OFF and usage_limit > ONE_USE:
        text = "a one-off key is good once; use type reusable for a usage limit above 1"
        yield FieldError("usage_limit", text)


# The shortest life and the usual one are those of the reference.
HOUR: Final = 3600
DEFAULT_LIFE: Final = 72 * HOUR
MAX_LIFE: Final = 365 * 24 * HOUR


def invite_errors(
    invite: Mapping[str, Any], *, user_exists: bool, invite_exists: bool
) -> Iterator[FieldError]:
    """Yield every broken rule of an invite that is good for `expires_in` seconds.

    Those on the auto-groups are apart.
    """
    yield from email_errors(invite["email"])
    yield from name_errors("name", invite["name"])
    yield from role_errors(invite["role"], is_service_user=False)
    yield from life_errors(invite["expires_in"])
    if invite["role"] == Role.OWNER:
        yield FieldError("role", "nobody can be invited as owner")
    if user_exists:
        yield FieldError("email", EMAIL_TAKEN, conflict=True)
    elif invite_exists:
        text = "this e-mail address is invited already: regenerate or delete the invite"
        yield FieldError("email", text, conflict=True)


def life_errors(seconds: int) -> Iterator[FieldError]:
    what = "time until expiry"
    return range_errors("expires_in", seconds, HOUR, MAX_LIFE, what=what)
