"""What upper rooms tell of peers, users, policies and resources.

This room may not import the rooms that know: one of them registers each in its `room.py`.
Each look-up takes all keys at once.
"""

import ipaddress
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from meshmgmt.core.registry import Registry

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


peers: Final = Registry[
    str, Callable[[Collection[str], Collection[str]], Iterable[PeerFacts]]
]()
"""Peers with one of the ids or one of the addresses."""
users: Final = Registry[str, Callable[[Collection[str]], Iterable[UserFacts]]]()
"""Users with one of the ids or (lower-case) e-mail addresses."""
policies: Final = Registry[str, Callable[[Collection[str]], Mapping[str, str]]]()
"""Names of the policies with the ids."""
resources: Final = Registry[str, Callable[[Collection[str]], Iterable[ResourceFacts]]]()
"""Resources with the ids."""
find_users: Final = Registry[str, Callable[[str, str], Collection[str]]]()
"""Ids of users whose e-mail and name contain the (folded) texts, "" for any."""
overlay: Final = Registry[str, Callable[[], Sequence[Network]]]()
"""Networks that the peers' addresses come from."""
unlogged: Final = Registry[str, Callable[[Collection[str]], Collection[str]]]()
"""Those of the reporting peers whose traffic the account does not keep."""
