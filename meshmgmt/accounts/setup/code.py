"""The code that proves to `/api/setup` that its caller can see the server's output."""

import base64
import hashlib
import hmac
from typing import Final

from django.conf import settings
from django.db import DatabaseError

from meshmgmt.accounts.models import User
from meshmgmt.accounts.oidc.configured import is_configured
from meshmgmt.api.limits import check_guess
from meshmgmt.core.context import account_id
from meshmgmt.core.errors import Forbidden

LENGTH: Final = 16  # characters of base32: 80 bits
WHERE: Final = (
    "the server prints it on standard output when it starts, while there is no owner"
    " (as a service: journalctl -u meshmgmt; in a container: its log)"
)


def setup_code() -> str:
    """Return the code; the same in every process, on every host of one deployment."""
    # Worked out, not stored: who reads the database does not learn it.
    key = settings.SECRET_KEY.encode("utf-8")
    digest = hmac.new(key, f"setup {account_id()}".encode(), hashlib.sha256).digest()
    return base64.b32encode(digest).decode("ascii")[:LENGTH]


def is_setup_code(text: str) -> bool:
    """Tell whether `text` is the code; letter case and blanks do not matter."""
    given = "".join(text.split()).upper().encode("utf-8")
    return hmac.compare_digest(given, setup_code().encode("ascii"))


def check_setup_code(code: str) -> None:
    """Raise TooManyRequests, or Forbidden for a wrong code."""
    check_guess("setup code")
    if not is_setup_code(code):
        raise Forbidden(
            f"permission denied: from another host, setup needs the setup_code; {WHERE}"
        )


def start_notice() -> str:
    """Return what the server prints while there is no owner."""
    try:
        if User.objects.any_owner():
            return ""
    except DatabaseError:  # not migrated, or away: the readiness check tells
        return ""
    text = (
        "There is no owner yet. The page /setup makes one, or POST /api/setup, which from"
        f' another host needs "setup_code": "{setup_code()}"'
    )
    if is_configured():
        who = settings.SVC.oidc_owner or "the first person who"
        text += f"; or {who} signs in through {settings.SVC.oidc_issuer}"
    return text
