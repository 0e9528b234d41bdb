"""What no message to a peer may contain: values that crash, stall or open up clients."""

import base64
import binascii
import re
from socket import AF_INET, AF_INET6, inet_pton
from typing import Final

from meshmgmt.control.protocol import management_pb2 as pb

_STUN: Final = re.compile(r"stuns?:\S+:\d{1,5}")
_TURN: Final = re.compile(r"turns?:\S+:\d{1,5}(\?transport=(udp|tcp))?")
_RECORD_TYPES: Final = {1, 5, 28}
"""A, CNAME, AAAA."""
_UDP: Final = 1
MAX_PORT: Final = 0xFFFF
IPV4_BITS: Final = 32


class Unsendable(Exception):
    """A message that would harm the peer; `str()` says why."""


def check_login(message: pb.LoginResponse) -> None:
    """Refuse an answer to Login that a client does not survive. Raises Unsendable."""
    # Agents look into both, and the address of signal, without a check and crash.
    _require(message.HasField("netbirdConfig"), "no netbirdConfig")
    check_config(message.netbirdConfig)
    _require(message.HasField("peerConfig"), "no peerConfig")
    check_peer_config(message.peerConfig)


def check_config(config: pb.NetbirdConfig) -> None:
    """Refuse a configuration of services. Raises Unsendable."""
    _require(config.HasField("signal") and bool(config.signal.uri), "no signal")
    # An address or a signature that agents cannot read keeps the whole map from them.
    for stun in config.stuns:
        _require(_STUN.fullmatch(stun.uri), "a STUN address is not stun:host:port")
    for turn in config.turns:
        uri = turn.hostConfig.uri
        _require(_TURN.fullmatch(uri), "a TURN address is not turn:host:port")
    if config.HasField("relay"):
        _require(
            _is_base64(config.relay.tokenSignature),
            "the signature of the relay token is not base64",
        )
    if config.HasField("flow"):
        # Without an interval agents refuse every map; one of 0 crashes them.
        interval = config.flow.interval
        _require(config.flow.HasField("interval"), "the interval of flows is unset")
        _require(
            not config.flow.enabled or (interval.seconds, interval.nanos) > (0, 0),
            "the interval of flows is not positive",
        )


def check_peer_config(config: pb.PeerConfig) -> None:
    """Refuse a peer's own configuration. Raises Unsendable."""
    # Of another form, the agent never starts its engine and tries for ever.
    address, _, length = config.address.partition("/")
    _require(length.isdecimal() and int(length) <= IPV4_BITS, "no prefix length")
    _require(":" not in address and _is_address(address), "the address is none")


def check_remote(remote: pb.RemotePeerConfig) -> None:
    """Refuse an entry about another peer. Raises Unsendable."""
    # After one that is not usable agents add none of the peers that follow.
    usable = [text for text in remote.allowedIps if _is_host(text)]
    _require(usable, "a remote peer without usable allowedIps")
    _require(
        len(usable) == len(remote.allowedIps) and usable[0].endswith("/32"),
        "the first of the allowedIps is no IPv4 address",
    )
    _require(remote.wgPubKey, "a remote peer without a key")


def check_zones_together(*, own: bool, custom: int) -> None:
    """Refuse a lone custom zone: clients would let it answer for everything below it."""
    _require(own or custom != 1, "a custom zone without the peers' zone")


def check_nameserver_group(group: pb.NameServerGroup) -> None:
    """Refuse a nameserver group. Raises Unsendable."""
    _require(group.NameServers, "a nameserver group without servers")
    for server in group.NameServers:
        # Agents crash at a name.
        _require(_is_address(server.IP), "a nameserver is no IP address")
        _require(server.NSType == _UDP, "a nameserver of another type than UDP")
        _require(0 < server.Port <= MAX_PORT, "a nameserver without a port")
    _require(
        # One such group, and agents take in no DNS at all.
        group.Primary or group.Domains,
        "a nameserver group neither primary nor with domains",
    )
    _require(all(group.Domains), "a nameserver group with an empty domain")


def check_record(record: pb.SimpleRecord) -> None:
    """Refuse a record of a zone. Raises Unsendable."""
    _require(record.Class == "IN", "a record of another class than IN")
    _require(record.Type in _RECORD_TYPES, "a record of an unknown type")


def _require(good: object, reason: str) -> None:
    if not good:
        raise Unsendable(reason)


def _is_host(text: str) -> bool:
    """Tell whether a text is a prefix of one address."""
    address, _, length = text.partition("/")
    return _is_address(address) and length == ("128" if ":" in address else "32")


def _is_address(text: str) -> bool:
    """Tell whether a text is an IP address; much faster than by `ipaddress`."""
    try:
        inet_pton(AF_INET6 if ":" in text else AF_INET, text)
    except (OSError, ValueError):
        return False
    return True


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except binascii.Error:
        return False
    return True
