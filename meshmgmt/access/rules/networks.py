"""Rules of routes, networks, resources and routers (reference API 13.6 and 13.7)."""

import ipaddress
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from meshmgmt.core.errors import FieldError
from meshmgmt.core.names import InvalidNameError, canonical, quoted
from meshmgmt.core.textrules import (
    description_errors,
    name_errors,
    not_found,
    range_errors,
    told_errors,
    unknown_id_errors,
)

# The bounds are those of the reference.
MAX_NETWORK_ID: Final = 40
MAX_DOMAINS: Final = 32
MAX_METRIC: Final = 9999

_PREFIX: Final = re.compile(r"[0-9A-Fa-f:.]+/[0-9]{1,3}")


Forwarding = Mapping[str, Any]
"""A route, or a router of a network, by the names of its columns and lists."""


@dataclass(frozen=True, slots=True)
class RoutingFacts:
    """Which of the ids that are named exist.

    `emptied` are `peer` and `groups`, where the stored object has lost them to a deletion.
    """

    groups: Collection[str] = ()
    peers: Collection[str] = ()
    emptied: Collection[str] = ()


def network_text(text: str) -> str:
    """Return a network in canonical form, host bits cleared. Raises ValueError."""
    # Not every form that Python knows: no net masks, no zones of interfaces.
    if not _PREFIX.fullmatch(text):
        raise ValueError("not ADDRESS/LENGTH")
    return str(ipaddress.ip_network(text, strict=False))


def destination_key(network: str, domains: Iterable[str]) -> str:
    """Return what is equal for routes that lead to the same place."""
    return network or " ".join(sorted({canonical(domain) for domain in domains}))


def route_errors(route: Forwarding, facts: RoutingFacts) -> Iterator[FieldError]:
    yield from _destination_errors(route["network"], route["domains"])
    yield from forwarder_errors(route, facts)
    named, what = route["network_id"], "network identifier"
    yield from name_errors("network_id", named, what=what, maximum=MAX_NETWORK_ID)
    yield from description_errors(route["description"])
    yield from range_errors("metric", route["metric"], 1, MAX_METRIC, what="metric")
    yield from _group_errors(route, facts)


def router_errors(router: Forwarding, facts: RoutingFacts) -> Iterator[FieldError]:
    yield from forwarder_errors(router, facts)
    yield from range_errors("metric", router["metric"], 1, MAX_METRIC, what="metric")


def forwarder_errors(of: Forwarding, facts: RoutingFacts) -> Iterator[FieldError]:
    """Check who forwards: one peer, or the peers of groups."""
    peer, groups = of["peer"], of["peer_groups"]
    if peer and groups:
        yield FieldError("peer", "give either peer or peer_groups, not both")
    elif not peer and not groups and not _stays(of, "peer", facts):
        yield FieldError("peer", "give either peer or peer_groups")
    if peer and peer not in facts.peers:
        yield FieldError("peer", not_found("peer", peer))
    yield from unknown_id_errors("peer_groups", groups, facts.groups, kind="group")


def _stays(of: Forwarding, part: str, facts: RoutingFacts) -> bool:
    """Tell whether a part may stay empty: what is off is sent back as it is shown."""
    return not of["enabled"] and part in facts.emptied


def _destination_errors(network: str, domains: Sequence[str]) -> Iterator[FieldError]:
    if network and domains:
        yield FieldError("network", "give either network or domains, not both")
    elif not network and not domains:
        yield FieldError("network", "give either network or domains")
    if network:
        try:
            network_text(network)
        except ValueError:
            text = f"{quoted(network)} is no network such as 10.1.0.0/16"
            yield FieldError("network", text)
    if len(domains) > MAX_DOMAINS:
        yield FieldError("domains", f"a route has at most {MAX_DOMAINS} domains")
    for index, domain in enumerate(domains):
        try:
            canonical(domain)
        except InvalidNameError as error:
            text = f"domain {quoted(domain)} is not valid: {error}"
            yield FieldError(f"domains[{index}]", text)


def _group_errors(route: Forwarding, facts: RoutingFacts) -> Iterator[FieldError]:
    if not route["groups"] and not _stays(route, "groups", facts):
        yield FieldError("groups", "a route needs at least one group that uses it")
    for field in ("groups", "access_control_groups"):
        yield from unknown_id_errors(field, route[field], facts.groups, kind="group")


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


def resource_errors(
    resource: Mapping[str, Any], *, known_groups: Collection[str], name_taken: bool
) -> Iterator[FieldError]:
    yield from told_errors(resource, what="resource")
    try:
        parse_address(resource["address"])
    except InvalidAddressError as error:
        yield FieldError("address", str(error))
    groups = resource["groups"]
    yield from unknown_id_errors("groups", groups, known_groups, kind="group")
    if name_taken:
        text = f"another resource has the name {quoted(resource['name'])}"
        yield FieldError("name", text, conflict=True)
