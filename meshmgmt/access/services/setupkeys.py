"""Writes of setup keys. Every function runs in one account write."""

import datetime as dt
import hashlib
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from groups.selectors import all_group_id, known_groups
from meshmgmt.access.models import SetupKey, SetupKeyAutoGroup
from meshmgmt.access.rules.setupkeys import (
    VALID,
    SetupKeyDraft,
    auto_group_errors,
    revocation_errors,
    setup_key_errors,
    state_of,
    usage_limit_of,
)
from meshmgmt.core import clock
from meshmgmt.core.durations import GRACE
from meshmgmt.core.errors import NotFound, PreconditionFailed, raise_field_errors
from meshmgmt.core.orderedlinks import ids_by_owner, member_keys, set_members
from meshmgmt.core.queries import Prepared, columns_of, found, loaded, stored
from meshmgmt.core.transactions import account_write

KIND: Final = "setup key"
SHOWN_LENGTH: Final = 5


@dataclass(frozen=True, slots=True)
class NewSetupKey:
    """A key just made; `plain` is shown once and stored nowhere."""

    plain: str
    key: SetupKey


def setup_key_hash(plain: str) -> str:
    """Return what is stored of a key: SHA-256 in hexadecimal digits.

    A fast hash is enough, for a key holds 122 random bits.
    """
    return hashlib.sha256(plain.encode("utf-8")).hexdigest()


def setup_key_create(*, draft: SetupKeyDraft) -> NewSetupKey:
    """Create a setup key. Raises InvalidArgument."""
    with account_write():
        raise_field_errors(
            setup_key_errors(
                draft,
                known_groups=known_groups(draft.auto_groups),
                all_group=all_group_id(),
            )
        )
        plain = str(uuid.uuid4()).upper()
        now = clock.now()
        lifetime = dt.timedelta(seconds=draft.expires_in)
        key = SetupKey(
            name=draft.name,
            type=draft.type,
            key_hash=setup_key_hash(plain),
            key_prefix=plain[:SHOWN_LENGTH],
            created_at=now,
            updated_at=now,
            expires_at=now + lifetime if lifetime else None,
            usage_limit=usage_limit_of(draft),
            ephemeral=draft.ephemeral,
            allow_extra_dns_labels=draft.allow_extra_dns_labels,
        )
        key.save(force_insert=True)
        set_members(SetupKeyAutoGroup, key, draft.auto_groups, new=True)
        return NewSetupKey(plain, key)


def setup_key_update(*, key_id: str, changes: Mapping[str, Any]) -> SetupKey:
    """Change `revoked` and `auto_groups`, what is given of them.

    Raises NotFound, InvalidArgument.
    """
    with account_write():
        key = found(SetupKey, key_id, kind=KIND)
        before = member_keys(SetupKeyAutoGroup, key)
        groups: Sequence[str] = changes.get("auto_groups", before)
        revoked: bool = changes.get("revoked", key.revoked)
        raise_field_errors(
            [
                *revocation_errors(before=key.revoked, after=revoked),
                *auto_group_errors(
                    groups, known_groups=known_groups(groups), all_group=all_group_id()
                ),
            ]
        )
        if (revoked, list(dict.fromkeys(groups))) != (key.revoked, before):
            key.revoked = revoked
            key.updated_at = clock.now()
            key.save(update_fields=["revoked", "updated_at"])
            set_members(SetupKeyAutoGroup, key, groups)
        return key


def setup_key_rotate(*, key_id: str, at_once: bool) -> NewSetupKey:
    """Make a key like another, which is revoked at once or ends within `GRACE`.

    Raises NotFound, InvalidArgument.
    """
    with account_write():
        old = found(SetupKey, key_id, kind=KIND)
        life = 0
        if old.expires_at is not None:
            life = max(1, round((old.expires_at - old.created_at).total_seconds()))
        draft = SetupKeyDraft(
            name=old.name,
            type=old.type,
            expires_in=life,
            auto_groups=member_keys(SetupKeyAutoGroup, old),
            usage_limit=old.usage_limit,
            ephemeral=old.ephemeral,
            allow_extra_dns_labels=old.allow_extra_dns_labels,
        )
        made = setup_key_create(draft=draft)
        end = clock.now() + GRACE
        if at_once and not old.revoked:
            setup_key_update(key_id=key_id, changes={"revoked": True})
        elif not at_once and (old.expires_at is None or old.expires_at > end):
            old.expires_at = end
            old.updated_at = clock.now()
            old.save(update_fields=["expires_at", "updated_at"])
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
    rows = _BY_HASH.rows(setup_key_hash(plain.upper()))
    return _usable(next((loaded(SetupKey, row) for row in rows), None))


def setup_key_use(*, key_id: str) -> tuple[SetupKey, list[str]]:
    """Count one use of a key, and return it with the groups that the peer joins.

    Raises NotFound, and PreconditionFailed for a key that is not valid any more.
    """
    with account_write(savepoint=False):
        key = _usable(next(stored(SetupKey, [key_id]), None))
        SetupKey.objects.filter(pk=key_id).unaudited_update(
            used_times=key.used_times + 1, last_used=clock.now()
        )
        return key, ids_by_owner(SetupKeyAutoGroup, [key_id]).get(key_id, [])


def _usable(key: SetupKey | None) -> SetupKey:
    if key is None:
        raise NotFound("the setup key was not found")
    state = state_of(
        expires_at=key.expires_at,
        revoked=key.revoked,
        used_times=key.used_times,
        usage_limit=key.usage_limit,
        now=clock.now(),
    )
    if state != VALID:
        raise PreconditionFailed(f"setup key {key.pk} ({key.name!r}) is {state}")
    return key


def setup_key_delete(*, key_id: str) -> None:
    """Delete a setup key; peers that it enrolled stay. Raises NotFound."""
    with account_write():
        found(SetupKey, key_id, kind=KIND).delete()
