"""The later stages: domain nameservers, primary nameservers, the system."""

from collections.abc import Iterable
from dataclasses import dataclass

from meshmgmt.core.names import is_subdomain
from meshmgmt.explain.resolution.model import (
    OutcomeKind,
    Server,
    Step,
)
from meshmgmt.mesh.peerdns import PeerDns
from meshmgmt.mesh.reasons import subject_of
from meshmgmt.mesh.snapshot import NameserverGroup

DOMAIN_STAGE = "domain_nameservers"
PRIMARY_STAGE = "primary_nameservers"
SYSTEM_STAGE = "system"


@dataclass(frozen=True, slots=True)
class ForwardResult:
    """Who is asked: servers in order, or the system resolver."""

    steps: tuple[Step, ...]
    kind: OutcomeKind
    servers: tuple[Server, ...] = ()


def forward(config: PeerDns, name: str) -> ForwardResult:
    """Longest match domain, else the primary groups, else the system resolver."""
    matches = _matches(config, name)
    longest = max((len(domain) for _, domain in matches), default=0)
    # Of one length they are one domain: all its groups are asked.
    asked = [group for group, domain in matches if len(domain) == longest]
    primaries = _primaries(config)
    steps = [_match_step(group, domain, longest) for group, domain in matches]
    steps.extend(_excluded(config, name, longest))
    if asked:
        steps.extend(_primary(config, "a match domain applies"))
        return ForwardResult(tuple(steps), OutcomeKind.FORWARDED, _servers(asked))
    if primaries:
        steps.extend(_primary(config))
        return ForwardResult(tuple(steps), OutcomeKind.FORWARDED, _servers(primaries))
    steps.append(system_step())
    return ForwardResult(tuple(steps), OutcomeKind.SYSTEM)


def not_asked(config: PeerDns, name: str) -> tuple[Step, ...]:
    """Steps of the groups that lose a name because a zone decides about it."""
    steps = [
        Step(
            DOMAIN_STAGE,
            "shadowed",
            f"group {group.name} serves {domain}, but is not asked: a zone decides",
            subject=subject_of(group),
        )
        for group, domain in _matches(config, name)
    ]
    return (*steps, *_primary(config, "a zone decides"))


def system_step(reason: str = "no nameserver of this service applies") -> Step:
    """The step that hands the name to the peer's system resolver."""
    text = f"{reason}: the system resolver of the peer is asked"
    return Step(SYSTEM_STAGE, "system", text, decides=True)


def _matches(config: PeerDns, name: str) -> list[tuple[NameserverGroup, str]]:
    """Groups with a match domain that covers the name, and the longest such one."""
    return [
        (group, domain)
        for group in config.servers
        if (domain := _longest_match(group, name)) is not None
    ]


def _longest_match(group: NameserverGroup, name: str) -> str | None:
    matching = [domain for domain in group.domains if is_subdomain(name, domain)]
    return max(matching, key=len, default=None)


def _match_step(group: NameserverGroup, domain: str, longest: int) -> Step:
    if len(domain) == longest:
        text = f"group {group.name} serves {domain}, the longest match"
        code = "match"
    else:
        text = f"group {group.name} serves {domain}, but a longer domain matches"
        code = "shadowed"
    return Step(
        DOMAIN_STAGE, code, text, subject=subject_of(group), decides=code == "match"
    )


def _primary(config: PeerDns, why_not: str = "") -> Iterable[Step]:
    """Steps of the primary groups, which are asked unless told why not."""
    code = "shadowed" if why_not else "primary"
    does = f"is not asked: {why_not}" if why_not else "serves all other names"
    for group in _primaries(config):
        text = f"primary group {group.name} {does}"
        yield Step(PRIMARY_STAGE, code, text, subject_of(group), decides=not why_not)


def _primaries(config: PeerDns) -> list[NameserverGroup]:
    return [group for group in config.servers if group.primary]


def _excluded(config: PeerDns, name: str, longest: int) -> Iterable[Step]:
    """Groups out of the peer's reach that would be asked beside or before others.

    `longest` is the length of the longest match domain among those it does get.
    """
    for excluded in config.excluded:
        if excluded.subject.kind != "nameserver_group":
            continue
        covers = any(
            is_subdomain(name, domain) and len(domain) >= longest
            for domain in excluded.domains
        )
        # A primary group is asked only where no match domain applies.
        if not (covers or (excluded.primary and not longest)):
            continue
        reasons = "; ".join(reason.text for reason in excluded.reasons)
        yield Step(
            PRIMARY_STAGE if excluded.primary else DOMAIN_STAGE,
            "excluded",
            f"group {excluded.subject.name} would serve the name, but the peer does "
            f"not get it: {reasons}",
            subject=excluded.subject,
        )


def _servers(groups: Iterable[NameserverGroup]) -> tuple[Server, ...]:
    return tuple(
        Server(server.ip, server.port, server.ns_type, subject_of(group))
        for group in groups
        for server in group.nameservers
    )
