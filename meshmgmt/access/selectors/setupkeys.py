"""What the API shows of setup keys."""

from collections.abc import Sequence
from typing import Any

from meshmgmt.access.models import SetupKey, SetupKeyAutoGroup
from meshmgmt.access.rules.setupkeys import VALID, state_of
from meshmgmt.accounts.selectors import NEVER
from meshmgmt.core import clock
from meshmgmt.core.orderedlinks import ids_by_owner

Row = dict[str, Any]

_PLAIN = (
    *("id", "name", "type", "revoked", "used_times", "usage_limit", "ephemeral"),
    "allow_extra_dns_labels",
)


def setup_key_rows(ids: Sequence[str] | None = None) -> list[Row]:
    """Return setup keys, the keys themselves masked, in the order of creation."""
    keys = SetupKey.objects.order_by("id")
    if ids is not None:
        keys = keys.filter(pk__in=ids)
    found = list(keys)
    groups = ids_by_owner(SetupKeyAutoGroup, ids) if found else {}
    return [_row(key, groups.get(key.pk, [])) for key in found]


def _row(key: SetupKey, groups: list[str]) -> Row:
    state = state_of(
        expires_at=key.expires_at,
        revoked=key.revoked,
        used_times=key.used_times,
        usage_limit=key.usage_limit,
        now=clock.now(),
    )
    return {
        **{name: getattr(key, name) for name in _PLAIN},
        "key": key.masked,
        "expires": clock.rfc3339(key.expires_at) or NEVER,
        "last_used": clock.rfc3339(key.last_used) or NEVER,
        "updated_at": clock.rfc3339(key.updated_at),
        "valid": state == VALID,
        "state": state,
        "auto_groups": groups,
    }
