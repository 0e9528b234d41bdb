"""Versions, compared as the facts of the protocol say."""

import pytest

from meshmgmt.mesh.names import forwarder_port
from meshmgmt.mesh.versions import at_least, is_semantic_at_least, parse, supports


@pytest.mark.parametrize(
    ("text", "minimum"),
    [
        ("14", "13.5"),
        ("10.0.19045.3900", "10.0.19045.3803"),
        ("22.04", "22.4"),
        ("v1.2.3", "1.2.3"),
        ("1.2.3+build", "1.2.3"),
        ("1.2", "1.2.0-rc1"),
        ("1.2.0-rc2", "1.2.0-rc1"),
        ("1.2.0-rc.10", "1.2.0-rc.9"),
        ("1.2.0-rc.1.1", "1.2.0-rc.1"),
    ],
)
def test_satisfied(text, minimum):
    assert at_least(text, minimum)


@pytest.mark.parametrize(
    ("text", "minimum"),
    [
        ("13.4", "13.5"),
        ("6.1.0-18", "6.1.0"),
        ("6.1.0rc1", "6.1.0"),
        ("20H2", "20"),
        ("13.0.2-beta", "13.0.1-alpha"),
        ("1.2.0-rc1", "1.2.0-rc2"),
        ("1.2.0-1", "1.2.0-rc"),
        ("", "0"),
        ("6.8.0_1", "6.0"),
        ("12 (bookworm)", "11"),
        ("1.0", "none"),
    ],
)
def test_not_satisfied(text, minimum):
    assert not at_least(text, minimum)


@pytest.mark.parametrize("text", ["", "6.8.0_1", "12 (bookworm)", ".1", "1..2", "x1"])
def test_no_version(text):
    assert parse(text) is None


def test_clients_built_by_hand_have_everything():
    assert supports("development", "99.0.0")
    assert supports("dev-1234", "0.48.0")
    assert supports("0.48.0-rc1", "0.48.0")
    assert not supports("0.47.9", "0.48.0")
    assert not supports("", "0.48.0")


def test_forwarders_move_once_every_client_knows():
    assert forwarder_port(["0.59.0", "0.77.1", "ci-1"]) == 22054
    assert forwarder_port(["0.59.0", "0.58.9"]) == 5353
    assert forwarder_port(["0.59.0-rc1"]) == 5353
    assert forwarder_port([""]) == 5353
    assert forwarder_port([]) == 22054
    assert not is_semantic_at_least("0.059.0", (0, 59, 0))
