"""Words and bounds of the two streams, as the contract has them (seed, Events)."""

from datetime import timedelta
from typing import Final

PROTOCOL_NAMES: Final = {1: "ICMP", 6: "TCP", 17: "UDP"}
"""Of IP, those that have a name here."""
DIRECTIONS: Final = ("DIRECTION_UNKNOWN", "INGRESS", "EGRESS")
TYPES: Final = ("TYPE_UNKNOWN", "TYPE_START", "TYPE_END", "TYPE_DROP")
KIND_BITS: Final = {kind: 1 << number for number, kind in enumerate(TYPES)}
CONNECTIONS: Final = ("P2P", "ROUTED")
ENDPOINT_TYPES: Final = (
    "UNKNOWN",
    "PEER",
    "HOST_RESOURCE",
    "SUBNET_RESOURCE",
    "DOMAIN_RESOURCE",
)
RESOURCE_TYPES: Final = frozenset(ENDPOINT_TYPES[2:])

METHODS: Final = frozenset(
    {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE", ""}
)
PROTOCOLS: Final = ("http", "tcp", "udp")

ID_LIMIT: Final = 128
NAME_LIMIT: Final = 255
METHOD_LIMIT: Final = 32
PATH_LIMIT: Final = 8192
METADATA_LIMIT: Final = 1024
MAX_COUNTER: Final = 2**63 - 1
MAX_DURATION_MS: Final = 2**31 - 1
MAX_STATUS: Final = 999
MAX_METADATA: Final = 64
MAX_INNER_EVENTS: Final = 1000
FUTURE: Final = timedelta(days=2)
"""How far ahead of ours a reporter's clock may be."""
LONGEST_PAST: Final = timedelta(days=3650)
"""How old anything in an event may be, whatever the retention."""
