"""Reads of the account what tests are about, and judges how they go."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, islice, permutations
from typing import Any, Final, NamedTuple

from django.db.models import Q

from meshmgmt.accesstests.models import EMPTY, FAILING, PASSING, AccessTest, End
from meshmgmt.accesstests.rules import (
    DNS,
    PEERS,
    REACH,
    ROUTED,
    VALUES,
    canonical_content,
)
from meshmgmt.accesstests.touching import Touch
from meshmgmt.core.ids import is_id
from meshmgmt.core.names import canonical
from meshmgmt.explain.reaching import destination_of
from meshmgmt.explain.resolution.explain import explain
from meshmgmt.explain.resolution.model import Explanation, OutcomeKind
from meshmgmt.inventory.models import Peer
from meshmgmt.mesh import Mesh
from meshmgmt.mesh.between import alike, unmet
from meshmgmt.mesh.extent import Extent
from meshmgmt.mesh.peerdns import PeerDns
from meshmgmt.mesh.reach import Destination, Maps, Traffic, verdict
from meshmgmt.mesh.reasons import Subject, subject_of
from meshmgmt.mesh.result import Dns
from meshmgmt.mesh.snapshot import Resource
from meshmgmt.meshstate.loading import load, load_among, load_met, mesh_of

MOST: Final = 10
"""So many failures of a test are told."""

NOT_HERE: Final = {
    OutcomeKind.FORWARDED: "other servers are asked",
    OutcomeKind.SYSTEM: "its own system resolves it",
    OutcomeKind.NXDOMAIN: "there is no such name",
    OutcomeKind.NODATA: "the name has no such record",
}


class Outcome(NamedTuple):
    """How a test goes; failures as they are stored and answered."""

    state: str
    failures: list[dict[str, Any]]


def members(mesh: Mesh, kind: str, ref: str) -> Collection[str]:
    """The peers that one end of a test stands for."""
    snapshot = mesh.snapshot
    if kind == "group":
        everybody = ref == snapshot.everybody
        found = snapshot.peers if everybody else snapshot.members.get(ref, ())
        return [peer_id for peer_id in found if peer_id in snapshot.peers]
    if kind == "user":
        return [id_ for id_, peer in snapshot.peers.items() if peer.user_id == ref]
    return [ref] if ref in snapshot.peers else []


def _resource(mesh: Mesh, id_: str) -> Resource | None:
    return next((each for each in mesh.snapshot.resources if each.id == id_), None)


def judged(mesh: Mesh, test: AccessTest) -> Outcome:
    """Return how a test goes; nothing is looked at of one that is off or names nobody."""
    sources = members(mesh, test.source_kind, test.source_ref)
    if not (test.enabled and sources and test.destination_ref):
        return Outcome(EMPTY, [])
    if test.kind == DNS:
        found = _unresolved(mesh, test, sources)
    elif test.destination_kind in PEERS:
        targets = members(mesh, test.destination_kind, test.destination_ref)
        if not targets or len({*sources, *targets}) == 1:
            return Outcome(EMPTY, [])
        found = _between(mesh, test, sources, targets)
    elif test.destination_kind == "resource" and (
        _resource(mesh, test.destination_ref) is None
    ):
        return Outcome(EMPTY, [])
    else:
        found = _routed(mesh, test, sources)
    failures = list(islice(found, MOST))
    return Outcome(FAILING if failures else PASSING, failures)


def is_kept_by(
    mesh: Mesh, test: AccessTest, peers: Collection[str] | None = None
) -> bool:
    """Tell whether no pair of a test between peers fails, of those one of `peers` is in."""
    sources = members(mesh, test.source_kind, test.source_ref)
    targets = members(mesh, test.destination_kind, test.destination_ref)
    if peers is None:
        return next(_unmet(mesh, test, sources, targets), None) is None
    found = chain(
        _unmet(mesh, test, [p for p in sources if p in peers], targets),
        _unmet(mesh, test, sources, [p for p in targets if p in peers]),
    )
    return next(found, None) is None


def _between(
    mesh: Mesh, test: AccessTest, sources: Collection[str], targets: Collection[str]
) -> Iterator[dict[str, Any]]:
    peers, others = mesh.snapshot.peers, Maps()
    for source, target in _once(_unmet(mesh, test, sources, targets)):
        destination = Destination("peer", target, peers[target].ip)
        why = _why(mesh, test, source, destination, others)
        yield _failure(mesh, source, subject_of(peers[target]), why)


def _unmet(
    mesh: Mesh, test: AccessTest, sources: Collection[str], targets: Collection[str]
) -> Iterator[tuple[str, str]]:
    if not (sources and targets):
        return iter(())
    traffic, reach = Traffic(test.protocol, test.port), test.expect == REACH
    return unmet(mesh, sources, targets, traffic, reach=reach)


def _once(pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    seen: set[tuple[str, str]] = set()
    for pair in pairs:
        if pair not in seen:
            seen.add(pair)
            yield pair


def _routed(
    mesh: Mesh, test: AccessTest, sources: Collection[str]
) -> Iterator[dict[str, Any]]:
    """Failures on the way to one thing, asked once for all sources alike."""
    destination = aim_of(test.destination_kind, test.destination_ref)
    named = Subject(destination.kind, destination.id, test.destination_ref)
    if resource := _resource(mesh, destination.id):
        named = subject_of(resource)
    others = Maps()
    for part in alike(mesh, sources, around=destination.id):
        why = _why(mesh, test, part[0], destination, others)
        for source in part if why else ():
            if source != destination.id:
                yield _failure(mesh, source, named, why)


def _why(
    mesh: Mesh, test: AccessTest, source: str, destination: Destination, others: Maps
) -> str:
    """Return why a source does not keep the promise, "" if it does."""
    traffic, reach = Traffic(test.protocol, test.port), test.expect == REACH
    # Obstacles are costly to find, and one is told.
    found = verdict(mesh, source, destination, traffic, most=int(reach), others=others)
    if reach:
        if found.allowed:
            return ""
        return found.obstacles[0].text if found.obstacles else "there is no way"
    let = [each.text for each in found.because if each.effect == "accept"]
    return let[0] if let else ""


def _unresolved(
    mesh: Mesh, test: AccessTest, sources: Collection[str]
) -> Iterator[dict[str, Any]]:
    named = Subject("domain", "", test.destination_ref)
    told: dict[tuple[Any, ...], str] = {}
    for source in sorted(sources):
        dns, sight = mesh.dns(source), mesh.sight(source)
        key = _given(dns)
        if key not in told:
            # Who sees which names is compared only where an answer hangs on it.
            own = mesh.membership.roster.bit(source)
            key = (*key, sight.names.mask | own if sight else 0)
        if key not in told:
            answer = explain(
                PeerDns(mesh, source), test.destination_ref, test.record_type
            )
            # Else all with these zones and servers get this answer, whomever they see.
            shared = key if _asks_peers(mesh, answer) else key[:2]
            told[shared] = told[key] = _dns_fault(test, answer)
        if told[key]:
            yield _failure(mesh, source, named, told[key])


def _given(dns: Dns | None) -> tuple[Any, ...]:
    """The zones and nameserver groups of a peer."""
    if dns is None:
        return None, None
    zones, groups = dns.zones, dns.nameserver_groups
    return tuple(each.id for each in zones), tuple(each.id for each in groups)


def _asks_peers(mesh: Mesh, answer: Explanation) -> bool:
    """Tell whether a name on the way of an answer may be that of a peer."""
    domain = mesh.snapshot.settings.dns_domain
    names = [leg.name for query in answer.queries for leg in query.legs]
    return bool(domain) and any(name.endswith(domain) for name in names)


def _dns_fault(test: AccessTest, answer: Explanation) -> str:
    """Return how an answer differs from what the test expects, "" if it does not."""
    wanted = {canonical_content(test.record_type, text) for text in test.contents}
    records = [r for r in answer.outcome.records if r.type == test.record_type]
    there = {canonical_content(r.type, r.content) for r in records}
    if test.expect == REACH:
        if there and (not wanted or there == wanted):
            return ""
        if there:
            return f"it resolves to {', '.join(sorted(there))}"
        return NOT_HERE.get(answer.outcome.kind, "it is not resolved")
    found = there & wanted if wanted else there
    return f"it resolves to {', '.join(sorted(found))}" if found else ""


def _failure(mesh: Mesh, source: str, target: Subject, why: str) -> dict[str, Any]:
    one = subject_of(mesh.snapshot.peers[source])
    ends = {"source": one._asdict(), "destination": target._asdict()}
    return {**ends, "because": why}


def read_mesh(tests: Sequence[AccessTest]) -> Mesh:
    """Return the mesh, with all that decides how the tests go."""
    # What a name resolves to may hang on any zone, group and peer.
    if any(test.kind == DNS for test in tests):
        return mesh_of(load)
    ends = [end for test in tests for end in test.ends]
    groups, peers = _groups(ends), _peers(ends)
    routed = any(test.destination_kind in ROUTED for test in tests)
    return mesh_of(lambda: load_among(peers, groups=groups, routers=routed))


def read_near(tests: Sequence[AccessTest], touch: Touch) -> Mesh:
    """Return the mesh, with what decides between those who came and went and others.

    That is whom they may meet by the groups they joined or left, and, of tests that name
    such a group, the other end.
    """
    ends = [
        other
        for test in tests
        for one, other in permutations(test.ends)
        if one[1] in touch.groups
    ]
    others = Extent(frozenset(_groups(ends)), frozenset(_peers(ends)))
    return mesh_of(lambda: load_met(touch.moved, by=touch.groups, others=others))


def aim_of(kind: str, ref: str) -> Destination:
    """Return what a resource, address or domain stands for: perhaps a peer."""
    if kind == "domain" and is_id(ref):
        return Destination("domain", "", canonical(ref))  # it only looks like an id
    return destination_of(ref)


def _groups(ends: Sequence[End]) -> set[str]:
    return {ref for kind, ref in ends if kind == "group" and ref}


def _peers(ends: Sequence[End]) -> list[str]:
    """The peers that are named, by id, owner, address or name."""
    named = [ref for kind, ref in ends if kind == "peer"]
    owners = [ref for kind, ref in ends if kind == "user"]
    values = {(kind, ref) for kind, ref in ends if kind in VALUES and ref}
    aims = [aim_of(kind, ref) for kind, ref in values]
    aimed = [found.id for found in aims if found.kind == "peer"]
    if not (named or owners or aimed):
        return []
    known = Q(pk__in=[*named, *aimed]) | Q(user__in=owners)
    return list(Peer.objects.filter(known).values_list("pk", flat=True))
