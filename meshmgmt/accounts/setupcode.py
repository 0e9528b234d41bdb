"""The code that proves to `/api/setup` that its caller can see the server's output."""

import base64
import hashlib
import hmac
from typing import Final

from django.conf import settings
from django.db import DatabaseError

from meshmgmt.accounts.models import User
from meshmgmt.core.account import account_id

LENGTH: Final = 16  # characters of base32: 80 bits


def setup_code() -> str:
    """Return the code; the same in every process, on every host of one deployment."""
    key = settings.SECRET_KEY.encode("utf-8")
    digest = hmac.new(key, f"setup {account_id()}".encode(), hashlib.sha256).digest()
    return base64.b32encode(digest).decode("ascii")[:LENGTH]


def is_setup_code(text: str) -> bool:
    """Tell whether `text` is the code; letter case and blanks do not matter."""
    given = "".join(text.split()).upper().encode("utf-8")
    return hmac.compare_digest(given, setup_code().encode("ascii"))


def start_notice() -> str:
    """Return what the server prints while there is no user."""
    try:
        if User.objects.exists():
            return ""
    except DatabaseError:  # not migrated, or away: the readiness check tells
        return ""
    return (
        "There is no user yet. POST /api/setup makes the first owner; from another host"
        f' it needs "setup_code": "{setup_code()}"'
    )
