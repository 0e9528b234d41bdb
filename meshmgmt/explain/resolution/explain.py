"""The whole look-up: search list, CNAME chain, stages in the seed's order."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dns.content import RECORD_TYPES
from meshmgmt.core.names import (
    MAX_OCTETS,
    InvalidNameError,
    is_subdomain,
    is_too_long,
    parse_query_name,
    quoted,
)
from meshmgmt.explain.resolution.model import (
    DEPENDS,
    ENDS_SEARCH,
    Explanation,
    Leg,
    Outcome,
    OutcomeKind,
    Query,
    QueryError,
    Server,
    Step,
)
from meshmgmt.explain.resolution.zones import HiddenPeer, look_up
from meshmgmt.mesh.peerdns import PeerDns
from meshmgmt.mesh.reasons import Subject, subject_of
from meshmgmt.mesh.snapshot import NameserverGroup, Record

MAX_CNAMES = 8
"""Agents follow so many."""

DOMAIN_STAGE = "domain_nameservers"
PRIMARY_STAGE = "primary_nameservers"
SYSTEM_STAGE = "system"


def explain(
    config: PeerDns,
    name: str,
    record_type: str = "A",
    *,
    hidden_peer: HiddenPeer | None = None,
) -> Explanation:
    """How the peer resolves a name as a user types it.

    A name without any dot is short: the search domains are tried first. Raises
    QueryError for a bad name or a type other than A, AAAA and CNAME.
    """
    canonical = _checked_name(name)
    wanted = record_type.upper()
    if wanted not in RECORD_TYPES:
        raise QueryError(
            f"Type {quoted(record_type)} is not supported; ask for A, AAAA or CNAME"
        )
    queries: list[Query] = []
    for full_name, source in _search_list(config, name, canonical):
        query = _query(config, full_name, source, wanted, hidden_peer)
        queries.append(query)
        if query.outcome.kind in ENDS_SEARCH:
            break
    outcome = _deciding(queries)
    return Explanation(
        peer_id=config.peer_id,
        name=name,
        type=wanted,
        managed=config.managed,
        queries=tuple(queries),
        outcome=outcome,
        depends=outcome.kind in DEPENDS,
    )


def _checked_name(name: str) -> str:
    try:
        canonical = parse_query_name(name)
    except InvalidNameError as error:
        raise QueryError(f"Name {quoted(name)} is not valid: {error}") from error
    if is_too_long(canonical):
        raise QueryError(f"The name is longer than the {MAX_OCTETS} octets of DNS")
    return canonical


def _search_list(
    config: PeerDns, typed: str, canonical: str
) -> Iterator[tuple[str, Subject | None]]:
    """Full names in the order they are tried, with what made each of them."""
    # A dot at the end says that the name is whole as it is.
    if "." not in canonical and not typed.endswith("."):
        for search in config.search_domains:
            yield f"{canonical}.{search.domain}", search.subject
    yield canonical, None


def _deciding(queries: list[Query]) -> Outcome:
    """Outcome of the first query that answers or depends on a server.

    Without one the look-up fails; NODATA tells more than NXDOMAIN then.
    """
    outcomes = [query.outcome for query in queries]
    for outcome in outcomes:
        if outcome.kind in ENDS_SEARCH or outcome.kind in DEPENDS:
            return outcome
    for outcome in outcomes:
        if outcome.kind is OutcomeKind.NODATA:
            return outcome
    return outcomes[-1]


def _query(
    config: PeerDns,
    name: str,
    source: Subject | None,
    record_type: str,
    hidden_peer: HiddenPeer | None,
) -> Query:
    legs: list[Leg] = []
    if is_too_long(name):
        text = f"the name would be longer than the {MAX_OCTETS} octets of DNS"
        legs.append(Leg(name, (Step("system", "too_long", text, decides=True),)))
        return Query(name, source, tuple(legs), Outcome(OutcomeKind.TOO_LONG, name))
    if not config.managed:
        step = system_step(f"DNS of this peer is not managed ({config.reason.text})")
        legs.append(Leg(name, (step,)))
        return Query(name, source, tuple(legs), Outcome(OutcomeKind.SYSTEM, name))
    outcome = _chase(config, name, record_type, hidden_peer, legs)
    return Query(name, source, tuple(legs), outcome)


def _chase(
    config: PeerDns,
    name: str,
    record_type: str,
    hidden_peer: HiddenPeer | None,
    legs: list[Leg],
) -> Outcome:
    """Resolves a name and the aliases it leads to; adds a leg for each."""
    chain: list[Record] = []
    while True:
        local = look_up(config, name, record_type, hidden_peer)
        if local.cname is None:
            break
        steps = (*local.steps, *not_asked(config, name))
        chain.append(local.cname)
        target = local.cname.content
        broken = _broken_chain(chain, target)
        if broken is not None:
            kind, step = broken
            legs.append(Leg(name, (*steps, step)))
            return Outcome(kind, target, tuple(chain))
        legs.append(Leg(name, steps))
        name = target
    if local.kind is not None:
        legs.append(Leg(name, (*local.steps, *not_asked(config, name))))
        return Outcome(local.kind, name, (*chain, *local.records))
    onward = forward(config, name)
    legs.append(Leg(name, (*local.steps, *onward.steps)))
    return Outcome(onward.kind, name, tuple(chain), onward.servers)


def _broken_chain(chain: list[Record], target: str) -> tuple[OutcomeKind, Step] | None:
    """Why the chain cannot be followed to its newest target, if so."""
    if any(record.name == target for record in chain):
        text = f"the aliases lead back to {target}: the look-up fails"
        return OutcomeKind.LOOP, Step("zones", "loop", text, decides=True)
    # After the look for a loop, which tells more.
    if len(chain) > MAX_CNAMES:
        text = f"more than {MAX_CNAMES} aliases in a row: the look-up fails"
        return OutcomeKind.DEPTH, Step("zones", "depth", text, decides=True)
    if is_too_long(target):
        text = "the target is longer than DNS can carry: the look-up fails"
        return OutcomeKind.TOO_LONG, Step("zones", "too_long", text, decides=True)
    return None


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
