"""Messages that crash, stall or open up clients never leave."""

from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration

from meshmgmt.control.checks import Unsendable, check_login
from meshmgmt.control.protocol import management_pb2 as pb
from tests.control.wholemessages import check_sync


def login() -> pb.LoginResponse:
    return pb.LoginResponse(
        netbirdConfig=pb.NetbirdConfig(
            signal={"uri": "mesh.example:443"},
            stuns=[{"uri": "stun:mesh.example:3478"}],
            turns=[{"hostConfig": {"uri": "turn:mesh.example:3478?transport=udp"}}],
            relay={"urls": ["rels://mesh.example"], "tokenSignature": "QUJD"},
            flow={"enabled": True, "interval": Duration(seconds=10)},
        ),
        peerConfig={"address": "100.71.0.10/16"},
    )


def sync() -> pb.SyncResponse:
    addresses = ["100.71.0.11/32", "fd00::b/128"]
    servers = [{"IP": "9.9.9.9", "NSType": 1, "Port": 53}]
    return pb.SyncResponse(
        netbirdConfig=login().netbirdConfig,
        peerConfig=login().peerConfig,
        NetworkMap=pb.NetworkMap(
            Serial=7,
            peerConfig=login().peerConfig,
            remotePeers=[{"wgPubKey": "key", "allowedIps": addresses}],
            FirewallRules=[{"PeerIP": "100.71.0.11"}],
            routesFirewallRulesIsEmpty=True,
            DNSConfig=pb.DNSConfig(
                ServiceEnable=True,
                NameServerGroups=[{"Primary": True, "NameServers": servers}],
                CustomZones=[zone("mesh.test."), zone("corp.test.", lets_through=True)],
            ),
        ),
    )


def zone(domain: str, *, lets_through: bool = False) -> pb.CustomZone:
    record = pb.SimpleRecord(Name=f"a.{domain}", Type=1, Class="IN", RData="10.0.0.1")
    return pb.CustomZone(Domain=domain, NonAuthoritative=lets_through, Records=[record])


def spoil(message: Any, path: str, *value: Any) -> None:
    """Give a field another value; without one it is cleared, an entry of a list gone."""
    *way, last = path.split(".")
    for step in way:
        message = message[int(step)] if step.isdigit() else getattr(message, step)
    if last.isdigit() and value:
        message[int(last) : int(last) + 1] = value
    elif last.isdigit():
        del message[int(last)]
    elif value:
        setattr(message, last, value[0])
    else:
        message.ClearField(last)


CONFIG, DNS = "netbirdConfig", "NetworkMap.DNSConfig"
SERVERS, ZONE = f"{DNS}.NameServerGroups.0", f"{DNS}.CustomZones.1"
REMOTE = "NetworkMap.remotePeers.0"
LOGINS: dict[str, tuple[Any, ...]] = {
    "no configuration": (CONFIG,),
    "no signal": (f"{CONFIG}.signal",),
    "no peer configuration": ("peerConfig",),
    "no prefix length": ("peerConfig.address", "100.71.0.10"),
    "no address": ("peerConfig.address", "here/16"),
    "flow without interval": (f"{CONFIG}.flow.interval",),
    "flow with interval 0": (f"{CONFIG}.flow.interval.seconds", 0),
    "no STUN address": (f"{CONFIG}.stuns.0.uri", "mesh.example:3478"),
    "no TURN address": (f"{CONFIG}.turns.0.hostConfig.uri", "turn:mesh.example"),
    "relay token": (f"{CONFIG}.relay.tokenSignature", "no base64"),
}
SYNCS: dict[str, tuple[Any, ...]] = {
    **{
        name: spoilt
        for name, spoilt in LOGINS.items()
        if not name.startswith("no peer")
    },
    "no configuration": (f"{CONFIG}.signal",),
    "another address than at login": ("peerConfig.address", "100.71.0.10/10"),
    "nameserver by name": (f"{SERVERS}.NameServers.0.IP", "dns.example"),
    "nameserver of another type": (f"{SERVERS}.NameServers.0.NSType", 2),
    "nameserver without port": (f"{SERVERS}.NameServers.0.Port", 0),
    "no servers": (f"{SERVERS}.NameServers",),
    "neither primary nor domains": (f"{SERVERS}.Primary", False),
    "empty domain": (f"{SERVERS}.Domains.0", ""),
    "no DNS": (DNS,),
    "only a custom zone": (f"{DNS}.CustomZones.0",),
    "zone without records": (f"{ZONE}.Records",),
    "relative zone": (f"{ZONE}.Domain", "corp.test"),
    "class of a record": (f"{ZONE}.Records.0.Class", "CH"),
    "type of a record": (f"{ZONE}.Records.0.Type", 16),
    "no peers, not said": ("NetworkMap.remotePeers",),
    "no rules, not said": ("NetworkMap.FirewallRules",),
    "no route rules, not said": ("NetworkMap.routesFirewallRulesIsEmpty",),
    "peers that are none": ("NetworkMap.remotePeersIsEmpty", True),
    "remote without addresses": (f"{REMOTE}.allowedIps",),
    "remote with a wide prefix": (f"{REMOTE}.allowedIps.0", "100.71.0.0/16"),
    "remote with a name": (f"{REMOTE}.allowedIps.0", "b.mesh/32"),
    "remote without key": (f"{REMOTE}.wgPubKey",),
    "serial of before": ("NetworkMap.Serial", 6),
}


def test_harmless_messages_pass():
    check_login(login())
    check_sync(sync(), login_address="100.71.0.10/16", after_serial=7)
    check_sync(pb.SyncResponse(netbirdConfig=login().netbirdConfig))


@pytest.mark.parametrize("spoilt", LOGINS.values(), ids=LOGINS)
def test_harmful_login_is_refused(spoilt: tuple[Any, ...]):
    message = login()
    spoil(message, *spoilt)
    with pytest.raises(Unsendable):
        check_login(message)


@pytest.mark.parametrize("spoilt", SYNCS.values(), ids=SYNCS)
def test_harmful_sync_is_refused(spoilt: tuple[Any, ...]):
    message = sync()
    spoil(message, *spoilt)
    with pytest.raises(Unsendable):
        check_sync(message, login_address="100.71.0.10/16", after_serial=7)
