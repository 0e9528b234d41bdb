"""Ports of firewall rules, as each client understands them."""

from typing import Any

import pytest

from meshmgmt.mesh.firewall import Ports, Receiver, receiver, rule_ports
from meshmgmt.mesh.snapshot import IPV6_OVERLAY, SOURCE_PREFIXES, Rule, RuleSide
from tests.explain.pure import machine

PEER = machine("a", "a", "100.64.0.1", "fd00::1")._replace(
    ssh_enabled=True,
    version="0.60.0",
    capabilities=frozenset({SOURCE_PREFIXES, IPV6_OVERLAY}),
    flags=frozenset({"server_ssh_allowed"}),
)
OLD = Receiver(ranges=False, native_ssh=False, source_prefixes=False, ipv6=False)
NEW = Receiver(ranges=True, native_ssh=True, source_prefixes=True, ipv6=True)


@pytest.mark.parametrize(
    ("changes", "lacking"),
    [
        ({}, set()),
        ({"version": "0.59.9"}, {"native_ssh"}),
        ({"version": "0.48.0"}, {"native_ssh"}),
        ({"version": "0.47.9"}, {"native_ssh", "ranges"}),
        ({"ssh_enabled": False}, {"native_ssh"}),
        ({"flags": frozenset()}, {"native_ssh"}),
        ({"capabilities": frozenset()}, {"source_prefixes", "ipv6"}),
        ({"ipv6": None}, {"ipv6"}),
    ],
)
def test_what_a_client_understands(changes: dict[str, Any], lacking: set[str]):
    found = receiver(PEER._replace(**changes))._asdict()
    assert {name for name, has in found.items() if not has} == lacking


@pytest.mark.parametrize(
    ("client", "protocol", "given", "told"),
    [
        (NEW, "tcp", [], [Ports()]),
        (OLD, "tcp", [80, 443], [Ports(80), Ports(443)]),
        (OLD, "tcp", [(5, 5), (10, 30)], [Ports(5)]),
        (OLD, "tcp", [(10, 30)], []),
        (NEW, "tcp", [(5, 5), (30, 31)], [Ports(range=(5, 5)), Ports(range=(30, 31))]),
        (NEW, "tcp", [22], [Ports(22), Ports(22022)]),
        (OLD, "tcp", [22], [Ports(22)]),
        (NEW, "udp", [22], [Ports(22)]),
        (OLD, "netbird-ssh", [22], [Ports(22), Ports(22022)]),
        (NEW, "tcp", [22, 22022], [Ports(22), Ports(22022)]),
        (NEW, "tcp", [21, 23], [Ports(21), Ports(23)]),
        (NEW, "tcp", [(1, 22)], [Ports(range=(1, 22)), Ports(22022)]),
        (NEW, "tcp", [(22, 23)], [Ports(range=(22, 23)), Ports(22022)]),
        (NEW, "tcp", [(23, 24)], [Ports(range=(23, 24))]),
        (NEW, "tcp", [(1, 21)], [Ports(range=(1, 21))]),
        (NEW, "tcp", [(22, 22022)], [Ports(range=(22, 22022))]),
    ],
)
def test_ports_of_a_rule(
    client: Receiver, protocol: str, given: list[Any], told: list[Ports]
):
    kind = "ranges" if given and isinstance(given[0], tuple) else "ports"
    side = RuleSide()
    ends: dict[str, Any] = {kind: tuple(given)}
    rule = Rule("r", side, side, protocol=protocol, **ends)
    assert rule_ports(rule, client) == tuple(told)
