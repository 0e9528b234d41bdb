"""Versions, compared as the facts of the protocol say."""

import pytest

from meshmgmt.mesh.names import forwarder_port
from meshmgmt.mesh.versions import at_least, is_semantic_at_least, parse, supports


@pytest.mark.parametrize(
    ("text", "minimum", "satisfied"),
    [
        ("14", "13.5", True),
        ("10.0.19045.3900", "10.0.19045.3803", True),
        ("22.04", "22.4", True),
        ("v1.2.3", "1.2.3", True),
        ("1.2.3+build", "1.2.3", True),
        ("1.2", "1.2.0-rc1", True),
        ("1.2.0-rc2", "1.2.0-rc1", True),
        ("1.2.0-rc.10", "1.2.0-rc.9", True),
        ("1.2.0-rc.1.1", "1.2.0-rc.1", True),
        ("13.4", "13.5", False),
        ("6.1.0-18", "6.1.0", False),
        ("6.1.0rc1", "6.1.0", False),
        ("20H2", "20", False),
        ("13.0.2-beta", "13.0.1-alpha", False),
        ("1.2.0-rc1", "1.2.0-rc2", False),
        ("1.2.0-1", "1.2.0-rc", False),
        ("", "0", False),
        ("6.8.0_1", "6.0", False),
        ("12 (bookworm)", "11", False),
        ("1.0", "none", False),
    ],
)
def test_a_minimum_is_satisfied_or_not(text, minimum, satisfied):
    assert at_least(text, minimum) is satisfied


@pytest.mark.parametrize("text", ["", "6.8.0_1", "12 (bookworm)", ".1", "1..2", "x1"])
def test_no_version(text):
    assert parse(text) is None


def test_clients_built_by_hand_have_everything():
    assert supports("development", "99.0.0")
    some = ("dev-1234", "0.48.0-rc1", "0.47.9", "")
    assert [supports(each, "0.48.0") for each in some] == [True, True, False, False]


@pytest.mark.parametrize(
    ("versions", "port"),
    [
        (["0.59.0", "0.77.1", "ci-1"], 22054),
        (["0.59.0", "0.58.9"], 5353),
        (["0.59.0-rc1"], 5353),
        ([""], 5353),
        ([], 22054),
    ],
)
def test_forwarders_move_once_every_client_knows(versions, port):
    assert forwarder_port(versions) == port


def test_no_number_of_a_version_begins_with_0():
    assert not is_semantic_at_least("0.059.0", (0, 59, 0))
