"""What peers are told about the servers that help them."""

import pytest

from meshmgmt import env
from meshmgmt.control.protocol.management_pb2 import HostConfig
from meshmgmt.control.server import netbirdconfig
from meshmgmt.control.server.netbirdconfig import LIFETIME, netbird_config, peer_url


def test_relay_credentials_are_the_recorded_ones():
    recorded = ("1795392261", "Z50H8Naj9aHEhLv6/oxACl+neLlB01kPRmOm7Qv75tM=")
    assert netbirdconfig.relay_credentials("rsecret", recorded[0]) == recorded


def test_credentials_end_after_their_lifetime():
    turn = {"SVC_TURN_URLS": "turn:127.0.0.1:3478", "SVC_TURN_SECRET": "x"}
    relay = {"SVC_RELAY_URLS": "rel://127.0.0.1:33080", "SVC_RELAY_SECRET": "rsecret"}
    config = env.load({"SVC_STUN_URLS": "stun:127.0.0.1:3478", **turn, **relay})

    message = netbird_config(config, now=1795349061 - LIFETIME + 0.7)

    [stun], [told] = message.stuns, message.turns
    assert stun.uri == "stun:127.0.0.1:3478"
    assert told.hostConfig.uri == "turn:127.0.0.1:3478"
    # As recorded.
    assert (told.user, told.password) == ("1795349061", "pUtO23MoU7HHPLXFvcdu+hGY9Fg=")
    assert list(message.relay.urls) == ["rel://127.0.0.1:33080"]
    assert message.relay.tokenPayload == "1795349061"


def test_what_is_not_configured_is_absent():
    message = netbird_config(env.load({}))

    assert not message.HasField("relay")
    assert not message.HasField("flow")
    assert (len(message.stuns), len(message.turns)) == (0, 0)


@pytest.mark.parametrize(
    ("settings", "uri", "protocol"),
    [
        ({}, "127.0.0.1:33073", HostConfig.HTTP),
        ({"SVC_GRPC_BIND": "[::]:33073"}, "[::1]:33073", HostConfig.HTTP),
        ({"SVC_PEER_URL": "https://mesh.test"}, "mesh.test:443", HostConfig.HTTPS),
        ({"SVC_PEER_URL": "http://mesh.test"}, "mesh.test:80", HostConfig.HTTP),
        ({"SVC_PEER_URL": "http://[::1]:81"}, "[::1]:81", HostConfig.HTTP),
    ],
)
def test_signal_is_where_peers_connect(settings, uri, protocol):
    signal = netbird_config(env.load(settings)).signal

    assert (signal.uri, signal.protocol) == (uri, protocol)


def test_a_certificate_of_its_own_makes_the_address_https():
    config = env.load({"SVC_GRPC_CERTIFICATE": __file__, "SVC_GRPC_KEY": __file__})

    assert peer_url(config) == "https://127.0.0.1:33073"
