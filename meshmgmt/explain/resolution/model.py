"""The explanation of one look-up: queries, their legs, their steps.

A query is a full name that is tried (short names give several). It has one leg,
and one more for each CNAME followed. A leg lists in the seed's order ("DNS
resolution order on a peer") what matched, what lost and why.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from meshmgmt.mesh.reasons import Subject
from meshmgmt.mesh.snapshot import Record


class QueryError(ValueError):
    """The question itself is not one that can be explained; `str()` says why."""


class OutcomeKind(StrEnum):
    """How a query ends."""

    ANSWER = "answer"
    NODATA = "nodata"
    NXDOMAIN = "nxdomain"
    FORWARDED = "forwarded"
    SYSTEM = "system"
    LOOP = "loop"
    DEPTH = "depth"
    TOO_LONG = "too_long"


# Ends of a query after which no further name of a search list is tried. Forwarded
# ones depend on the answer of a server this service does not ask.
ENDS_SEARCH = frozenset({OutcomeKind.ANSWER, OutcomeKind.LOOP, OutcomeKind.DEPTH})
DEPENDS = frozenset({OutcomeKind.FORWARDED, OutcomeKind.SYSTEM})


Phrase = tuple[str | Subject, ...]
"""Words in which objects are named, so that a page can link to them."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a look-up ends as it does, and what would change that, as clauses."""

    reason: Phrase
    remedies: tuple[Phrase, ...]


@dataclass(frozen=True, slots=True)
class Server:
    """A nameserver that is asked, with the group it comes from."""

    ip: str
    port: int
    ns_type: str
    group: Subject


@dataclass(frozen=True, slots=True)
class Step:
    """One thing considered. `decides` marks the one that ended the leg.

    `stage`: `zones`, `domain_nameservers`, `primary_nameservers`, `system`.
    """

    stage: str
    code: str
    text: str
    subject: Subject | None = None
    decides: bool = False
    records: tuple[Record, ...] = ()

    @property
    def stage_words(self) -> str:
        return self.stage.replace("_", " ")


@dataclass(frozen=True, slots=True)
class Leg:
    """The resolution of one name; the second and later ones follow a CNAME."""

    name: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end: records found here (CNAMEs included) and servers to be asked.

    `name` is the name at the end of the CNAME chain.
    """

    kind: OutcomeKind
    name: str
    records: tuple[Record, ...] = ()
    servers: tuple[Server, ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """One full name that is tried; `source` says which search domain made it."""

    name: str
    source: Subject | None
    legs: tuple[Leg, ...]
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Explanation:
    """The whole look-up. `outcome` is that of the query that decides first.

    `depends` is true when that query goes to a server: should the server not know
    the name, the queries after it are tried. `verdict` is added by `verdict.verdict`.
    """

    peer_id: str
    name: str
    type: str
    managed: bool
    queries: tuple[Query, ...]
    outcome: Outcome
    depends: bool
    verdict: Verdict | None = None

    @property
    def decided_by(self) -> Query:
        """The query whose outcome is that of the whole look-up."""
        # By identity: another query may end alike.
        return next(query for query in self.queries if query.outcome is self.outcome)


def deciding_steps(query: Query) -> list[Step]:
    """The steps that ended the legs of a query."""
    return [step for leg in query.legs for step in leg.steps if step.decides]


def leading(explanation: Explanation) -> Subject | None:
    """Whose CNAME leads to the name at which the look-up ends."""
    query = explanation.decided_by
    if query.outcome.name == query.name:
        return None
    return deciding_steps(query)[0].subject


def hidden_peer(explanation: Explanation) -> Subject | None:
    """The peer whose name was asked for and that the peer does not see."""
    legs = (leg for query in explanation.queries for leg in query.legs)
    steps = (step for leg in legs for step in leg.steps)
    return next((s.subject for s in steps if s.code == "peer_not_reachable"), None)


def text_of(phrase: Phrase) -> str:
    """The words without the objects behind them."""
    return "".join(part if isinstance(part, str) else part.name for part in phrase)


def named_in(phrase: Phrase) -> list[Subject]:
    """The objects that the words name, each once."""
    return list(dict.fromkeys(part for part in phrase if isinstance(part, Subject)))


def all_of(*clauses: Phrase) -> Phrase:
    """Clauses that all have to be: `a and b`; those without words are left out."""
    found: list[str | Subject] = []
    for clause in filter(None, clauses):
        found += [" and ", *clause]
    return tuple(found[1:])


def either(subjects: Sequence[Subject], last: str = " or ") -> Phrase:
    """The subjects as words: `a`, `a or b`, `a, b or c`."""
    parts: list[str | Subject] = []
    for number, subject in enumerate(subjects):
        if number:
            parts.append(last if number == len(subjects) - 1 else ", ")
        parts.append(subject)
    return tuple(parts)
