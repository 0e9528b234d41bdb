"""Rules of networks and the resources in them (reference API 13.7)."""

import ipaddress
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from meshmgmt.access.rules.routes import network_text
from meshmgmt.core.errors import FieldError
from meshmgmt.core.names import InvalidNameError, canonical, quoted
from meshmgmt.core.textrules import description_errors, name_errors, unknown_id_errors


@dataclass(frozen=True, slots=True)
class Address:
    """What a resource is (`host`, `subnet`, `domain`), and its address as peers get it."""

    type: str
    text: str


class InvalidAddressError(ValueError):
    """The text is no address of a resource; `str()` gives a sentence."""


def parse_address(text: str) -> Address:
    """Return what the address of a resource means. Raises InvalidAddressError.

    A single address becomes a network of one host, host bits are cleared; domains may
    begin with `*.` and are kept as sent.
    """
    # No domain has either: what does is a network, or wrong as one.
    if "/" in text or ":" in text:
        return _network(text)
    try:
        return _network(str(ipaddress.IPv4Address(text)))
    except ValueError:
        return _domain(text)


def _network(text: str) -> Address:
    try:
        full = text if "/" in text else str(ipaddress.ip_network(text))
        network = ipaddress.ip_network(network_text(full))
    except ValueError:
        raise InvalidAddressError(_sentence(text)) from None
    single = network.prefixlen == network.max_prefixlen
    return Address("host" if single else "subnet", str(network))


def _domain(text: str) -> Address:
    try:
        name = canonical(text)
    except InvalidNameError as error:
        raise InvalidAddressError(f"{_sentence(text)}: {error}") from None
    if name.rpartition(".")[2].isdecimal():
        raise InvalidAddressError(_sentence(text))  # a mistyped IPv4 address
    return Address("domain", text)


def _sentence(text: str) -> str:
    return f"{quoted(text)} is no IP address, network or domain"


def network_errors(network: Mapping[str, Any]) -> list[FieldError]:
    return [
        *name_errors("name", network["name"], what="network name"),
        *description_errors(network["description"]),
    ]


def resource_errors(
    resource: Mapping[str, Any], *, known_groups: Collection[str], name_taken: bool
) -> list[FieldError]:
    errors = [
        *name_errors("name", resource["name"], what="resource name"),
        *description_errors(resource["description"]),
    ]
    try:
        parse_address(resource["address"])
    except InvalidAddressError as error:
        errors.append(FieldError("address", str(error)))
    errors += unknown_id_errors(
        "groups", resource["groups"], known_groups, kind="group"
    )
    if name_taken:
        text = f"another resource has the name {quoted(resource['name'])}"
        errors.append(FieldError("name", text, conflict=True))
    return errors
