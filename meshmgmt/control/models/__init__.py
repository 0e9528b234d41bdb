"""Models of the peer protocol."""

from meshmgmt.control.models.changes import MapChange
from meshmgmt.control.models.jobs import JobStatus, PeerJob
from meshmgmt.control.models.proxies import ProxyToken
from meshmgmt.control.models.sessions import SpentToken, StreamProcess

__all__ = [
    "JobStatus",
    "MapChange",
    "PeerJob",
    "ProxyToken",
    "SpentToken",
    "StreamProcess",
]
