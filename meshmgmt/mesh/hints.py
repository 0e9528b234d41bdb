"""Why a peer sees nobody, has no names, or does not see another: for people."""

from collections.abc import Iterator
from typing import NamedTuple

from meshmgmt.mesh.compute import Mesh
from meshmgmt.mesh.membership import absence
from meshmgmt.mesh.posture import passes
from meshmgmt.mesh.reasons import Reason
from meshmgmt.mesh.snapshot import Policy, Rule, RuleSide


class Obstacle(NamedTuple):
    """A rule that would let two peers see each other, and all that is in its way.

    `off` says what is switched off: `policy`, `rule`. `failed` are names of posture
    checks of the policy that the peer `source` does not pass.
    """

    policy: Policy
    source: str
    off: tuple[str, ...]
    failed: tuple[str, ...]


def obstacles(mesh: Mesh, one: str, other: str) -> Iterator[Obstacle]:
    """The accept rules with the two on opposite sides, least in the way first.

    That one of the two takes no part is besides (`membership.absence`).
    """
    found = [
        in_the_way(mesh, source, policy, rule)
        for policy in mesh.snapshot.policies
        for rule in policy.rules
        for source, target in ((one, other), (other, one))
        if rule.accept
        and names(mesh, source, rule.sources)
        and names(mesh, target, rule.destinations)
    ]
    # Stable: of equal ones the policy made first comes first.
    yield from sorted(found, key=lambda each: len(each.off) + len(each.failed))


def in_the_way(mesh: Mesh, source: str, policy: Policy, rule: Rule) -> Obstacle:
    """What keeps a rule from being in force for one of its sources, if anything."""
    states = (("policy", policy.enabled), ("rule", rule.enabled))
    off = tuple([what for what, enabled in states if not enabled])
    return Obstacle(policy, source, off, _failed(mesh, source, policy))


def hints(mesh: Mesh, peer_id: str) -> list[str]:
    """What keeps the map of a peer empty; nothing when it is not."""
    peer = mesh.snapshot.peers[peer_id]
    if absent := absence(peer, mesh.snapshot, mesh.now):
        return [Reason(code).text for code in absent]
    found = mesh.network_map(peer_id)
    reasons = [] if found.remotes else list(_nobody(mesh, peer_id))
    if found.dns is None:
        reasons.append("DNS management is disabled for a group of the peer")
    return reasons


def _nobody(mesh: Mesh, peer_id: str) -> Iterator[str]:
    named = False
    for policy in mesh.snapshot.policies:
        for rule in policy.rules:
            if reason := _reason(mesh, peer_id, policy, rule):
                named = True
                yield f"policy {policy.name}: {reason}"
    if not named:
        yield "no policy names the peer or a group of it"


def _reason(mesh: Mesh, peer_id: str, policy: Policy, rule: Rule) -> str:
    """Why a rule shows nobody to a peer; empty for one that does not name it."""
    is_source = names(mesh, peer_id, rule.sources)
    if not (is_source or names(mesh, peer_id, rule.destinations)):
        return ""
    if not (policy.enabled and rule.enabled):
        return "it is switched off"
    if not rule.accept:
        return "it only drops"
    failed = _failed(mesh, peer_id, policy) if is_source else ()
    if failed:
        return f"the peer does not pass {', '.join(failed)}"
    return "nobody else is on its other side"


def _failed(mesh: Mesh, peer_id: str, policy: Policy) -> tuple[str, ...]:
    """Names of the posture checks of a policy that a peer does not pass."""
    peer, wanted = mesh.snapshot.peers[peer_id], mesh.snapshot.checks_of(policy)
    return tuple([check.name for check in wanted if not passes(peer, [check])])


def names(mesh: Mesh, peer_id: str, side: RuleSide) -> bool:
    """Tell whether a side of a rule names a peer, whether it takes part or not."""
    return side.names(peer_id, mesh.membership.groups_of(peer_id))
