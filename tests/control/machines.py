"""Machines that ask the services for something, as the server's handlers would."""

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from meshmgmt.control.protocol import management_pb2 as pb
from meshmgmt.control.services.logins import Session, login
from meshmgmt.control.services.refusals import Refused
from meshmgmt.inventory.models import Peer
from tests import factories
from tests.factories import setup_key

_numbers = count(1)
SOURCE = "192.0.2.7"


def public_key() -> str:
    """Return a WireGuard key that no other machine has."""
    return factories.public_key(next(_numbers))


def meta(hostname: str = "web", **facts: Any) -> pb.PeerSystemMeta:
    """Return what a machine with Debian says of itself."""
    values: dict[str, Any] = {
        "hostname": hostname,
        "goOS": "linux",
        "kernel": "Linux",
        "core": "12",
        "platform": "x86_64",
        "OS": "Debian GNU/Linux",
        "OSVersion": "12",
        "netbirdVersion": "0.77.1",
        "kernelVersion": "6.1.0",
        "networkAddresses": [{"netIP": "10.9.0.10/24", "mac": "02:00:00:00:00:0a"}],
        "capabilities": [
            pb.PeerCapability.PeerCapabilitySourcePrefixes,
            pb.PeerCapability.PeerCapabilityIPv6Overlay,
        ],
        "syncMessageVersion": 1,
    }
    return pb.PeerSystemMeta(**{**values, **facts})


def request(hostname: str = "web", **facts: Any) -> pb.LoginRequest:
    """Return a login of such a machine."""
    return pb.LoginRequest(**{"meta": meta(hostname), **facts})


def refusal_of(call: Callable[..., Any], *args: Any, **facts: Any) -> Refused:
    """Return how a call is refused."""
    with pytest.raises(Refused) as caught:
        call(*args, **facts)
    return caught.value


def enrolled(hostname: str = "web", key: str = "", **facts: Any) -> Peer:
    """Let a new machine in by a setup key, one of its own when none is given."""
    plain = key or setup_key().plain
    found = login(public_key(), request(hostname, setupKey=plain, **facts), SOURCE)
    return Peer.objects.get(pk=found.peer_id)


def come_back(peer: Peer, **facts: Any) -> Session:
    """Log a known machine in again."""
    return login(peer.wg_public_key, request(peer.hostname, **facts), SOURCE)
