"""Rules of setup keys (reference API 13.4): pure."""

import datetime as dt
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from meshmgmt.core.fielderrors import FieldError
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


@dataclass(frozen=True, slots=True)
class SetupKeyDraft:
    """A new setup key as the client sent it; `expires_in` seconds, 0: never."""

    name: str
    type: str
    expires_in: int
    auto_groups: Sequence[str] = ()
    usage_limit: int = 0
    ephemeral: bool = False
    allow_extra_dns_labels: bool = False


def setup_key_errors(
    draft: SetupKeyDraft, *, known_groups: Collection[str], all_group: str
) -> list[FieldError]:
    """Return every broken rule; `all_group` is the id of the group of all peers."""
    return [
        *name_errors("name", draft.name, what="setup key name"),
        *_type_errors(draft),
        *range_errors(
            "expires_in", draft.expires_in, 0, MAX_SECONDS, what="time until expiry"
        ),
        *range_errors(
            "usage_limit", draft.usage_limit, 0, MAX_USES, what="usage limit"
        ),
        *auto_group_errors(
            draft.auto_groups, known_groups=known_groups, all_group=all_group
        ),
    ]


def auto_group_errors(
    groups: Sequence[str], *, known_groups: Collection[str], all_group: str
) -> Iterator[FieldError]:
    """Check a list of groups that enrolled peers join."""
    for index, group_id in enumerate(groups):
        if group_id == all_group:
            text = "everybody is in the group All without joining it"
            yield FieldError(f"auto_groups[{index}]", text)
    yield from unknown_id_errors("auto_groups", groups, known_groups, kind="group")


def revocation_errors(*, before: bool, after: bool) -> Iterator[FieldError]:
    """Refuse to bring a revoked key back."""
    if before and not after:
        yield FieldError("revoked", "a revoked setup key stays revoked")


def usage_limit_of(draft: SetupKeyDraft) -> int:
    """Return the limit to store: one use for a one-off key."""
    return ONE_USE if draft.type == ONE_OFF else draft.usage_limit


def state_of(
    *,
    expires_at: dt.datetime | None,
    revoked: bool,
    used_times: int,
    usage_limit: int,
    now: dt.datetime,
) -> str:
    """Return what the API calls the state of a key; the first that holds."""
    if expires_at is not None and expires_at <= now:
        return EXPIRED
    if revoked:
        return REVOKED
    if usage_limit and used_times >= usage_limit:
        return OVERUSED
    return VALID


def _type_errors(draft: SetupKeyDraft) -> Iterator[FieldError]:
    if draft.type not in TYPES:
        known = " or ".join(TYPES)
        text = f"{draft.type[:40]!r} is no type of setup key: use {known}"
        yield FieldError("type", text)
    elif draft.type == ONE_OFF and draft.usage_limit > ONE_USE:
        text = "a one-off key is good once; use type reusable for a usage limit above 1"
        yield FieldError("usage_limit", text)
