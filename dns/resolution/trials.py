"""The same question, asked in an account where a peer gets more than it does.

One thing at a time is tried: a group more for the peer, a zone or nameserver group that
is enabled or assigned. Whatever else comes along with that counts, too.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from dns.effective.compute import peer_config
from dns.effective.result import Excluded, PeerDns
from dns.effective.snapshot import NameserverGroup, Snapshot, Zone
from dns.resolution.explain import explain
from dns.resolution.model import (
    Explanation,
    Outcome,
    OutcomeKind,
    Phrase,
    Subject,
    deciding_steps,
    either,
)
from meshmgmt.access.reach import ReachGraph
from meshmgmt.core.names import WILDCARD, is_subdomain

MOST_GROUPS = 5
"""So many groups are tried for one thing."""


@dataclass(frozen=True, slots=True)
class Trial:
    """Something that the peer does not get, and the outcome if it did.

    `condition` is a clause that says what has to be for that. `depends`: servers are
    asked before, and must not know the name.
    """

    excluded: Excluded
    subject: Subject
    condition: Phrase
    outcome: Outcome
    depends: bool


def covering_zones(explanation: Explanation, snapshot: Snapshot) -> list[str]:
    """Ids of the zones that could have a name that was, or would be, looked up.

    Those are the zones whose records `trials` has to know.
    """
    return [
        zone.id
        for zone in snapshot.zones
        if any(is_subdomain(name, zone.domain) for name in _names(explanation, zone))
    ]


def trials(
    explanation: Explanation, config: PeerDns, snapshot: Snapshot, graph: ReachGraph
) -> Iterator[Trial]:
    """What would lead somewhere else, in the order of what the peer does not get."""
    for excluded in config.excluded:
        codes = {reason.code for reason in excluded.reasons}
        simple = codes <= {"disabled", "no_shared_group"}
        if simple and _concerns(_item(snapshot, excluded), explanation):
            yield from _tried(explanation, excluded, snapshot, graph)


def _names(explanation: Explanation, zone: Zone) -> set[str]:
    """Names that are looked up, by a peer that gets the zone."""
    names = {leg.name for query in explanation.queries for leg in query.legs}
    typed = explanation.queries[-1].name
    short = "." not in typed and not explanation.name.endswith(".")
    return names | {f"{typed}.{zone.domain}"} if zone.search and short else names


def _concerns(item: Zone | NameserverGroup, explanation: Explanation) -> bool:
    if isinstance(item, Zone):
        names = _names(explanation, item)
        names |= {WILDCARD + name.partition(".")[2] for name in names}
        return any(record.name in names for record in item.records)
    names = {leg.name for query in explanation.queries for leg in query.legs}
    return item.primary or any(
        is_subdomain(name, domain) for name in names for domain in item.domains
    )


def _tried(
    explanation: Explanation, excluded: Excluded, snapshot: Snapshot, graph: ReachGraph
) -> Iterator[Trial]:
    subject = Subject(excluded.kind, excluded.id, excluded.name)
    found: dict[tuple[Outcome, bool, Phrase], list[Subject]] = {}
    for group, clause, changed in _ways(excluded, subject, snapshot, explanation):
        config = peer_config(changed, explanation.peer_id, graph=graph)
        then = explain(config, explanation.name, explanation.type)
        outcome = _elsewhere(explanation, then, subject)
        if outcome is not None:
            depends = outcome is not then.outcome
            found.setdefault((outcome, depends, clause), []).extend(group)
    for (outcome, depends, clause), groups in found.items():
        member: Phrase = ("the peer were in group ", *either(groups)) if groups else ()
        both: Phrase = (" and ",) if clause and member else ()
        condition = (*clause, *both, *member)
        yield Trial(excluded, subject, condition, outcome, depends)


def _elsewhere(now: Explanation, then: Explanation, subject: Subject) -> Outcome | None:
    """Where the look-up ends then, if the thing answers or is asked in place of others."""
    answered = next(
        (q for q in then.queries if q.outcome.kind is OutcomeKind.ANSWER), None
    )
    if answered is not None:
        decided = any(step.subject == subject for step in deciding_steps(answered))
        return answered.outcome if decided else None
    asked = [server.group for server in then.outcome.servers]
    before = {server.group for server in now.outcome.servers}
    elsewhere = subject in asked and before.isdisjoint(asked)
    return then.outcome if elsewhere else None


def _ways(
    excluded: Excluded, subject: Subject, snapshot: Snapshot, explanation: Explanation
) -> Iterator[tuple[list[Subject], Phrase, Snapshot]]:
    """How the peer could get it: the group it would have to be in, what else, and then."""
    codes = {reason.code for reason in excluded.reasons}
    peer = snapshot.peers[explanation.peer_id]
    noun = "zone " if excluded.kind == "zone" else "nameserver group "
    clause: Phrase = ()
    if "disabled" in codes:
        clause = (noun, subject, " were enabled")
        snapshot = _with(snapshot, excluded, enabled=True)
    if "no_shared_group" not in codes:
        yield [], clause, snapshot
        return
    assigned = _item(snapshot, excluded).groups
    for id_ in sorted(assigned - snapshot.disabled_groups)[:MOST_GROUPS]:
        joined = peer._replace(groups=peer.groups | {id_})
        changed = replace(snapshot, peers={**snapshot.peers, peer.id: joined})
        group = Subject("group", id_, snapshot.group_names.get(id_, id_))
        yield [group], clause, changed
    if not assigned and peer.groups:
        both: Phrase = (" and ",) if clause else ()
        assigning = (noun, subject, " were assigned to a group of the peer")
        changed = _with(snapshot, excluded, groups=peer.groups)
        yield [], (*clause, *both, *assigning), changed


def _item(snapshot: Snapshot, excluded: Excluded) -> Zone | NameserverGroup:
    items: tuple[Zone | NameserverGroup, ...] = snapshot.nameserver_groups
    if excluded.kind == "zone":
        items = snapshot.zones
    return next(item for item in items if item.id == excluded.id)


def _with(snapshot: Snapshot, excluded: Excluded, **values: object) -> Snapshot:
    """The snapshot with other values of one zone or nameserver group."""
    chosen = _item(snapshot, excluded)
    changed: Any = replace(chosen, **values)  # type: ignore[arg-type]  # of both kinds
    if excluded.kind == "zone":
        zones = [changed if zone is chosen else zone for zone in snapshot.zones]
        return replace(snapshot, zones=tuple(zones))
    groups = [changed if g is chosen else g for g in snapshot.nameserver_groups]
    return replace(snapshot, nameserver_groups=tuple(groups))
