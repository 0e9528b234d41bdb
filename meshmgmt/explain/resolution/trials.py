"""The same question, asked in an account where a peer gets more than it does.

One thing at a time is tried: a group more for the peer, a zone or nameserver group that
is enabled or assigned. Whatever else comes along with that counts, too: each is a mesh of
its own.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from meshmgmt.core.names import WILDCARD, is_subdomain
from meshmgmt.explain.resolution.explain import explain
from meshmgmt.explain.resolution.model import (
    Explanation,
    Outcome,
    OutcomeKind,
    Phrase,
    all_of,
    deciding_steps,
    either,
    leading,
)
from meshmgmt.mesh import Mesh
from meshmgmt.mesh.peerdns import Excluded, PeerDns
from meshmgmt.mesh.reasons import Subject, group_of
from meshmgmt.mesh.snapshot import NameserverGroup, Snapshot, Zone

_Item = Zone | NameserverGroup
MOST_GROUPS = 5
"""So many groups are tried for one thing."""


@dataclass(frozen=True, slots=True)
class Trial:
    """Something that the peer does not get, and the outcome if it did.

    `condition` is a clause that says what has to be for that. `depends`: servers are
    asked before, and must not know the name.
    """

    excluded: Excluded
    condition: Phrase
    outcome: Outcome
    depends: bool

    @property
    def subject(self) -> Subject:
        return self.excluded.subject


def covering_zones(explanation: Explanation, snapshot: Snapshot) -> list[str]:
    """Ids of the zones that could have a name that was, or would be, looked up.

    Those are the zones whose records `trials` has to know.
    """
    return [
        zone.id
        for zone in snapshot.zones
        if any(is_subdomain(name, zone.domain) for name in _names(explanation, zone))
    ]


def groups_to_try(explanation: Explanation, snapshot: Snapshot) -> set[str]:
    """Groups that `trials` may put the peer into."""
    zones = set(covering_zones(explanation, snapshot))
    items: list[_Item] = [z for z in snapshot.zones if z.id in zones]
    items += [g for g in snapshot.nameserver_groups if _concerns(g, explanation)]
    return {id_ for item in items for id_ in _groups_of(item, snapshot)}


def trials(explanation: Explanation, config: PeerDns, mesh: Mesh) -> Iterator[Trial]:
    """What would lead somewhere else, in the order of what the peer does not get.

    The mesh must hold the records of `covering_zones`, and all that the peer would meet
    in `groups_to_try`.
    """
    # There may be hundreds: each is found by its id.
    items: dict[str, _Item] = {zone.id: zone for zone in mesh.snapshot.zones}
    items |= {group.id: group for group in mesh.snapshot.nameserver_groups}
    for excluded in config.excluded:
        item = items[excluded.subject.id]
        codes = {reason.code for reason in excluded.reasons}
        # What is out for other reasons, too, takes more than one change.
        simple = codes <= {"disabled", "no_shared_group"}
        if simple and _concerns(item, explanation):
            yield from _tried(explanation, excluded, item, mesh)


def _names(explanation: Explanation, zone: Zone) -> set[str]:
    """Names that are looked up, by a peer that gets the zone."""
    names = {leg.name for query in explanation.queries for leg in query.legs}
    typed = explanation.queries[-1].name
    short = "." not in typed and not explanation.name.endswith(".")
    return names | {f"{typed}.{zone.domain}"} if zone.search and short else names


def _concerns(item: _Item, explanation: Explanation) -> bool:
    if isinstance(item, Zone):
        names = _names(explanation, item)
        names |= {WILDCARD + name.partition(".")[2] for name in names}
        return any(record.name in names for record in item.records)
    names = {leg.name for query in explanation.queries for leg in query.legs}
    return item.primary or any(
        is_subdomain(name, domain) for name in names for domain in item.domains
    )


def _tried(
    explanation: Explanation, excluded: Excluded, item: _Item, mesh: Mesh
) -> Iterator[Trial]:
    found: dict[tuple[Outcome, bool, Phrase], list[Subject]] = {}
    for group, clause, changed in _ways(excluded, item, mesh, explanation.peer_id):
        config = PeerDns(Mesh(changed, mesh.now), explanation.peer_id)
        then = explain(config, explanation.name, explanation.type)
        outcome = _elsewhere(explanation, then, excluded.subject)
        if outcome is not None:
            depends = outcome is not then.outcome
            found.setdefault((outcome, depends, clause), []).extend(group)
    for (outcome, depends, clause), groups in found.items():
        member: Phrase = ("the peer were in group ", *either(groups)) if groups else ()
        yield Trial(excluded, all_of(clause, member), outcome, depends)


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
    return then.outcome if elsewhere or subject == leading(then) else None


def _ways(
    excluded: Excluded, item: _Item, mesh: Mesh, peer_id: str
) -> Iterator[tuple[list[Subject], Phrase, Snapshot]]:
    """How the peer could get it: the group it would have to be in, what else, and then."""
    codes = {reason.code for reason in excluded.reasons}
    snapshot = mesh.snapshot
    subject = excluded.subject
    noun = f"{subject.kind.replace('_', ' ')} "
    clause: Phrase = ()
    if "disabled" in codes:
        clause = (noun, subject, " were enabled")
        item = replace(item, enabled=True)
        snapshot = _with(snapshot, item)
    if "no_shared_group" not in codes:
        yield [], clause, snapshot
        return
    for id_ in _groups_of(item, snapshot):
        joined = snapshot.members.get(id_, frozenset()) | {peer_id}
        changed = replace(snapshot, members={**snapshot.members, id_: joined})
        yield [group_of(snapshot, id_)], clause, changed
    if not item.groups:
        assigning = (noun, subject, " were assigned to a group of the peer")
        mine = mesh.membership.groups_of(peer_id)
        changed = _with(snapshot, replace(item, groups=mine))
        yield [], all_of(clause, assigning), changed


def _groups_of(item: _Item, snapshot: Snapshot) -> list[str]:
    # In a group without DNS management the peer would get nothing at all.
    return sorted(item.groups - snapshot.unmanaged_groups)[:MOST_GROUPS]


def _with(snapshot: Snapshot, item: _Item) -> Snapshot:
    """The snapshot with a zone or nameserver group as it would be."""
    place = "zones" if isinstance(item, Zone) else "nameserver_groups"
    before = getattr(snapshot, place)
    there: Any = {place: tuple(item if x.id == item.id else x for x in before)}
    return replace(snapshot, **there)
