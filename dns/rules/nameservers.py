"""Rules of nameserver groups (seed, "Nameserver group")."""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from dns.content import InvalidContentError, parse_nameserver_ip
from meshmgmt.core.drafts import columns
from meshmgmt.core.fielderrors import FieldError
from meshmgmt.core.names import InvalidNameError, parse_name, quoted
from meshmgmt.core.textrules import unknown_id_errors

MAX_NAME = 40
MAX_NAMESERVERS = 3
MAX_PORT = 65535


@dataclass(frozen=True, slots=True)
class NameserverDraft:
    ip: str
    ns_type: str = "udp"
    port: int = 53


@dataclass(frozen=True, slots=True, kw_only=True)
class NameserverGroupDraft:
    """A nameserver group as the client sent it; `groups` are ids."""

    name: str
    description: str = ""
    nameservers: Sequence[NameserverDraft]
    enabled: bool = True
    primary: bool
    domains: Sequence[str]
    search_domains_enabled: bool
    groups: Sequence[str]


NAMESERVER_GROUP_COLUMNS: Final = columns(NameserverGroupDraft, but=["groups"])


def nameserver_group_errors(
    draft: NameserverGroupDraft, *, known_groups: Container[str], name_taken: bool
) -> list[FieldError]:
    """Every broken rule, first the one that decides the message.

    `known_groups` holds the ids that exist; `name_taken` says that another group
    of the account has exactly this name.
    """
    return [
        *_server_errors(draft.nameservers),
        *_kind_errors(draft),
        *_domain_errors(draft.domains),
        *_count_errors(draft.nameservers),
        *_name_errors(draft.name, taken=name_taken),
        *unknown_id_errors("groups", draft.groups, known_groups, kind="group"),
    ]


def _server_errors(servers: Sequence[NameserverDraft]) -> Iterator[FieldError]:
    for index, server in enumerate(servers):
        path = f"nameservers[{index}]"
        try:
            parse_nameserver_ip(server.ip)
        except InvalidContentError as error:
            yield FieldError(
                f"{path}.ip", f"Nameserver address {quoted(server.ip)}: {error}"
            )
        if server.ns_type.lower() != "udp":
            yield FieldError(f"{path}.ns_type", "The nameserver type must be udp")
        if not 1 <= server.port <= MAX_PORT:
            yield FieldError(
                f"{path}.port", f"The port must lie between 1 and {MAX_PORT}"
            )


def _kind_errors(draft: NameserverGroupDraft) -> Iterator[FieldError]:
    if not draft.primary and not draft.domains:
        yield FieldError(
            "domains", "A group that is not primary needs at least one match domain"
        )
    if draft.primary and draft.domains:
        yield FieldError(
            "domains", "A primary group answers for all domains and must not list any"
        )
    if draft.primary and draft.search_domains_enabled:
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


def _count_errors(servers: Sequence[NameserverDraft]) -> Iterator[FieldError]:
    if not 1 <= len(servers) <= MAX_NAMESERVERS:
        yield FieldError(
            "nameservers",
            f"A group needs 1 to {MAX_NAMESERVERS} nameservers, not {len(servers)}",
        )


def _name_errors(name: str, *, taken: bool) -> Iterator[FieldError]:
    if not 1 <= len(name) <= MAX_NAME:
        yield FieldError("name", f"The name must have 1 to {MAX_NAME} characters")
    elif taken:
        yield FieldError(
            "name",
            f"A nameserver group with the name {quoted(name)} already exists",
            conflict=True,
        )
