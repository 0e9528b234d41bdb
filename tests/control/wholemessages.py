"""Checks of whole messages; the service checks the parts that it makes messages of."""

from meshmgmt.control.checks import (
    Unsendable,
    check_config,
    check_nameserver_group,
    check_peer_config,
    check_record,
    check_remote,
    check_zones_together,
)
from meshmgmt.control.protocol import management_pb2 as pb


def _require(good: object, reason: str) -> None:
    if not good:
        raise Unsendable(reason)


def check_sync(
    message: pb.SyncResponse, *, login_address: str = "", after_serial: int = 0
) -> None:
    """Refuse a message of a Sync stream that a client gets wrong. Raises Unsendable.

    `login_address` is the address that Login told the peer, `after_serial` the serial
    of the last map on the stream.
    """
    if message.HasField("netbirdConfig"):
        check_config(message.netbirdConfig)
    if message.HasField("peerConfig"):
        check_own(message.peerConfig, login_address)
    if message.HasField("NetworkMap"):
        check_map(message.NetworkMap, login_address)
        _require(message.NetworkMap.Serial >= after_serial, "the serial goes back")


def check_own(config: pb.PeerConfig, login_address: str) -> None:
    check_peer_config(config)
    told = ("", config.address)
    _require(login_address in told, "the address is not that of the login")


def check_map(network_map: pb.NetworkMap, login_address: str = "") -> None:
    _require(network_map.HasField("DNSConfig"), "no DNSConfig")
    if network_map.HasField("peerConfig"):
        check_own(network_map.peerConfig, login_address)
    for remote in (*network_map.remotePeers, *network_map.offlinePeers):
        check_remote(remote)
    check_dns(network_map.DNSConfig)
    for name, empty in (
        ("remotePeers", network_map.remotePeersIsEmpty),
        ("FirewallRules", network_map.firewallRulesIsEmpty),
        ("routesFirewallRules", network_map.routesFirewallRulesIsEmpty),
    ):
        _require(
            bool(getattr(network_map, name)) != empty,
            f"{name} and its flag for an empty list disagree",
        )


def check_dns(config: pb.DNSConfig) -> None:
    for group in config.NameServerGroups:
        check_nameserver_group(group)
    for zone in config.CustomZones:
        check_zone(zone)
    custom = sum(zone.NonAuthoritative for zone in config.CustomZones)
    check_zones_together(own=len(config.CustomZones) > custom, custom=custom)


def check_zone(zone: pb.CustomZone) -> None:
    _require(zone.Domain.endswith("."), "a zone whose name does not end with a dot")
    _require(zone.Records, "a zone without records")
    for record in zone.Records:
        check_record(record)
