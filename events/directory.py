"""What upper rooms tell of peers, users, policies and resources.

This room may not import the rooms that know: they fill `directory` when the applications
are ready. Each look-up takes all keys at once.
"""

import ipaddress
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True, slots=True)
class PeerFacts:
    """What events show of a peer; empty where unknown."""

    id: str
    name: str
    address: str
    os: str
    dns_label: str
    user_id: str


@dataclass(frozen=True, slots=True)
class UserFacts:
    id: str
    name: str
    email: str


@dataclass(frozen=True, slots=True)
class ResourceFacts:
    """What events show of a network resource; `type` is host, subnet or domain."""

    id: str
    name: str
    type: str


@dataclass
class Directory:
    """Look-ups, each of which one of the upper rooms provides."""

    peers: Callable[[Collection[str], Collection[str]], Iterable[PeerFacts]] = (
        lambda ids, addresses: ()
    )
    """Peers with one of the ids or one of the addresses."""
    users: Callable[[Collection[str]], Iterable[UserFacts]] = lambda keys: ()
    """Users with one of the ids or (lower-case) e-mail addresses."""
    policies: Callable[[Collection[str]], Mapping[str, str]] = lambda ids: {}
    """Names of the policies with the ids."""
    resources: Callable[[Collection[str]], Iterable[ResourceFacts]] = lambda ids: ()
    """Resources with the ids."""
    find_users: Callable[[str, str], Collection[str]] = lambda email, name: ()
    """Ids of users whose e-mail and name contain the (folded) texts, "" for any."""
    overlay: Callable[[], Sequence[Network]] = lambda: ()
    """Networks that the peers' addresses come from."""
    unlogged: Callable[[Collection[str]], Collection[str]] = lambda reporters: ()
    """Those of the reporting peers whose traffic the account does not keep."""


directory: Final = Directory()
