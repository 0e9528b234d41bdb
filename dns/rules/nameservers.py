"""Rules of nameserver groups (seed, "Nameserver group")."""

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

from dns.content import InvalidContentError, parse_nameserver_ip
from meshmgmt.core.errors import FieldError
from meshmgmt.core.names import InvalidNameError, parse_name, quoted
from meshmgmt.core.textrules import unknown_id_errors

MAX_NAME = 40
MAX_NAMESERVERS = 3
MAX_PORT = 65535


Server = Mapping[str, Any]
"""A DNS server: `ip`, `ns_type`, `port`."""


def nameserver_group_errors(
    group: Mapping[str, Any], *, known_groups: Container[str], name_taken: bool
) -> list[FieldError]:
    """Every broken rule, first the one that decides the message.

    `known_groups` holds the ids that exist; `name_taken` says that another group
    of the account has exactly this name.
    """
    # In the order of the reference, which reads the servers before it asks for any rule.
    return [
        *_server_errors(group["nameservers"]),
        *_kind_errors(group),
        *_domain_errors(group["domains"]),
        *_count_errors(group["nameservers"]),
        *_name_errors(group["name"], taken=name_taken),
        *unknown_id_errors("groups", group["groups"], known_groups, kind="group"),
    ]


def _server_errors(servers: Sequence[Server]) -> Iterator[FieldError]:
    for index, server in enumerate(servers):
        path = f"nameservers[{index}]"
        try:
            parse_nameserver_ip(server["ip"])
        except InvalidContentError as error:
            yield FieldError(
                f"{path}.ip", f"Nameserver address {quoted(server['ip'])}: {error}"
            )
        # The reference takes UDP as well, and answers udp.
        if server["ns_type"].lower() != "udp":
            yield FieldError(f"{path}.ns_type", "The nameserver type must be udp")
        if not 1 <= server["port"] <= MAX_PORT:
            yield FieldError(
                f"{path}.port", f"The port must lie between 1 and {MAX_PORT}"
            )


def _kind_errors(group: Mapping[str, Any]) -> Iterator[FieldError]:
    if not group["primary"] and not group["domains"]:
        yield FieldError(
            "domains", "A group that is not primary needs at least one match domain"
        )
    if group["primary"] and group["domains"]:
        yield FieldError(
            "domains", "A primary group answers for all domains and must not list any"
        )
    if group["primary"] and group["search_domains_enabled"]:
        yield FieldError(
            "search_domains_enabled",
            "A primary group has no match domains to search in",
        )


def _domain_errors(domains: Sequence[str]) -> Iterator[FieldError]:
    for index, domain in enumerate(domains):
        try:
            parse_name(domain)
        except InvalidNameError as error:
            yield FieldError(
                f"domains[{index}]",
                f"Match domain {quoted(domain)} is not valid: {error}",
            )


def _count_errors(servers: Sequence[Server]) -> Iterator[FieldError]:
    if not 1 <= len(servers) <= MAX_NAMESERVERS:
        yield FieldError(
            "nameservers",
            f"A group needs 1 to {MAX_NAMESERVERS} nameservers, not {len(servers)}",
        )


def _name_errors(name: str, *, taken: bool) -> Iterator[FieldError]:
    # Not trimmed, and blanks alone are a name: the reference lets clients send them.
    if not 1 <= len(name) <= MAX_NAME:
        yield FieldError("name", f"The name must have 1 to {MAX_NAME} characters")
    elif taken:
        yield FieldError(
            "name",
            f"A nameserver group with the name {quoted(name)} already exists",
            conflict=True,
        )
