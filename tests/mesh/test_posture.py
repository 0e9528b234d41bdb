"""Posture checks of peers: what passes, and that what is unknown fails."""

from dataclasses import replace

import pytest

from meshmgmt.mesh import Mesh
from meshmgmt.mesh.posture import passes, watched_files
from meshmgmt.mesh.snapshot import Peer, PostureCheck, RuleSide
from tests.explain.pure import NO_GROUPS, machine, placed, policy

PROCESSES = [{"linux_path": "/usr/bin/av", "mac_path": "/Applications/av"}]


def peer(**facts) -> Peer:
    return Peer(id="p", key="k", label="p", ip="100.71.0.1", **facts)


def check(kind, **settings) -> PostureCheck:
    return PostureCheck("c", {kind: settings})


def ranges(action, *texts):
    return check("peer_network_range_check", action=action, ranges=list(texts))


def places(action, *found):
    locations = [
        {"country_code": country, "city_name": city} for country, city in found
    ]
    return check("geo_location_check", action=action, locations=locations)


LINUX = check("os_version_check", linux={"min_kernel_version": "6.1.0"})
MAC = check("os_version_check", darwin={"min_version": "14"})
CLIENT = check("nb_version_check", min_version="0.78.0")
SCANNER = check("process_check", processes=PROCESSES)


PASSING = [
    ({"version": "0.78.1"}, CLIENT),
    ({"version": "0.78.0-rc1"}, CLIENT),
    ({"system": "linux", "kernel_version": "6.1.0-18-amd64"}, LINUX),
    ({"system": "darwin", "os_version": "14.1"}, MAC),
    ({"system": "freebsd"}, LINUX),
    ({"networks": ("10.9.0.10/24",)}, ranges("allow", "10.9.0.0/24")),
    ({"networks": ("10.9.0.10/24",)}, ranges("deny", "10.9.0.0/25")),
    ({"networks": ("10.9.0.10", "junk")}, ranges("allow", "10.0.0.0/8")),
    ({"networks": ("fd00::1/64",)}, ranges("allow", "fd00::/48")),
    ({"country": "DE", "city": "Berlin"}, places("allow", ("DE", ""))),
    ({"country": "DE", "city": "Berlin"}, places("deny", ("DE", "Bonn"))),
    ({"system": "linux", "running": frozenset({"/usr/bin/av"})}, SCANNER),
]
FAILING = [
    ({"version": "0.77.1"}, CLIENT),
    ({"version": "development"}, CLIENT),
    ({}, CLIENT),
    ({"system": "linux", "kernel_version": "5.10.0"}, LINUX),
    ({"system": "windows", "kernel_version": "10.0"}, LINUX),
    ({"system": "darwin", "os_version": ""}, MAC),
    ({}, ranges("deny", "10.0.0.0/8")),
    ({"networks": ("10.9.0.10/8",)}, ranges("allow", "10.9.0.0/24")),
    ({"networks": ("10.9.0.10/24",)}, ranges("deny", "10.0.0.0/8")),
    ({"networks": ("fd00::1/64",)}, ranges("allow", "0.0.0.0/0")),
    ({}, places("deny", ("DE", ""))),
    ({"country": "de"}, places("allow", ("DE", ""))),
    ({"country": "DE", "city": "Berlin"}, places("allow", ("DE", "Bonn"))),
    ({"system": "linux"}, SCANNER),
    ({"system": "windows", "running": frozenset({"/usr/bin/av"})}, SCANNER),
    ({"system": "js", "running": frozenset({"/usr/bin/av"})}, SCANNER),
]


@pytest.mark.parametrize(
    ("facts", "asked", "good"),
    [(*each, True) for each in PASSING] + [(*each, False) for each in FAILING],
)
def test_a_peer_passes_a_check_or_fails_it(facts, asked, good):
    assert passes(peer(**facts), [asked]) is good


def test_every_part_of_every_check_must_pass():
    good = peer(version="0.78.0", system="linux", kernel_version="6.6.0")
    both = PostureCheck("c", {**CLIENT.checks, **SCANNER.checks})
    assert passes(good, [CLIENT, LINUX])
    assert not passes(good, [both])
    assert passes(good, [])


def test_files_of_every_system_are_watched():
    assert watched_files(SCANNER) == ("/usr/bin/av", "/Applications/av")
    assert watched_files(CLIENT) == ()


def test_files_are_watched_by_all_peers_that_rules_with_the_check_name():
    peers = {machine(n, n, f"100.71.0.{i}"): NO_GROUPS for i, n in enumerate("abc", 1)}
    policies = [
        replace(policy(n, (RuleSide(peer=n), RuleSide(peer="c"))), checks=("scan",))
        for n in "ab"
    ]
    snapshot = replace(placed(peers, *policies), checks={"scan": SCANNER})
    mesh = Mesh(snapshot, 0)
    watched = {id_: mesh.network_map(id_).files for id_ in snapshot.peers}
    files = [("/usr/bin/av", "/Applications/av")]
    assert watched == {"a": files, "b": files, "c": []}
