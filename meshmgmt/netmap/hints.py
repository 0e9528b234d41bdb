"""Why a peer sees nobody, or has no names: sentences for people."""

from collections.abc import Iterator

from meshmgmt.access.reach import RuleSide
from meshmgmt.netmap.compute import Mesh
from meshmgmt.netmap.membership import login_ends
from meshmgmt.netmap.posture import passes
from meshmgmt.netmap.snapshot import Policy, Rule


def hints(mesh: Mesh, peer_id: str, now: float) -> list[str]:
    """What keeps the map of a peer empty; nothing when it is not."""
    found = mesh.network_map(peer_id)
    if not found.takes_part:
        return list(_not_taking_part(mesh, peer_id, now))
    reasons = [] if found.remotes else list(_nobody(mesh, peer_id))
    if found.dns is None:
        reasons.append("DNS management is disabled for a group of the peer")
    return reasons


def _not_taking_part(mesh: Mesh, peer_id: str, now: float) -> Iterator[str]:
    peer, snapshot = mesh.snapshot.peers[peer_id], mesh.snapshot
    if not peer.approved:
        yield "the peer waits for approval"
    ends = login_ends(peer, snapshot.settings)
    if peer.login_expired or (ends is not None and ends <= now):
        yield "the login of the peer expired"
    owner = snapshot.users.get(peer.user_id) if peer.user_id else None
    if owner is not None and owner.blocked:
        yield "the owner of the peer is blocked"


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
    is_source = _names(mesh, peer_id, rule.sources)
    if not (is_source or _names(mesh, peer_id, rule.destinations)):
        return ""
    if not (policy.enabled and rule.enabled):
        return "it is switched off"
    if not rule.accept:
        return "it only drops"
    checks = [
        mesh.snapshot.checks[id_]
        for id_ in policy.checks
        if id_ in mesh.snapshot.checks
    ]
    failed = [
        check.name
        for check in checks
        if not passes(mesh.snapshot.peers[peer_id], [check])
    ]
    if is_source and failed:
        return f"the peer does not pass {', '.join(failed)}"
    return "nobody else is on its other side"


def _names(mesh: Mesh, peer_id: str, side: RuleSide) -> bool:
    return side.peer == peer_id or not side.groups.isdisjoint(
        mesh.membership.groups_of(peer_id)
    )
