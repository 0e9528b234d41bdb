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
    ONE_OFF,
    ONE_USE,
    VALID,
    auto_group_errors,
    revocation_errors,
    setup_key_errors,
    state_of,
)
from meshmgmt.core import clock
from meshmgmt.core.durations import GRACE
from meshmgmt.core.errors import NotFound, PreconditionFailed, raise_field_errors
from meshmgmt.core.orderedlinks import ids_by_owner, member_keys, set_members
from meshmgmt.core.queries import Prepared, columns_of, found, loaded, stored
from meshmgmt.core.resources import column_values, columns
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


def setup_key_create(**data: Any) -> NewSetupKey:
    """Create a setup key that ends in `expires_in` seconds. Raises InvalidArgument."""
    with account_write():
        key = SetupKey()
        values = {**column_values(key), "auto_groups": [], **data}
        groups = values["auto_groups"]
        raise_field_errors(
            setup_key_errors(
                values, known_groups=known_groups(groups), all_group=all_group_id()
            )
        )
        if values["type"] == ONE_OFF:
            values["usage_limit"] = ONE_USE
        plain = str(uuid.uuid4()).upper()
        now = clock.now()
        lifetime = dt.timedelta(seconds=values["expires_in"])
        values["expires_at"] = now + lifetime if lifetime else None
        for name in columns(SetupKey):
            setattr(key, name, values[name])
        key.key_hash, key.key_prefix = setup_key_hash(plain), plain[:SHOWN_LENGTH]
        key.created_at = key.updated_at = now
        key.save(force_insert=True)
        set_members(SetupKeyAutoGroup, key, groups, new=True)
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
        values = {**column_values(old), "expires_in": life, "revoked": False}
        groups = member_keys(SetupKeyAutoGroup, old)
        made = setup_key_create(**values, auto_groups=groups)
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
    state = state_of(key, clock.now())
    if state != VALID:
        raise PreconditionFailed(f"setup key {key.pk} ({key.name!r}) is {state}")
    return key


def setup_key_delete(*, key_id: str) -> None:
    """Delete a setup key; peers that it enrolled stay. Raises NotFound."""
    with account_write():
        found(SetupKey, key_id, kind=KIND).delete()
