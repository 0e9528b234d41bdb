"""What the API shows of setup keys."""

from collections.abc import Sequence

from meshmgmt.access.models import SetupKey, SetupKeyAutoGroup
from meshmgmt.access.rules.setupkeys import VALID, state_of
from meshmgmt.accounts.selectors import NEVER
from meshmgmt.core import clock
from meshmgmt.core.orderedlinks import ids_by_owner
from meshmgmt.core.resources import Row, column_values


def setup_key_rows(ids: Sequence[str] | None = None) -> list[Row]:
    """Return setup keys, the keys themselves masked, in the order of creation."""
    keys = SetupKey.objects.order_by("id")
    if ids is not None:
        keys = keys.filter(pk__in=ids)
    found = list(keys)
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
