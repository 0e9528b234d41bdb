"""How a peer resolves a name with its configuration, and why; pure."""

from dns.resolution.explain import HiddenPeer, explain
from dns.resolution.model import (
    RECORD_TYPES,
    Explanation,
    Leg,
    Outcome,
    OutcomeKind,
    Phrase,
    Query,
    QueryError,
    Server,
    Step,
    Subject,
    Verdict,
    text_of,
    to_json,
)
from dns.resolution.render import render
from dns.resolution.trials import covering_zones
from dns.resolution.verdict import verdict

__all__ = [
    "RECORD_TYPES",
    "Explanation",
    "HiddenPeer",
    "Leg",
    "Outcome",
    "OutcomeKind",
    "Phrase",
    "Query",
    "QueryError",
    "Server",
    "Step",
    "Subject",
    "Verdict",
    "covering_zones",
    "explain",
    "render",
    "text_of",
    "to_json",
    "verdict",
]
