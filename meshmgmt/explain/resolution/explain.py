"""The whole look-up: search list, CNAME chain, stages in the seed's order."""

from collections.abc import Iterator

from dns.content import RECORD_TYPES
from meshmgmt.core.names import (
    MAX_OCTETS,
    InvalidNameError,
    is_too_long,
    parse_query_name,
    quoted,
)
from meshmgmt.explain.resolution.forwarding import forward, not_asked, system_step
from meshmgmt.explain.resolution.model import (
    DEPENDS,
    ENDS_SEARCH,
    Explanation,
    Leg,
    Outcome,
    OutcomeKind,
    Query,
    QueryError,
    Step,
)
from meshmgmt.explain.resolution.zones import HiddenPeer, look_up
from meshmgmt.mesh.peerdns import PeerDns
from meshmgmt.mesh.reasons import Subject
from meshmgmt.mesh.snapshot import Record

__all__ = ["HiddenPeer", "explain"]

MAX_CNAMES = 8
"""Agents follow so many."""


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
