"""How a peer resolves a name with its configuration, and why; pure."""

from dns.resolution.explain import HiddenPeer, explain
from dns.resolution.model import (
    RECORD_TYPES,
    Explanation,
    Leg,
    Outcome,
    OutcomeKind,
    Query,
    QueryError,
    Server,
    Step,
    Subject,
    to_json,
)
from dns.resolution.render import render

__all__ = [
    "RECORD_TYPES",
    "Explanation",
    "HiddenPeer",
    "Leg",
    "Outcome",
    "OutcomeKind",
    "Query",
    "QueryError",
    "Server",
    "Step",
    "Subject",
    "explain",
    "render",
    "to_json",
]
