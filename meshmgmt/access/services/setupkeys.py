"""Writes of setup keys, and their use."""

import datetime as dt
import uuid
from collections.abc import Iterator
from typing import Final

from meshmgmt.access.models import SetupKey, SetupKeyAutoGroup
from meshmgmt.access.rules.setupkeys import (
    ONE_OFF,
    ONE_USE,
    VALID,
    revocation_errors,
    setup_key_errors,
    state_of,
)
from meshmgmt.access.services.autogroups import errors_of_auto_groups
from meshmgmt.accounts.tokens import token_hash
from meshmgmt.core import clock
from meshmgmt.core.durations import GRACE
from meshmgmt.core.errors import FieldError, NotFound, PreconditionFailed
from meshmgmt.core.orderedlinks import ids_by_owner
from meshmgmt.core.queries import Prepared, columns_of, loaded, stored
from meshmgmt.core.resources import Resource, Values, Write
from meshmgmt.core.transactions import account_write

SHOWN_LENGTH: Final = 5


class SetupKeys(Resource[SetupKey]):
    """Setup keys; of a stored one only `revoked` and `auto_groups` are looked at.

    A new one ends in `expires_in` seconds, 0: never.
    """

    model = SetupKey
    kind = "setup key"

    def errors(self, write: Write[SetupKey]) -> Iterator[FieldError]:
        values = write.values
        if write.is_new:
            yield from setup_key_errors(values)
        else:
            before = write.before["revoked"]
            yield from revocation_errors(before=before, after=values["revoked"])
        yield from errors_of_auto_groups(values["auto_groups"])

    def fill(self, instance: SetupKey, values: Values) -> None:
        super().fill(instance, values)
        instance.updated_at = now = clock.now()
        # Only a new one has none: what follows is given once.
        if instance.key_hash:
            return
        lifetime = dt.timedelta(seconds=values["expires_in"])
        instance.expires_at = now + lifetime if lifetime else None
        if instance.type == ONE_OFF:
            instance.usage_limit = ONE_USE
        # In capitals, as in the reference: `usable_setup_key` looks for them so.
        instance.plain = plain = str(uuid.uuid4()).upper()
        instance.key_hash = token_hash(plain)
        instance.key_prefix = plain[:SHOWN_LENGTH]


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
    state = state_of(key, clock.now())
    if state != VALID:
        raise PreconditionFailed(f"setup key {key.pk} ({key.name!r}) is {state}")
    return key
