"""How tests go in a loaded mesh: state, and the first failures."""

from collections.abc import Collection, Iterable, Iterator
from itertools import chain, islice
from typing import Any, Final, NamedTuple

from meshmgmt.accesstests.models import EMPTY, FAILING, PASSING, AccessTest
from meshmgmt.accesstests.reading import aim_of
from meshmgmt.accesstests.rules import DNS, PEERS, REACH, canonical_content
from meshmgmt.explain.resolution.explain import explain
from meshmgmt.explain.resolution.model import Explanation, OutcomeKind
from meshmgmt.mesh import Mesh
from meshmgmt.mesh.between import alike, unmet
from meshmgmt.mesh.peerdns import PeerDns
from meshmgmt.mesh.reach import Destination, Traffic, verdict
from meshmgmt.mesh.reasons import Subject, subject_of
from meshmgmt.mesh.result import Dns
from meshmgmt.mesh.snapshot import Resource

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
    peers = mesh.snapshot.peers
    for source, target in _once(_unmet(mesh, test, sources, targets)):
        destination = Destination("peer", target, peers[target].ip)
        why = _why(mesh, test, source, destination)
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
    for part in alike(mesh, sources, around=destination.id):
        why = _why(mesh, test, part[0], destination)
        for source in part if why else ():
            if source != destination.id:
                yield _failure(mesh, source, named, why)


def _why(mesh: Mesh, test: AccessTest, source: str, destination: Destination) -> str:
    """Return why a source does not keep the promise, "" if it does."""
    traffic = Traffic(test.protocol, test.port)
    found = verdict(mesh, source, destination, traffic)
    if test.expect == REACH:
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
