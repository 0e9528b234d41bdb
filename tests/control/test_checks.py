"""Messages that crash, stall or open up clients never leave."""

import pytest
from google.protobuf.duration_pb2 import Duration

from meshmgmt.control.checks import Unsendable, check_login
from meshmgmt.control.protocol import management_pb2 as pb
from tests.control.wholemessages import check_sync


def login() -> pb.LoginResponse:
    return pb.LoginResponse(
        netbirdConfig=pb.NetbirdConfig(
            signal=pb.HostConfig(uri="mesh.example:443"),
            stuns=[pb.HostConfig(uri="stun:mesh.example:3478")],
            turns=[
                pb.ProtectedHostConfig(
                    hostConfig=pb.HostConfig(uri="turn:mesh.example:3478?transport=udp")
                )
            ],
            relay=pb.RelayConfig(urls=["rels://mesh.example"], tokenSignature="QUJD"),
            flow=pb.FlowConfig(enabled=True, interval=Duration(seconds=10)),
        ),
        peerConfig=pb.PeerConfig(address="100.71.0.10/16"),
    )


def sync() -> pb.SyncResponse:
    return pb.SyncResponse(
        netbirdConfig=login().netbirdConfig,
        peerConfig=login().peerConfig,
        NetworkMap=pb.NetworkMap(
            Serial=7,
            peerConfig=login().peerConfig,
            remotePeers=[
                pb.RemotePeerConfig(
                    wgPubKey="key", allowedIps=["100.71.0.11/32", "fd00::b/128"]
                )
            ],
            FirewallRules=[pb.FirewallRule(PeerIP="100.71.0.11")],
            routesFirewallRulesIsEmpty=True,
            DNSConfig=pb.DNSConfig(
                ServiceEnable=True,
                NameServerGroups=[
                    pb.NameServerGroup(
                        Primary=True,
                        NameServers=[pb.NameServer(IP="9.9.9.9", NSType=1, Port=53)],
                    )
                ],
                CustomZones=[zone("mesh.test."), zone("corp.test.", lets_through=True)],
            ),
        ),
    )


def zone(domain: str, *, lets_through: bool = False) -> pb.CustomZone:
    record = pb.SimpleRecord(Name=f"a.{domain}", Type=1, Class="IN", RData="10.0.0.1")
    return pb.CustomZone(Domain=domain, NonAuthoritative=lets_through, Records=[record])


def config(message):
    return message.netbirdConfig


def dns(message):
    return message.NetworkMap.DNSConfig


def remote(message):
    return message.NetworkMap.remotePeers[0]


def nameserver(message):
    return dns(message).NameServerGroups[0].NameServers[0]


LOGINS = {
    "no configuration": lambda m: m.ClearField("netbirdConfig"),
    "no signal": lambda m: config(m).ClearField("signal"),
    "no peer configuration": lambda m: m.ClearField("peerConfig"),
    "no prefix length": lambda m: setattr(m.peerConfig, "address", "100.71.0.10"),
    "no address": lambda m: setattr(m.peerConfig, "address", "here/16"),
    "flow without interval": lambda m: config(m).flow.ClearField("interval"),
    "flow with interval 0": lambda m: config(m).flow.interval.FromSeconds(0),
    "no STUN address": lambda m: setattr(
        config(m).stuns[0], "uri", "mesh.example:3478"
    ),
    "no TURN address": lambda m: setattr(
        config(m).turns[0].hostConfig, "uri", "turn:mesh.example"
    ),
    "relay token": lambda m: setattr(config(m).relay, "tokenSignature", "no base64"),
}
SYNCS = {
    **{name: spoil for name, spoil in LOGINS.items() if not name.startswith("no peer")}
    | {"no configuration": lambda m: config(m).ClearField("signal")},
    "another address than at login": lambda m: setattr(
        m.peerConfig, "address", "100.71.0.10/10"
    ),
    "nameserver by name": lambda m: setattr(nameserver(m), "IP", "dns.example"),
    "nameserver of another type": lambda m: setattr(nameserver(m), "NSType", 2),
    "nameserver without port": lambda m: setattr(nameserver(m), "Port", 0),
    "no servers": lambda m: dns(m).NameServerGroups[0].ClearField("NameServers"),
    "neither primary nor domains": lambda m: setattr(
        dns(m).NameServerGroups[0], "Primary", False
    ),
    "empty domain": lambda m: dns(m).NameServerGroups[0].Domains.append(""),
    "no DNS": lambda m: m.NetworkMap.ClearField("DNSConfig"),
    "only a custom zone": lambda m: dns(m).CustomZones.__delitem__(0),
    "zone without records": lambda m: dns(m).CustomZones[1].ClearField("Records"),
    "relative zone": lambda m: setattr(dns(m).CustomZones[1], "Domain", "corp.test"),
    "class of a record": lambda m: setattr(
        dns(m).CustomZones[1].Records[0], "Class", "CH"
    ),
    "type of a record": lambda m: setattr(dns(m).CustomZones[1].Records[0], "Type", 16),
    "no peers, not said": lambda m: m.NetworkMap.ClearField("remotePeers"),
    "no rules, not said": lambda m: m.NetworkMap.ClearField("FirewallRules"),
    "no route rules, not said": lambda m: m.NetworkMap.ClearField(
        "routesFirewallRulesIsEmpty"
    ),
    "peers that are none": lambda m: setattr(m.NetworkMap, "remotePeersIsEmpty", True),
    "remote without addresses": lambda m: remote(m).ClearField("allowedIps"),
    "remote with a wide prefix": lambda m: remote(m).allowedIps.__setitem__(
        0, "100.71.0.0/16"
    ),
    "remote with a name": lambda m: remote(m).allowedIps.__setitem__(0, "b.mesh/32"),
    "remote without key": lambda m: remote(m).ClearField("wgPubKey"),
    "serial of before": lambda m: setattr(m.NetworkMap, "Serial", 6),
}


def test_harmless_messages_pass():
    check_login(login())
    check_sync(sync(), login_address="100.71.0.10/16", after_serial=7)
    check_sync(pb.SyncResponse(netbirdConfig=login().netbirdConfig))


@pytest.mark.parametrize("spoil", LOGINS.values(), ids=LOGINS)
def test_harmful_login_is_refused(spoil):
    message = login()
    spoil(message)
    with pytest.raises(Unsendable):
        check_login(message)


@pytest.mark.parametrize("spoil", SYNCS.values(), ids=SYNCS)
def test_harmful_sync_is_refused(spoil):
    message = sync()
    spoil(message)
    with pytest.raises(Unsendable):
        check_sync(message, login_address="100.71.0.10/16", after_serial=7)
