"""An explanation as a tree for terminals."""

from collections.abc import Iterator

from meshmgmt.core.printable import printable
from meshmgmt.explain.resolution.model import (
    Explanation,
    Leg,
    Outcome,
    OutcomeKind,
    Query,
    text_of,
)
from meshmgmt.mesh.snapshot import Record

ENDS = {
    OutcomeKind.ANSWER: "answered by the peer itself",
    OutcomeKind.NODATA: "the name exists, but has no record of this type (NODATA)",
    OutcomeKind.NXDOMAIN: "the name does not exist (NXDOMAIN)",
    OutcomeKind.FORWARDED: "forwarded to these servers, in this order",
    OutcomeKind.SYSTEM: "asked of the peer's system resolver",
    OutcomeKind.LOOP: "fails: the aliases form a loop",
    OutcomeKind.DEPTH: "fails: too many aliases",
    OutcomeKind.TOO_LONG: "cannot be asked: too long a name",
}


def render(explanation: Explanation) -> str:
    """The tree as text, one line per step, ending with a line feed."""
    return "".join(f"{printable(line)}\n" for line in _lines(explanation))


def _lines(explanation: Explanation) -> Iterator[str]:
    yield f"{explanation.name} {explanation.type}"
    last = len(explanation.queries) - 1
    for position, query in enumerate(explanation.queries):
        branch, stem = ("└─ ", "   ") if position == last else ("├─ ", "│  ")
        yield branch + _headline(query)
        yield from (stem + line for line in _query_lines(query))
    yield f"=> {_summary(explanation.outcome)}"
    yield from (f"   {line}" for line in _found(explanation.outcome))
    if explanation.verdict is not None:
        yield f"   why: {text_of(explanation.verdict.reason)}"
        yield from (f"   {text_of(remedy)}" for remedy in explanation.verdict.remedies)
    if explanation.depends and explanation.outcome is not (
        explanation.queries[-1].outcome
    ):
        yield "   if they do not know the name, the next query above is tried"


def _headline(query: Query) -> str:
    source = query.source
    if source is None:
        return f"query {query.name}"
    kind = {"peers": "the peers' own zone", "zone": f"zone {source.name}"}.get(
        source.kind, f"group {source.name}"
    )
    return f"query {query.name} (search domain of {kind})"


def _query_lines(query: Query) -> Iterator[str]:
    for number, leg in enumerate(query.legs):
        if number:
            yield f"then {leg.name}"
        yield from _leg_lines(leg)
    yield f"= {_summary(query.outcome)}"


def _leg_lines(leg: Leg) -> Iterator[str]:
    for step in leg.steps:
        yield f"{'>' if step.decides else '-'} [{step.stage_words}] {step.text}"
        if step.decides:
            yield from (f"    {_record(record)}" for record in step.records)


def _summary(outcome: Outcome) -> str:
    return f"{outcome.name}: {ENDS[outcome.kind]}"


def _found(outcome: Outcome) -> Iterator[str]:
    yield from (_record(record) for record in outcome.records)
    for server in outcome.servers:
        host = f"[{server.ip}]" if ":" in server.ip else server.ip
        yield f"{host}:{server.port} ({server.ns_type}, group {server.group.name})"


def _record(record: Record) -> str:
    return f"{record.name} {record.ttl} {record.type} {record.content}"
