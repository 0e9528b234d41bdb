"""People who came by the OpenID Connect provider, and their tokens."""

import base64
import json
from typing import Any, Final

from meshmgmt.accounts.models import User
from tests.api_client import Answer, Api

ME = "/api/users/current"
KEPT_OUT: Final = [
    ({"is_blocked": True}, "This user is blocked."),
    ({"pending_approval": True}, "This user is pending approval."),
    (
        {"role": "user"},
        "There is nothing here for the role user: you sign in on your machine.",
    ),
]
"""What keeps a person with a right password out, and what they are told."""


def newcomers() -> Any:
    """Return the users who came by the provider."""
    return User.objects.exclude(subject=None)


def newcomer() -> User:
    return newcomers().get()  # type: ignore[no-any-return]


def bearer(token: str, path: str = ME) -> Answer:
    return Api().get(path, Authorization=f"Bearer {token}")


def parts(token: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return header and claims of a token, unchecked."""
    header, payload, _ = token.split(".")
    return tuple(
        json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
        for part in (header, payload)
    )
