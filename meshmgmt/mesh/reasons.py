"""Why something is in or out: codes for programs, clauses for people."""

from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

from meshmgmt.mesh.snapshot import (
    NameserverGroup,
    Peer,
    Policy,
    Record,
    Resource,
    Route,
    Snapshot,
    Zone,
)

Thing: TypeAlias = Peer | Policy | Resource | Route | Zone | NameserverGroup | Record

_KINDS: Final[Mapping[type, str]] = {NameserverGroup: "nameserver_group"}
"""Kinds that are called otherwise than their class."""

_CLAUSES: Final = {
    "group": "the peer is in {subjects}",
    "self": "it is the peer itself",
    "policy": "policy {subjects} lets the two peers meet",
    "route": "route {subjects} joins the two peers",
    "peers_zone": "every managed peer gets the names of the peers it may reach",
    "managed": "no group of the peer has DNS management disabled",
    "approval_pending": "the peer waits for approval",
    "login_expired": "the login of the peer expired",
    "owner_blocked": "the owner of the peer is blocked",
    "management_disabled": "DNS management is disabled for {subjects}",
    "disabled": "it is disabled",
    "empty_zone": "the zone has no records",
    "no_usable_domain": "its match domains are longer than DNS can carry",
    "no_shared_group": "the peer is in none of its groups",
    "own_nameserver": "the peer is itself the nameserver {subjects}",
}


class Subject(NamedTuple):
    """An object that something is about: `peer`, `policy`, `zone`, ..."""

    kind: str
    id: str
    name: str


def subject_of(thing: Thing) -> Subject:
    """What an object of the account is called."""
    kind = _KINDS.get(type(thing)) or type(thing).__name__.lower()
    name = thing.net_id if isinstance(thing, Route) else thing.name
    return Subject(kind, thing.id, name)


def group_of(snapshot: Snapshot, id_: str) -> Subject:
    """A group by its id."""
    return Subject("group", id_, snapshot.group_name(id_))


class Reason(NamedTuple):
    """Why something is in or out; `subjects` are names of the objects that decide."""

    code: str
    subjects: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """A clause such as `the peer is in group office`."""
        return _CLAUSES[self.code].format(subjects=", ".join(self.subjects))
