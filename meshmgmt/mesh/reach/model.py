"""The question "can this peer reach that, and why not?", and the answer in words."""

from typing import Final, NamedTuple

from meshmgmt.mesh.reasons import Subject, Thing, subject_of

DIRECT: Final = "direct"
ROUTED: Final = "routed"

_TABLE: Final = """\
approval_pending: {it} waits for approval -> approve {it}
login_expired: the login of {it} expired -> sign in again on {it}
owner_blocked: the owner of {it} is blocked -> unblock the owner of {it}
offline: {it} is not connected -> start {it}
ipv6: {it} has no IPv6 address -> add {it} to a group with IPv6
ipv6 client: the client of {it} does not take part in IPv6\
 -> update the client of {it}, or switch its IPv6 on
client: the client of {it} knows no port ranges, which {policy} has\
 -> update the client of {it}
disabled: {it} would let it through, but it is disabled -> enable {it}
disabled rule: {it} would let it through, but its rule is disabled\
 -> enable the rule of {it}
posture: {it} asks for {checks}, which {who} does not pass: {values}\
 -> make {who} pass {checks}, or take it off {it}
direction: {it} lets only {who} begin -> make the rule of {it} bidirectional
protocol: {it} lets only {lets} through -> add {words} to {it}
port: {it} lets only {lets} through -> add {words} to {it}
group: {it} would let it through, were {who} in {groups} -> add {who} to {groups}
part: no rule lets {words} through -> ask for less, or add a rule for it
drop: {it} drops {words}, whatever others let through -> disable {it} or narrow its rule
no_policy: no policy lets {who} {do} {it} -> add a policy from {who} to {it}
unrouted: nothing routes {to} -> add a route or a resource of a network for it
resource_disabled: {it} is disabled -> enable {it}
route_disabled: {it} is disabled -> enable {it}
router_disabled: the routers of {it} are disabled -> enable a router of {it}
no_routing_peer: {it} has no routing peer -> add a routing peer to {it}
distribution: {it} is not distributed to {who} -> add {who} to {groups}
distribution nobody: {it} is not distributed to {who} -> give {it} a group of {who}
not_selected: exit node {name} is used once it is selected on the peer\
 -> select exit node {name} on the peer
"""
_WORDS: Final = {
    wording: clauses.split(" -> ")
    for wording, clauses in (line.split(": ", 1) for line in _TABLE.splitlines())
}


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


def obstacle(wording: str, it: Thing | None = None, **words: str) -> Obstacle:
    """An obstacle about an object; the first word of `wording` is its kind."""
    subject = subject_of(it) if it else None
    if it and subject:
        words |= {"it": called(it), "name": subject.name}
    text, remedy = (clause.format(**words) for clause in _WORDS[wording])
    return Obstacle(wording.split(maxsplit=1)[0], subject, text, remedy)


def called(thing: Thing) -> str:
    """An object in a clause: `peer anna`."""
    subject = subject_of(thing)
    return f"{subject.kind} {subject.name}"
