"""Why a look-up ends as it does, in one sentence, and what would change that."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from dns.effective.result import PeerDns
from dns.effective.snapshot import Snapshot
from dns.resolution.model import (
    Explanation,
    Outcome,
    OutcomeKind,
    Phrase,
    Query,
    Step,
    Subject,
    Verdict,
    deciding_steps,
    either,
)
from dns.resolution.trials import Trial, trials
from meshmgmt.access.reach import ReachGraph
from meshmgmt.core.names import is_subdomain

MOST_REMEDIES = 5
_SHOWN = 3
_SYSTEM = "asked of the peer's own system resolver, because "


def verdict(
    explanation: Explanation,
    config: PeerDns,
    snapshot: Snapshot,
    graph: ReachGraph | None = None,
) -> Verdict:
    """Judge an explanation; the snapshot as `trials` wants it, the graph is its own."""
    if not config.managed:
        return _unmanaged(config, snapshot)
    reason = _reason(explanation, config)
    if explanation.outcome.kind is OutcomeKind.ANSWER:
        return Verdict(reason, ())
    graph = graph or ReachGraph(snapshot.reach)
    tried = list(islice(trials(explanation, config, snapshot, graph), MOST_REMEDIES))
    remedies = (
        *(_would(trial, explanation.type) for trial in tried),
        *_missing(explanation),
    )
    return Verdict(
        (*reason, *_withheld(tried)),
        tuple(islice(dict.fromkeys(remedies), MOST_REMEDIES)),
    )


def _unmanaged(config: PeerDns, snapshot: Snapshot) -> Verdict:
    peer = snapshot.peers[config.peer_id]
    reason: Phrase = (f"{_SYSTEM}DNS of the peer is not managed: {config.reason.text}",)
    if not peer.approved:
        subject = Subject("peer", peer.id, peer.name)
        return Verdict(
            reason, (("It would be managed if peer ", subject, " were approved"),)
        )
    disabled = sorted(peer.groups & snapshot.disabled_groups)
    names = snapshot.group_names
    groups = [Subject("group", id_, names.get(id_, id_)) for id_ in disabled]
    listed = either(groups, " and ")
    left: Phrase = ("It would be managed if the peer were not in group ", *listed)
    enabled: Phrase = (
        *(
            "It would be managed if DNS management were not disabled for group ",
            *listed,
        ),
    )
    return Verdict(reason, (left, enabled))


def _reason(explanation: Explanation, config: PeerDns) -> Phrase:
    outcome = explanation.outcome
    name, wanted = outcome.name, explanation.type
    if outcome.kind is OutcomeKind.FORWARDED:
        return _forwarded(outcome, config)
    if outcome.kind is OutcomeKind.SYSTEM:
        nobody = f"no zone and no nameserver group that the peer gets has {name}"
        return (f"{_SYSTEM}{nobody}",)
    query = next(q for q in explanation.queries if q.outcome is outcome)
    step = deciding_steps(query)[-1]
    place = () if step.subject is None else _place(step.subject)
    if outcome.kind is OutcomeKind.ANSWER:
        found = [r.content for r in outcome.records if r.type == wanted]
        return (f"{_listed(found)}, because ", *place, f" has {name}")
    if outcome.kind is OutcomeKind.NODATA:
        where = (*place, f" has {name}, but no {wanted} record of it")
        return ("no data, because ", *where, "; nobody else is asked")
    if outcome.kind is OutcomeKind.NXDOMAIN:
        hidden = _hidden(explanation)
        why: Phrase = (
            (f"{name} belongs to peer ", hidden, ", which this peer cannot reach")
            if hidden
            else (f"no peer is called {name}",)
        )
        return ("does not exist, because ", *why, "; nobody else is asked")
    return (step.text,)


def _forwarded(outcome: Outcome, config: PeerDns) -> Phrase:
    asked = dict.fromkeys(server.group for server in outcome.servers)
    groups = {group.id: group for group in config.nameserver_groups}
    first = next(iter(asked))
    domains = [d for d in groups[first.id].domains if is_subdomain(outcome.name, d)]
    served = max(domains, key=len) if domains else "all other names"
    many = len(asked) > 1
    noun, verb = ("groups", "serve") if many else ("group", "serves")
    servers = _listed([server.ip for server in outcome.servers])
    because = f"forwarded to {servers}, because nameserver {noun} "
    return (because, *either(list(asked), " and "), f" {verb} {served}")


def _withheld(tried: Iterable[Trial]) -> Phrase:
    """What has the name, though the peer does not get it."""
    for trial in tried:
        if trial.excluded.kind == "zone":
            why = " and ".join(reason.text for reason in trial.excluded.reasons)
            return ("; zone ", trial.subject, f" has the name, but {why}")
    return ()


def _would(trial: Trial, wanted: str) -> Phrase:
    outcome = trial.outcome
    if outcome.kind is OutcomeKind.ANSWER:
        found = [r.content for r in outcome.records if r.type == wanted]
        unless = ", unless the servers asked before know the name"
        last = (unless,) if trial.depends else ()
        return (f"It would resolve to {_listed(found)} if ", *trial.condition, *last)
    servers = [s.ip for s in outcome.servers if s.group == trial.subject]
    asked = f"It would be forwarded to {_listed(servers)} (nameserver group "
    return (asked, trial.subject, ") if ", *trial.condition)


def _missing(explanation: Explanation) -> Iterator[Phrase]:
    """What is not there: records of the zones that were looked at, a way to a peer."""
    hidden = _hidden(explanation)
    if hidden is not None:
        yield ("It would resolve if a policy let this peer reach peer ", hidden)
    for query in explanation.queries:
        name = query.legs[-1].name
        for step in query.legs[-1].steps:
            subject = step.subject
            if step.code in {"absent", "nodata"} and subject and subject.kind == "zone":
                record = f" had the {explanation.type} record {name}"
                yield ("It would resolve if zone ", subject, record)


def _hidden(explanation: Explanation) -> Subject | None:
    steps = (step for query in explanation.queries for step in _steps(query))
    return next((s.subject for s in steps if s.code == "peer_not_reachable"), None)


def _steps(query: Query) -> Iterator[Step]:
    return (step for leg in query.legs for step in leg.steps)


def _place(subject: Subject) -> Phrase:
    if subject.kind == "peers":
        return ("the peers' own zone",)
    return ("zone ", subject)


def _listed(texts: Sequence[str]) -> str:
    shown = ", ".join(texts[:_SHOWN])
    return shown if len(texts) <= _SHOWN else f"{shown} …"
