"""Addresses and record content: what is allowed and its canonical form."""

from hashlib import sha256
from ipaddress import IPv4Address, IPv6Address, ip_address

from meshmgmt.core.names import InvalidNameError, parse_name

RECORD_TYPES = ("A", "AAAA", "CNAME")
_BROADCAST = IPv4Address("255.255.255.255")
# Longest literal is 45 characters; the bound keeps hostile text out of messages.
_MAX_LITERAL = 64


class InvalidContentError(ValueError):
    """The text is not allowed there; `str()` is a clause that says why."""


def parse_nameserver_ip(text: str) -> str:
    """Canonical form of a nameserver address: any unicast IPv4 or IPv6 literal.

    IPv6 may stand in brackets, as clients of the reference API send it.
    """
    bracketed = text.startswith("[") and text.endswith("]")
    address = _address(text[1:-1] if bracketed else text)
    if address is None or (bracketed and isinstance(address, IPv4Address)):
        raise InvalidContentError("it is not an IPv4 or IPv6 address")
    # ::ffff:0.0.0.0 reaches what 0.0.0.0 does: the address inside is judged too.
    embedded = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    for candidate in (address, embedded or address):
        if candidate.is_unspecified:
            raise InvalidContentError("the unspecified address cannot be a nameserver")
        if candidate.is_multicast:
            raise InvalidContentError("a multicast address cannot be a nameserver")
        if candidate == _BROADCAST:
            raise InvalidContentError("the broadcast address cannot be a nameserver")
    # In dotted form whatever the Python version.
    return f"::ffff:{embedded}" if embedded else str(address)


def canonical_content(record_type: str, content: str) -> str:
    """Canonical form of the content of a record of the given type.

    Raises InvalidContentError, also for a type outside RECORD_TYPES.
    """
    parsers = {"A": _a_content, "AAAA": _aaaa_content, "CNAME": _cname_content}
    parser = parsers.get(record_type)
    if parser is None:
        raise InvalidContentError("the record type is not A, AAAA or CNAME")
    return parser(content)


def _a_content(content: str) -> str:
    address = _address(content)
    if not isinstance(address, IPv4Address):
        raise InvalidContentError("an A record needs an IPv4 address")
    return str(address)


def _aaaa_content(content: str) -> str:
    address = _address(content)
    if not isinstance(address, IPv6Address):
        raise InvalidContentError("an AAAA record needs an IPv6 address")
    if address.ipv4_mapped is not None:
        raise InvalidContentError(
            "an AAAA record cannot hold an IPv4-mapped address; use an A record"
        )
    return str(address)


def _cname_content(content: str) -> str:
    try:
        return parse_name(content)
    except InvalidNameError as error:
        raise InvalidContentError(
            f"a CNAME record needs a domain name as target: {error}"
        ) from error


def _address(text: str) -> IPv4Address | IPv6Address | None:
    # A zone index (fe80::1%eth0) has a meaning on one host alone: RFC 4007.
    if len(text) > _MAX_LITERAL or "%" in text:
        return None
    try:
        return ip_address(text)
    except ValueError:
        return None


# Records have two of them in one index, whose rows PostgreSQL bounds to 2704 bytes.
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
