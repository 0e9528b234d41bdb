"""Access tokens and invites as text: their form, checksum, and what is stored of them.

`mpt_` (of invites `mpi_`), 30 random characters, 6 characters of CRC-32 over those 30:
secret scanners can recognise a token, and a mistyped one is refused without asking the
database.
"""

import datetime as dt
import hashlib
import logging
import re
import secrets
import string
import zlib
from typing import Any, Final, Protocol

from django.db import DatabaseError
from django.db.models import Q

from meshmgmt.core import clock
from meshmgmt.core.transactions import SHORT_PATIENCE, sqlite_patience

PREFIX: Final = "mpt_"
INVITE_PREFIX: Final = "mpi_"
SECRET_LENGTH: Final = 30
CHECKSUM_LENGTH: Final = 6
TOKEN_LENGTH: Final = len(PREFIX) + SECRET_LENGTH + CHECKSUM_LENGTH
# The order of the digits in base 62 is the reference's, whose checksum this is.
ALPHABET: Final = string.digits + string.ascii_uppercase + string.ascii_lowercase
HASH_LENGTH: Final = 64
INVALID: Final = "token invalid"
EXPIRED: Final = "token expired"

_FORM: Final = re.compile(
    rf"([0-9A-Za-z]{{{SECRET_LENGTH}}})([0-9A-Za-z]{{{CHECKSUM_LENGTH}}})"
)


def new_token(prefix: str = PREFIX) -> str:
    """Return a fresh token; nothing but its hash may be stored."""
    secret = "".join(secrets.choice(ALPHABET) for _ in range(SECRET_LENGTH))
    return prefix + secret + checksum(secret)


def checksum(secret: str) -> str:
    """Return the CRC-32 of `secret` in base 62, most significant digit first."""
    number = zlib.crc32(secret.encode("ascii"))
    digits = ""
    for _ in range(CHECKSUM_LENGTH):  # 62**6 exceeds 2**32
        number, digit = divmod(number, len(ALPHABET))
        digits = ALPHABET[digit] + digits
    return digits


def is_well_formed(text: str, prefix: str = PREFIX) -> bool:
    """Tell whether `text` has a token's form and the checksum that belongs to it."""
    found = _FORM.fullmatch(text.removeprefix(prefix))
    return (
        text.startswith(prefix) and found is not None and checksum(found[1]) == found[2]
    )


def token_hash(token: str) -> str:
    """Return what is stored of a token: SHA-256 in hexadecimal digits.

    A fast hash is enough, for the secret holds 178 random bits, that of a setup key 122:
    nobody can try them out.
    """
    return hashlib.sha256(token.encode("utf-8")).hexdigest()


log = logging.getLogger(__name__)

INTERVAL: Final = dt.timedelta(minutes=1)


class Credential(Protocol):
    """A stored credential; `last_used` is one of its unaudited columns."""

    pk: Any
    last_used: dt.datetime | None


def note_use(token: Credential) -> None:
    """Store that `token` is used now, at most once a minute, without the account lock.

    When the database is busy or full the use goes unrecorded: a read must not wait for
    another's write, nor fail because nothing can be stored.
    """
    now = clock.now()
    # Either way: a clock that was set back has left a use that is still to come.
    if token.last_used is not None and abs(now - token.last_used) < INTERVAL:
        return
    # In the statement again: all workers have the token in hand, and one write is enough.
    stale = Q(last_used__isnull=True) | Q(last_used__lte=now - INTERVAL)
    stale |= Q(last_used__gte=now + INTERVAL)
    try:
        # SQLite has one lock for all of its file.
        with sqlite_patience(SHORT_PATIENCE):
            stored: Any = type(token)
            stored.objects.filter(stale, pk=token.pk).unaudited_update(last_used=now)
    except DatabaseError as error:
        log.info("the last use of a token was not recorded: %s", error)
