"""The question "can this peer reach that, and why not?", and the answer."""

from typing import Final, NamedTuple

from meshmgmt.mesh.reasons import Subject

DIRECT: Final = "direct"
ROUTED: Final = "routed"


class Destination(NamedTuple):
    """What is asked about.

    `kind` is `peer`, `resource`, `address` or `domain`; `id` that of a peer or resource,
    `text` the address (of a peer too) or the domain in canonical form.
    """

    kind: str
    id: str = ""
    text: str = ""


class Because(NamedTuple):
    """A rule that decides: `effect` is `accept` or `drop`.

    `policy` is None for what no policy decides; `rule_id` is then empty.
    """

    policy: Subject | None
    rule_id: str
    effect: str
    text: str


class Obstacle(NamedTuple):
    """What is in the way: the object that it is about, a clause, what would help.

    `offline` and `not_selected` are states of machines, of which no verdict depends.
    """

    kind: str
    subject: Subject | None
    text: str
    remedy: str


class Via(NamedTuple):
    """A routing peer and whether it lets everything through that is asked about."""

    peer: Subject
    route: Subject
    allowed: bool
    because: tuple[Because, ...]

    @property
    def word(self) -> str:
        return "allowed" if self.allowed else "blocked"


class Verdict(NamedTuple):
    """Whether everything asked about gets there.

    `path` is `direct`, `routed`, or None if there is no way at all; `via` are the
    routing peers, one of which the client chooses: all must let it through.
    """

    allowed: bool
    path: str | None
    via: tuple[Via, ...]
    because: tuple[Because, ...]
    obstacles: tuple[Obstacle, ...]

    @property
    def word(self) -> str:
        return "allowed" if self.allowed else "blocked"
