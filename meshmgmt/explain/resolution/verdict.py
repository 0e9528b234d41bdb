"""Why a look-up ends as it does, in one sentence, and what would change that."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from meshmgmt.core.names import is_subdomain
from meshmgmt.explain.resolution.model import (
    Explanation,
    Outcome,
    OutcomeKind,
    Phrase,
    Verdict,
    all_of,
    deciding_steps,
    either,
    hidden_peer,
    leading,
)
from meshmgmt.explain.resolution.trials import Trial, trials
from meshmgmt.mesh import Mesh
from meshmgmt.mesh.hints import Obstacle, obstacles
from meshmgmt.mesh.membership import absence
from meshmgmt.mesh.peerdns import PeerDns
from meshmgmt.mesh.reasons import Subject, group_of, subject_of

MOST_REMEDIES = 5
_SHOWN = 3
_AWAY = {
    "approval_pending": "which waits for approval",
    "login_expired": "whose login expired",
    "owner_blocked": "whose owner is blocked",
}
_SWITCHED = {"policy": "policy", "rule": "a rule of policy"}
_BACK = {
    "approval_pending": ("peer ", " were approved"),
    "login_expired": ("the login of peer ", " were renewed"),
    "owner_blocked": ("the owner of peer ", " were not blocked"),
}
_SYSTEM = "asked of the peer's own system resolver, because "


def needs_trials(explanation: Explanation) -> bool:
    """Tell whether `verdict` looks at what would change the answer."""
    return explanation.managed and explanation.outcome.kind is not OutcomeKind.ANSWER


def verdict(explanation: Explanation, config: PeerDns, mesh: Mesh) -> Verdict:
    """Judge an explanation; the mesh as `trials` wants it, with the hidden peer."""
    if not config.managed:
        return _unmanaged(config)
    reason = _reason(explanation, config, mesh)
    if not needs_trials(explanation):
        # Who has an answer needs no advice.
        return Verdict(reason, ())
    tried = list(islice(trials(explanation, config, mesh), MOST_REMEDIES))
    remedies = (
        *(_would(trial, explanation.type) for trial in tried),
        *_missing(explanation, mesh),
    )
    return Verdict(
        (*reason, *_withheld(tried), *_kept_back(explanation, mesh)),
        tuple(islice(dict.fromkeys(remedies), MOST_REMEDIES)),
    )


def _unmanaged(config: PeerDns) -> Verdict:
    snapshot = config.mesh.snapshot
    why = " and ".join(reason.text for reason in config.reasons_unmanaged)
    reason: Phrase = (f"{_SYSTEM}DNS of the peer is not managed: {why}",)
    back = _back(subject_of(config.peer), config.mesh)
    disabled = sorted(config.groups & snapshot.unmanaged_groups)
    if not disabled:
        return Verdict(reason, (("It would be managed if ", *back),))
    listed = either([group_of(snapshot, id_) for id_ in disabled], " and ")
    ways = (
        "the peer were not in group ",
        "DNS management were not disabled for group ",
    )
    return Verdict(
        reason,
        tuple(("It would be managed if ", *all_of(back, (w, *listed))) for w in ways),
    )


def _back(peer: Subject, mesh: Mesh) -> Phrase:
    """What would let a peer take part again; nothing for one that does."""
    words = [_BACK[code] for code in _absence(peer, mesh)]
    return all_of(*((before, peer, after) for before, after in words))


def _absence(peer: Subject, mesh: Mesh) -> tuple[str, ...]:
    return absence(mesh.snapshot.peers[peer.id], mesh.snapshot, mesh.now)


def _reason(explanation: Explanation, config: PeerDns, mesh: Mesh) -> Phrase:
    outcome = explanation.outcome
    name, wanted = outcome.name, explanation.type
    if outcome.kind is OutcomeKind.FORWARDED:
        return (*_forwarded(outcome, config), *_led(explanation))
    if outcome.kind is OutcomeKind.SYSTEM:
        nobody = f"no zone and no nameserver group that the peer gets has {name}"
        return (f"{_SYSTEM}{nobody}",)
    step = deciding_steps(explanation.decided_by)[-1]
    place = () if step.subject is None else _place(step.subject)
    if outcome.kind is OutcomeKind.ANSWER:
        found = [r.content for r in outcome.records if r.type == wanted]
        return (f"{_listed(found)}, because ", *place, f" has {name}")
    if outcome.kind is OutcomeKind.NODATA:
        where = (*place, f" has {name}, but no {wanted} record of it")
        return ("no data, because ", *where, "; nobody else is asked")
    if outcome.kind is OutcomeKind.NXDOMAIN:
        hidden = hidden_peer(explanation)
        why: Phrase = (
            (
                f"{name} belongs to peer ",
                hidden,
                f", {_why_hidden(hidden, explanation.peer_id, mesh)}",
            )
            if hidden
            else (f"no peer is called {name}",)
        )
        return ("does not exist, because ", *why, "; nobody else is asked")
    return (step.text,)


def _forwarded(outcome: Outcome, config: PeerDns) -> Phrase:
    asked = dict.fromkeys(server.group for server in outcome.servers)
    groups = {group.id: group for group in config.servers}
    first = next(iter(asked))
    domains = [d for d in groups[first.id].domains if is_subdomain(outcome.name, d)]
    served = max(domains, key=len) if domains else "all other names"
    many = len(asked) > 1
    noun, verb = ("groups", "serve") if many else ("group", "serves")
    servers = _listed([server.ip for server in outcome.servers])
    because = f"forwarded to {servers}, because nameserver {noun} "
    return (because, *either(list(asked), " and "), f" {verb} {served}")


def _led(explanation: Explanation) -> Phrase:
    """Which CNAME leads to the name that is forwarded."""
    zone = leading(explanation)
    if zone is None:
        return ()
    return ("; a CNAME of ", *_place(zone), f" leads to {explanation.outcome.name}")


def _withheld(tried: Iterable[Trial]) -> Phrase:
    """What has the name, though the peer does not get it."""
    for trial in tried:
        if trial.subject.kind == "zone":
            why = " and ".join(reason.text for reason in trial.excluded.reasons)
            return ("; zone ", trial.subject, f" has the name, but {why}")
    return ()


def _kept_back(explanation: Explanation, mesh: Mesh) -> Phrase:
    """Which peer has the name, where the look-up went on after its zone."""
    hidden = hidden_peer(explanation)
    if hidden is None or explanation.outcome.kind is OutcomeKind.NXDOMAIN:
        return ()
    why = _why_hidden(hidden, explanation.peer_id, mesh)
    return ("; peer ", hidden, f" has the name, {why}")


def _would(trial: Trial, wanted: str) -> Phrase:
    outcome = trial.outcome
    if outcome.kind is OutcomeKind.ANSWER:
        found = [r.content for r in outcome.records if r.type == wanted]
        unless = ", unless the servers asked before know the name"
        last = (unless,) if trial.depends else ()
        return (f"It would resolve to {_listed(found)} if ", *trial.condition, *last)
    if trial.subject.kind == "zone":
        return (f"It would be looked up as {outcome.name} if ", *trial.condition)
    servers = [s.ip for s in outcome.servers if s.group == trial.subject]
    asked = f"It would be forwarded to {_listed(servers)} (nameserver group "
    return (asked, trial.subject, ") if ", *trial.condition)


def _why_hidden(peer: Subject, asking: str, mesh: Mesh) -> str:
    """Why the asking peer is not told a name of another: a clause about that one."""
    if away := [_AWAY[code] for code in _absence(peer, mesh)]:
        return " and ".join(away)
    sight = mesh.sight(asking)
    if sight is not None and sight.remotes.has(peer.id):
        return "of which this peer sees the address alone, for no policy joins the two"
    # The one with the least in the way is what an operator would change.
    nearest = next(obstacles(mesh, asking, peer.id), None)
    why = _in_the_way(nearest, mesh) if nearest else "no policy lets the two peers meet"
    return f"which this peer cannot reach: {why}"


def _in_the_way(obstacle: Obstacle, mesh: Mesh) -> str:
    name = mesh.snapshot.peers[obstacle.source].name
    policy = obstacle.policy.name
    said = [f"{_SWITCHED[what]} {policy} is disabled" for what in obstacle.off]
    if obstacle.failed:
        checks = ", ".join(obstacle.failed)
        said.append(f"{name} does not pass {checks}, which policy {policy} asks for")
    return " and ".join(said)


def _missing(explanation: Explanation, mesh: Mesh) -> Iterator[Phrase]:
    """What is not there: a way to a peer, records of the zones that were looked at."""
    hidden = hidden_peer(explanation)
    if hidden is not None and _would_have(explanation, hidden, mesh):
        back = _back(hidden, mesh)
        found = obstacles(mesh, explanation.peer_id, hidden.id)
        ways = [_way(each, mesh) for each in found]
        for way in ways or [("a policy let this peer reach peer ", hidden)]:
            yield ("It would resolve if ", *all_of(back, way))
    for query in explanation.queries:
        name = query.legs[-1].name
        for step in query.legs[-1].steps:
            subject = step.subject
            if step.code in {"absent", "nodata"} and subject and subject.kind == "zone":
                record = f" had the {explanation.type} record {name}"
                yield ("It would resolve if zone ", subject, record)


def _would_have(explanation: Explanation, hidden: Subject, mesh: Mesh) -> bool:
    """Tell whether names of the hidden peer have records of the type for the asking one."""
    if explanation.type != "AAAA":
        return explanation.type == "A"
    peers = mesh.snapshot.peers
    return peers[hidden.id].has_ipv6 and peers[explanation.peer_id].has_ipv6


def _way(obstacle: Obstacle, mesh: Mesh) -> Phrase:
    """What would have to be for a rule to let two peers meet; nothing: it does."""
    policy = subject_of(obstacle.policy)
    ways: list[Phrase] = [
        (f"{_SWITCHED[what]} ", policy, " were enabled") for what in obstacle.off
    ]
    if obstacle.failed:
        peer = subject_of(mesh.snapshot.peers[obstacle.source])
        checks = f" passed {', '.join(obstacle.failed)}, as policy "
        ways.append(("peer ", peer, checks, policy, " asks"))
    return all_of(*ways)


def _place(subject: Subject) -> Phrase:
    if subject.kind == "peers":
        return ("the peers' own zone",)
    return ("zone ", subject)


def _listed(texts: Sequence[str]) -> str:
    shown = ", ".join(texts[:_SHOWN])
    return shown if len(texts) <= _SHOWN else f"{shown} …"
