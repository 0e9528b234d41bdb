"""Rules of access tests: pure, first the error that decides."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from ipaddress import ip_address
from typing import Any, Final

from dns.content import RECORD_TYPES
from meshmgmt.core.errors import FieldError
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
SOURCES: Final = ("peer", "group", "user")
VALUES: Final = ("address", "domain")
"""Destinations that are told by what they are, not by an id."""
PEERS: Final = ("peer", "group")
"""Destinations that are peers."""
ROUTED: Final = ("resource", *VALUES)
"""Destinations that routing peers may lead to."""
DESTINATIONS: Final = (*PEERS, *ROUTED)
MAX_CONTENTS: Final = 100
# Also the separators at which logs and terminals begin a new line.
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


Known = Callable[[str, str], bool]
"""Tells whether there is an object of this kind and id."""


def access_test_errors(test: Mapping[str, Any], known: Known) -> Iterator[FieldError]:
    """Yield every broken rule of a test."""
    yield from name_errors("name", test["name"], what="test name")
    if _CONTROL.search(test["name"]):
        yield FieldError("name", "the test name must not hold control characters")
    yield from description_errors(test["description"])
    yield from choice_errors("kind", test["kind"], KINDS)
    yield from choice_errors("expect", test["expect"], EXPECTATIONS)
    yield from _end_errors("source", test, SOURCES, known)
    if test["kind"] == DNS:
        yield from _name_errors(test)
    else:
        yield from _end_errors("destination", test, DESTINATIONS, known)
    # What the other kind asks is stored, too.
    yield from _traffic_errors(test["protocol"], test["port"])
    yield from _content_errors(test["record_type"], test["contents"])


def canonical_content(record_type: str, text: str) -> str:
    """Return the content of a record for comparisons. Raises ValueError."""
    if record_type == "CNAME":
        return canonical(text)
    address = ip_address(text)
    if (address.version == 6) != (record_type == "AAAA"):  # noqa: PLR2004
        raise ValueError(f"is no content of {record_type}")
    return str(address)


def _end_errors(
    end: str, test: Mapping[str, Any], kinds: Sequence[str], known: Known
) -> Iterator[FieldError]:
    kind, ref = test[f"{end}_kind"], test[f"{end}_ref"]
    if kind not in kinds:
        yield from choice_errors(f"{end}.kind", kind, kinds)
    elif kind in VALUES:
        # Nothing leads to names that may be looked up, but not be stored.
        yield from _value_errors(f"{end}.value", kind, ref, canonical)
    elif not known(kind, ref):
        yield FieldError(f"{end}.id", not_found(kind, ref))


def _value_errors(
    field: str, kind: str, ref: str, parse_name: Callable[[str], str]
) -> Iterator[FieldError]:
    try:
        if kind == "domain":
            if is_too_long(parse_name(ref)):
                raise ValueError("longer than DNS can carry")
        else:
            ip_address(ref.replace("%", " "))  # with one it is of a link alone
    except (InvalidNameError, ValueError):
        yield FieldError(field, f"{ref[:64]!r} is no {kind}")


def _traffic_errors(protocol: str, port: int | None) -> Iterator[FieldError]:
    yield from choice_errors("protocol", protocol, PROTOCOLS)
    if port:
        if protocol in PROTOCOLS and protocol not in WITH_PORTS:
            text = f"{protocol} has no ports, only tcp and udp do"
            yield FieldError("port", text)
        yield from range_errors("port", port, 1, LAST_PORT, what="port")


def _name_errors(test: Mapping[str, Any]) -> Iterator[FieldError]:
    kind, ref = test["destination_kind"], test["destination_ref"]
    if kind != "domain":
        text = "a test of kind dns asks for a domain"
        yield FieldError("destination.kind", text)
    else:
        yield from _value_errors("destination.value", kind, ref, parse_query_name)


def _content_errors(record_type: str, contents: Sequence[str]) -> Iterator[FieldError]:
    yield from choice_errors("record_type", record_type, RECORD_TYPES)
    if len(contents) > MAX_CONTENTS:
        yield FieldError("contents", f"at most {MAX_CONTENTS} contents are compared")
    for index, content in enumerate(contents):
        try:
            canonical_content(record_type, content)
        except (InvalidNameError, ValueError):
            text = f"{content[:64]!r} is no content of {record_type}"
            yield FieldError(f"contents[{index}]", text)
