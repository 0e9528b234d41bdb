"""Access tokens and invites as text: their form, checksum, and what is stored of them.

`mpt_` (of invites `mpi_`), 30 random characters, 6 characters of CRC-32 over those 30:
secret scanners can recognise a token, and a mistyped one is refused without asking the
database.
"""

import hashlib
import re
import secrets
import string
import zlib
from typing import Final

PREFIX: Final = "mpt_"
INVITE_PREFIX: Final = "mpi_"
SECRET_LENGTH: Final = 30
CHECKSUM_LENGTH: Final = 6
TOKEN_LENGTH: Final = len(PREFIX) + SECRET_LENGTH + CHECKSUM_LENGTH
ALPHABET: Final = string.digits + string.ascii_uppercase + string.ascii_lowercase
HASH_LENGTH: Final = 64

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

    A fast hash is enough, for the secret holds 178 random bits: nobody can try them out.
    """
    return hashlib.sha256(token.encode("utf-8")).hexdigest()
