"""Rules of invites (reference API 13.8): pure."""

from collections.abc import Mapping
from typing import Any, Final

from meshmgmt.accounts.rules import EMAIL_TAKEN, email_errors, role_errors
from meshmgmt.core.errors import FieldError
from meshmgmt.core.roles import Role
from meshmgmt.core.textrules import name_errors, range_errors

# The shortest life and the usual one are those of the reference.
HOUR: Final = 3600
DEFAULT_LIFE: Final = 72 * HOUR
MAX_LIFE: Final = 365 * 24 * HOUR


def invite_errors(
    invite: Mapping[str, Any], *, user_exists: bool, invite_exists: bool
) -> list[FieldError]:
    """Return every broken rule of an invite that is good for `expires_in` seconds.

    Those on the auto-groups are apart.
    """
    errors = [
        *email_errors(invite["email"]),
        *name_errors("name", invite["name"]),
        *role_errors(invite["role"], is_service_user=False),
        *life_errors(invite["expires_in"]),
    ]
    if invite["role"] == Role.OWNER:
        errors.append(FieldError("role", "nobody can be invited as owner"))
    if user_exists:
        errors.append(FieldError("email", EMAIL_TAKEN, conflict=True))
    elif invite_exists:
        text = "this e-mail address is invited already: regenerate or delete the invite"
        errors.append(FieldError("email", text, conflict=True))
    return errors


def life_errors(seconds: int) -> list[FieldError]:
    what = "time until expiry"
    return list(range_errors("expires_in", seconds, HOUR, MAX_LIFE, what=what))
