"""Canonical names and content as the database keeps them; pure, without Django.

A name of 255 characters can have a canonical form of several thousand, more than an index
entry of PostgreSQL holds. Such a name cannot be asked for (RFC 1035, Section 2.3.4), so its
digest is enough to tell it from others.
"""

from hashlib import sha256

MAX_STORED = 1000
DIGEST_MARK = "#"
"""Begins a digest, and no name."""


def stored_form(canonical: str) -> str:
    """The canonical form, or the digest of one that is too long to be indexed."""
    if len(canonical) <= MAX_STORED:
        return canonical
    return DIGEST_MARK + sha256(canonical.encode()).hexdigest()


def is_digest(stored: str) -> bool:
    """Whether `stored` stands for a name that was too long."""
    return stored.startswith(DIGEST_MARK)
