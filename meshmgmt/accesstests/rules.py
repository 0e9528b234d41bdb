"""Rules of access tests: pure, first the error that decides."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from meshmgmt.core.fielderrors import FieldError
from meshmgmt.core.names import (
    InvalidNameError,
    canonical,
    is_too_long,
    parse_query_name,
)
from meshmgmt.core.textrules import (
    choice_errors,
    description_errors,
    name_errors,
    not_found,
    range_errors,
)
from meshmgmt.mesh.reach import LAST_PORT, PROTOCOLS, WITH_PORTS

ACCESS: Final = "access"
DNS: Final = "dns"
KINDS: Final = (ACCESS, DNS)
REACH: Final = "reach"
NEVER: Final = "never"
EXPECTATIONS: Final = (REACH, NEVER)
RECORD_TYPES: Final = ("A", "AAAA", "CNAME")
SOURCES: Final = ("peer", "group", "user")
VALUES: Final = ("address", "domain")
"""Destinations that are told by what they are, not by an id."""
DESTINATIONS: Final = ("peer", "group", "resource", *VALUES)
MAX_CONTENTS: Final = 100
# Also the separators at which logs and terminals begin a new line.
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class End:
    """A source or destination: an id of its kind, or for some kinds a value."""

    kind: str
    ref: str = ""


@dataclass(frozen=True, slots=True)
class AccessTestDraft:
    """An access test as the client sent it."""

    name: str
    source: End
    destination: End
    expect: str
    description: str = ""
    enabled: bool = True
    enforce: bool = False
    kind: str = ACCESS
    protocol: str = "all"
    port: int | None = None
    record_type: str = "A"
    contents: Sequence[str] = ()


Known = Callable[[End], bool]
"""Tells whether there is an object of this kind and id."""


def draft_errors(draft: AccessTestDraft, known: Known) -> Iterator[FieldError]:
    """Yield every broken rule of a test."""
    yield from name_errors("name", draft.name, what="test name")
    if _CONTROL.search(draft.name):
        yield FieldError("name", "the test name must not hold control characters")
    yield from description_errors(draft.description)
    yield from choice_errors("kind", draft.kind, KINDS)
    yield from choice_errors("expect", draft.expect, EXPECTATIONS)
    yield from _end_errors("source", draft.source, SOURCES, known)
    if draft.kind == DNS:
        yield from _name_errors(draft.destination)
    else:
        yield from _end_errors("destination", draft.destination, DESTINATIONS, known)
    # What the other kind asks is stored, too.
    yield from _traffic_errors(draft)
    yield from _content_errors(draft)


def canonical_content(record_type: str, text: str) -> str:
    """Return the content of a record for comparisons. Raises ValueError."""
    if record_type == "CNAME":
        return canonical(text)
    address = ip_address(text)
    if (address.version == 6) != (record_type == "AAAA"):  # noqa: PLR2004
        raise ValueError(f"is no content of {record_type}")
    return str(address)


def _end_errors(
    field: str, end: End, kinds: Sequence[str], known: Known
) -> Iterator[FieldError]:
    if end.kind not in kinds:
        yield from choice_errors(f"{field}.kind", end.kind, kinds)
    elif end.kind in VALUES:
        # Nothing leads to names that may be looked up, but not be stored.
        yield from _value_errors(f"{field}.value", end, canonical)
    elif not known(end):
        yield FieldError(f"{field}.id", not_found(end.kind, end.ref))


def _value_errors(
    field: str, end: End, parse_name: Callable[[str], str]
) -> Iterator[FieldError]:
    try:
        if end.kind == "domain":
            if is_too_long(parse_name(end.ref)):
                raise ValueError("longer than DNS can carry")
        else:
            ip_address(end.ref.replace("%", " "))  # with one it is of a link alone
    except (InvalidNameError, ValueError):
        yield FieldError(field, f"{end.ref[:64]!r} is no {end.kind}")


def _traffic_errors(draft: AccessTestDraft) -> Iterator[FieldError]:
    yield from choice_errors("protocol", draft.protocol, PROTOCOLS)
    if draft.port is not None:
        if draft.protocol in PROTOCOLS and draft.protocol not in WITH_PORTS:
            text = f"{draft.protocol} has no ports, only tcp and udp do"
            yield FieldError("port", text)
        yield from range_errors("port", draft.port, 1, LAST_PORT, what="port")


def _name_errors(end: End) -> Iterator[FieldError]:
    if end.kind != "domain":
        text = "a test of kind dns asks for a domain"
        yield FieldError("destination.kind", text)
    else:
        yield from _value_errors("destination.value", end, parse_query_name)


def _content_errors(draft: AccessTestDraft) -> Iterator[FieldError]:
    yield from choice_errors("record_type", draft.record_type, RECORD_TYPES)
    if len(draft.contents) > MAX_CONTENTS:
        yield FieldError("contents", f"at most {MAX_CONTENTS} contents are compared")
    for index, content in enumerate(draft.contents):
        try:
            canonical_content(draft.record_type, content)
        except (InvalidNameError, ValueError):
            text = f"{content[:64]!r} is no content of {draft.record_type}"
            yield FieldError(f"contents[{index}]", text)
