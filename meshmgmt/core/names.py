"""Domain-name syntax: the one place that decides what a name is.

Every `parse_*` function takes the text a client sent and returns its canonical
form: lower-case A-labels joined by dots, without trailing dot. Labels hold
letters, digits, `-` and `_`; non-ASCII labels are mapped by UTS 46 and must be
valid under IDNA 2008 (RFC 5891). `InvalidNameError` carries a sentence for people.

A name may be well-formed and still be longer than DNS can carry (253 octets,
RFC 1035, Section 2.3.4): such a name is kept and matches nothing.
"""

import re
from collections.abc import Iterator

import idna

MAX_TEXT = 255
MAX_OCTETS = 253
MAX_LABEL = 63
WILDCARD = "*."
_ACE_PREFIX = "xn--"
_SHOWN = 80

_PLAIN_NAME = re.compile(
    r"(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?\.)*"
    r"[a-z0-9](?:[a-z0-9_-]{0,61}[a-z0-9])?"
)
_LABEL_CHARACTERS = re.compile(r"[a-z0-9_-]*")
_QUERY_LABEL = re.compile(r"[a-z0-9_-]{1,63}")


class InvalidNameError(ValueError):
    """The text is not a domain name; `str()` gives the reason as a clause."""


def parse_name(text: str) -> str:
    """Canonical form of a domain: of a zone, to match, or that a CNAME points at."""
    return _parse(text, wildcard=False)


def canonical(text: str) -> str:
    """Canonical form of any name that may be stored: of a record, with `*.` or without."""
    return _parse(text, wildcard=True)


def parse_query_name(text: str) -> str:
    """Canonical form of a name somebody looks up.

    Programs ask for names nobody could store here (`_dmarc.a_`, `-x.example`), so
    `-` and `_` may stand anywhere.
    """
    name = _mapped(text).removesuffix(".")
    stem = name.removeprefix(WILDCARD)
    for label in stem.split("."):
        if not _QUERY_LABEL.fullmatch(label):
            _check_label(label, may_start_with_underscore=True)
    return name


def ancestors(name: str) -> Iterator[str]:
    """The name itself and each name above it, longest first, without the root."""
    while True:
        yield name
        _, dot, name = name.partition(".")
        if not dot:
            return


def is_subdomain(name: str, zone: str) -> bool:
    """Whether canonical `name` is `zone` or lies below it."""
    return name == zone or name.endswith(f".{zone}")


def is_too_long(name: str) -> bool:
    """Whether a canonical name cannot be written in a DNS message."""
    return len(name) > MAX_OCTETS


def quoted(text: str) -> str:
    """The text as it may stand in a message: printable and of bounded length."""
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")


def _parse(text: str, *, wildcard: bool) -> str:
    name = _mapped(text).removesuffix(".")
    stem = name
    if name.startswith(WILDCARD):
        if not wildcard:
            raise InvalidNameError("wildcards are not allowed here")
        stem = name.removeprefix(WILDCARD)
    # Nearly every name: one look, where each label would take several.
    if _PLAIN_NAME.fullmatch(stem) and _ACE_PREFIX not in stem:
        return name
    *upper, last = stem.split(".")
    for label in upper:
        _check_label(label, may_start_with_underscore=True)
    _check_label(last, may_start_with_underscore=False)
    return name


def _mapped(text: str) -> str:
    """The text in lower case and with every non-ASCII label as an A-label."""
    if not text:
        raise InvalidNameError("the name is empty")
    if len(text) > MAX_TEXT:
        raise InvalidNameError(f"the name is longer than {MAX_TEXT} characters")
    if text.isascii():
        # Past IDNA, which knows no `_`; the reference accepts it.
        return text.lower()
    try:
        name = idna.uts46_remap(text, std3_rules=False)
    except idna.IDNAError as error:
        raise InvalidNameError(
            "it holds a character that domain names cannot hold"
        ) from error
    return ".".join(
        label if label.isascii() else _a_label(label) for label in name.split(".")
    )


def _a_label(label: str) -> str:
    try:
        return idna.alabel(label).decode("ascii")
    except UnicodeError as error:  # includes idna.IDNAError
        raise InvalidNameError(
            f"the label {quoted(label)} is not valid under IDNA 2008"
        ) from error


def _check_label(label: str, *, may_start_with_underscore: bool) -> None:
    """Raises InvalidNameError with the first thing wrong with a lower-case label."""
    if not label:
        raise InvalidNameError("a label is empty")
    if len(label) > MAX_LABEL:
        raise InvalidNameError(f"a label is longer than {MAX_LABEL} characters")
    if "*" in label:
        raise InvalidNameError(
            "a wildcard may only be the first label of a record name"
        )
    if not _LABEL_CHARACTERS.fullmatch(label):
        raise InvalidNameError(
            f"the label {quoted(label)} may hold only letters, digits, '-' and '_'"
        )
    if label[0] == "-" or (label[0] == "_" and not may_start_with_underscore):
        raise InvalidNameError(
            f"the label {quoted(label)} starts with a wrong character"
        )
    if label[-1] in "-_" and label != "_":
        raise InvalidNameError(
            f"the label {quoted(label)} must end with a letter or a digit"
        )
    if label.startswith(_ACE_PREFIX):
        _check_ace(label)


def _check_ace(label: str) -> None:
    try:
        idna.ulabel(label)
    except UnicodeError as error:
        raise InvalidNameError(
            f"the label {quoted(label)} is not the encoding of a valid name"
        ) from error
