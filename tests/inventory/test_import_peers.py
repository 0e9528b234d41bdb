"""`manage.py import_peers`: all or nothing, line by line, again and again."""

import io
import json
import os
import sys
from functools import partial
from pathlib import Path
from select import select
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from meshmgmt.core.errors import InvalidArgument
from meshmgmt.inventory.models import Peer
from meshmgmt.inventory.services.imports import FIELDS, ImportFault, peers_import
from meshmgmt.inventory.services.peers import peer_create
from tests.commands import printed
from tests.factories import (
    Trail,
    account_settings,
    group,
    ipv6_for_all,
    peer,
    public_key,
)
from tests.people import person
from tests.races import race
from tests.waiting import until

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("wide_range")]


def line(number: int, **facts: Any) -> dict[str, Any]:
    """Return one importable peer."""
    return {"wg_public_key": public_key(number), "name": f"host-{number}", **facts}


def ndjson(*entries: Any) -> list[bytes]:
    """Return lines as they are in a file."""
    return [
        entry if isinstance(entry, bytes) else json.dumps(entry).encode() + b"\n"
        for entry in entries
    ]


def faults(*entries: Any) -> list[tuple[int, str, str]]:
    """Import lines that must fail; return line, field and message of each fault."""
    before, trail = list(Peer.objects.values()), Trail()
    with pytest.raises(ImportFault) as caught:
        peers_import(ndjson(*entries))
    assert list(Peer.objects.values()) == before
    assert trail.codes == []
    return [(f.line, f.field, f.message) for f in caught.value.faults]


def test_new_peers_get_address_label_and_event():
    trail = Trail()

    result = peers_import(ndjson(line(1), b"\n", line(2, ip="100.64.0.9")))

    assert (result.created, result.updated, result.unchanged) == (2, 0, 0)
    one, two = Peer.objects.all()
    assert (one.ip, one.dns_label) == ("100.64.0.1", "host-1")
    assert (two.ip, two.dns_label) == ("100.64.0.9", "host-2")
    assert trail.targets == [("peer.user.add", one.pk), ("peer.user.add", two.pk)]
    assert trail.events[0].initiator_id == "system"


def test_every_field_is_taken():
    ipv6_for_all()
    owner = person("user", email="Ann@mesh.dev")
    switches = ("ssh_enabled", "login_expiration_enabled", "login_expired", "ephemeral")
    more = ("inactivity_expiration_enabled", "approval_required", "connected")
    kept: dict[str, Any] = dict.fromkeys((*switches, *more), True)
    kept |= {"ip": "100.70.0.1", "hostname": "h", "os": "Debian 12", "geoname_id": 7}
    kept |= {"kernel_version": "6.1", "version": "0.50", "ui_version": "u"}
    kept |= {"serial_number": "s", "connection_ip": "203.0.113.5", "country_code": "DE"}
    kept |= {"city_name": "Köln", "disapproval_reason": "r"}
    kept |= {"extra_dns_labels": ["www", "api"], "local_flags": {"disable_dns": True}}
    facts = {"ipv6": "FD00::0001", "user": "ann@MESH.dev"}
    facts |= {"last_seen": "2026-01-02T03:04:05Z"}
    facts |= {"last_login": "2026-01-02T03:04:05+02:00"}
    facts |= {"created_at": "2025-01-02T03:04:05Z"}
    assert {"wg_public_key", "name", *kept, *facts} == set(FIELDS)

    peers_import(ndjson(line(1, **kept, **facts)))

    made = Peer.objects.get()
    assert {name: getattr(made, name) for name in kept} == kept
    assert (made.ipv6, made.user_id) == ("fd00::1", owner.pk)
    assert made.last_login is not None
    assert made.last_login.isoformat() == "2026-01-02T01:04:05+00:00"


@pytest.mark.parametrize("never", ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"])
def test_time_that_clients_write_for_never_is_none(never: str):
    facts = {"last_seen": never, "last_login": never}
    peers_import(ndjson(line(1), line(2, **facts)))
    peers_import(ndjson(line(1, last_seen="2026-01-02T03:04:05Z")))

    result = peers_import(ndjson(line(1, **facts), line(2, **facts)))

    assert (result.updated, result.unchanged) == (1, 1)
    times = Peer.objects.values_list("last_seen", "last_login")
    assert list(times) == [(None, None)] * 2


def test_second_run_changes_nothing():
    lines = ndjson(line(1, ip="100.64.0.9", extra_dns_labels=["a"]), line(2))
    peers_import(lines)
    before, trail = list(Peer.objects.values()), Trail()

    result = peers_import(lines)

    assert (result.created, result.updated, result.unchanged) == (0, 0, 2)
    assert list(Peer.objects.values()) == before
    assert trail.codes == []


def test_given_columns_change_and_others_stay():
    peers_import(ndjson(line(1, os="Debian 12", ssh_enabled=True)))
    trail = Trail()

    result = peers_import(ndjson({"wg_public_key": public_key(1), "name": "New Name"}))

    assert (result.created, result.updated, result.unchanged) == (0, 1, 0)
    changed = Peer.objects.get()
    assert (changed.name, changed.dns_label) == ("New Name", "new-name")
    assert (changed.os, changed.ssh_enabled) == ("Debian 12", True)
    assert trail.codes == ["peer.rename"]


def test_peers_of_one_name_get_labels_of_their_own():
    entries = [
        line(1, name="web", ip="100.64.1.2"),
        line(2, name="Web.example", ip="100.64.3.4"),
        line(3, name="web", ip="100.65.3.4"),
    ]
    odd = ("Bücher", "-_-", "a b_c.", "...")
    entries += [line(number, name=name) for number, name in enumerate(odd, 4)]
    peers_import(ndjson(*entries))

    labels = list(Peer.objects.values_list("dns_label", flat=True))
    assert labels[:3] == ["web", "web-3-4", "web-3-4-2"]
    assert labels[3:] == ["xn--bcher-kva", "peer", "a-b-c", "peer-0-4"]


BAD: list[tuple[Any, str, str]] = [
    (b"{\n", "", "not JSON"),
    (b'{"name":"\xff"}\n', "", "not JSON"),
    ([], "", "not a JSON object"),
    ({"name": "x"}, "wg_public_key", "is required"),
    ({"wg_public_key": public_key(9)}, "name", "name is required for a new peer"),
    (line(9, wg_public_key="AAAA"), "wg_public_key", "32 bytes"),
    (line(9, wg_public_key=public_key(9)[:-2] + "B="), "wg_public_key", "32 bytes"),
    (line(9, wg_public_key=public_key(9) + " "), "wg_public_key", "32 byt"),
    (line(9, colour="red"), "colour", "'colour' is not a field"),
    (line(9, geoname_id="1"), "geoname_id", "must be a whole number"),
    (line(9, ssh_enabled=1), "ssh_enabled", "must be a boolean"),
    (line(9, os=None), "os", "must be a string"),
    (line(9, name=" "), "name", "must not be empty or blank"),
    (line(9, name="x" * 256), "name", "at most 255 characters"),
    (line(9, os="a\0"), "os", "must not contain NUL"),
    (line(9, ip="100.64.0.300"), "ip", "is not an IPv4 address"),
    (line(9, ip="fd00::1"), "ip", "is not an IPv4 address"),
    (line(9, ip="10.0.0.1"), "ip", "not within the account's network"),
    (line(9, ip="100.64.0.0"), "ip", "cannot be the address"),
    (line(9, ip="100.127.255.255"), "ip", "cannot be the address"),
    (line(9, ip="100.64.0.77"), "ip", "another peer has the address"),
    (line(9, ipv6="fd00:0::77"), "ipv6", "another peer has the address"),
    (line(9, ipv6="fd00::x"), "ipv6", "is not an IPv6 address"),
    (line(9, ipv6="fe80::1%eth0"), "ipv6", "has no zone"),
    (line(9, user="no@mesh.dev"), "user", "no user has the e-mail address"),
    (line(9, extra_dns_labels=["A_b"]), "extra_dns_labels[0]", "lower case"),
    (line(9, extra_dns_labels=["a", "a"]), "extra_dns_labels[1]", "given twice"),
    (line(9, local_flags={"x": True}), "local_flags.x", "is not one of"),
    (line(9, local_flags={"x": 1}), "local_flags", "object of booleans"),
    (line(9, last_seen="yesterday"), "last_seen", "RFC 3339 time"),
    (line(9, last_seen="2026-01-01T00:00:00"), "last_seen", "RFC"),
    (line(9, last_seen="2026-W47T00:00:00Z"), "last_seen", "RFC 3339 time"),
    (line(9, last_seen="0001-01-01T00:00:00+01:00"), "last_seen", "RFC"),
    (line(9, created_at="0001-01-01T00:00:00Z"), "created_at", "RFC 3339"),
    (line(9, geoname_id=-1), "geoname_id", "must be from 0"),
    (line(9, country_code="GER"), "country_code", "at most 2 characters"),
    (line(9, connection_ip="x"), "connection_ip", "must be an IP address"),
    (line(9, connection_ip="fe80::1%" + "x" * 40), "connection_ip", "no zone"),
    (b'"' + b"x" * 70000, "", "longer than 65536 bytes"),
]


def test_faulty_line_stops_everything():
    peer(ip="100.64.0.77", ipv6="fd00::77")
    ipv6_for_all()
    others = []
    for entry, field, text in BAD:
        found = faults(line(1), entry, line(2))
        named = [(number, name) for number, name, _ in found] == [(2, field)]
        if not named or text not in found[0][2]:
            others.append((entry, found))
    assert others == []


def test_an_address_is_for_members_of_groups_that_have_ipv6():
    account_settings(network_range_v6="")
    entries = line(1, ipv6="fd00::1"), line(2, ipv6="fd00::2")
    reason = "IPv6 is not configured for this account"
    assert faults(*entries) == [(1, "ipv6", reason), (2, "ipv6", reason)]
    one = peer(wg_public_key=public_key(1))
    team = group("team", one)
    account_settings(network_range_v6="fd00::/64", ipv6_enabled_groups=[team.pk])
    assert faults(*entries) == [(2, "ipv6", "this peer is in no group that has IPv6")]
    for entry in entries[0], line(1, ipv6=""):
        peers_import(ndjson(entry))
        assert Peer.objects.get().ipv6 == "fd00::1"


def test_all_faults_are_told_with_their_lines():
    found = faults(line(1, ip="x", os=1), line(1), line(2), line(2), b"x\n")

    places = [(number, name) for number, name, _ in found]
    assert places == [(1, "os"), (4, "wg_public_key"), (5, "")]
    assert found[1][2] == "the peer of line 3 has this public key too"


def test_dry_run_counts_and_writes_nothing():
    trail = Trail()

    result = peers_import(ndjson(line(1), line(2)), dry_run=True)

    assert result.created == 2
    assert not Peer.objects.exists()
    assert trail.codes == []


run = partial(printed, "import_peers")


def test_command_reads_a_file(tmp_path: Path):
    path = tmp_path / "peers.ndjson"
    path.write_bytes(b"".join(ndjson(line(1), line(2))))

    foreseen = "peers: 2 would be created, 0 would be updated, 0 unchanged\n"
    assert run(str(path), "--dry-run") == foreseen
    assert run(str(path)) == "peers: 2 created, 0 updated, 0 unchanged\n"
    counts = {"created": 0, "updated": 0, "unchanged": 2}
    assert json.loads(run(str(path), "--json")) == counts | {"dry_run": False}


def test_command_reads_standard_input(monkeypatch: pytest.MonkeyPatch):
    data = io.BytesIO(b"".join(ndjson(line(1))))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(data))

    assert run("-").startswith("peers: 1 created")


def test_a_line_that_does_not_end_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    data = io.BytesIO(ndjson(line(1))[0] + b"x" * 2**20)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(data))
    with pytest.raises(CommandError, match="nothing was imported"):
        run("-")
    assert "line 2: the line is longer than 65536 bytes" in capsys.readouterr().err
    assert data.tell() < 2 * 65536


@pytest.mark.django_db(transaction=True)
def test_others_write_while_lines_are_waited_for():
    reading, writing = os.pipe()

    def importing() -> int:
        with os.fdopen(reading, "rb") as lines:
            return peers_import(lines).created

    def sending() -> int:
        with os.fdopen(writing, "wb") as pipe:
            pipe.writelines(ndjson(line(1)))
            pipe.flush()
            until(lambda: not select([reading], [], [], 0)[0], "a line that is read")
            peer_create(name="other", wg_public_key=public_key(7))
            pipe.writelines(ndjson(line(2)))
        return 1

    assert race([importing, sending]) == [2, 1]
    assert Peer.objects.count() == 3


def test_command_names_faulty_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "peers.ndjson"
    path.write_bytes(b"".join(ndjson(line(1), line(2, ip="x"))))

    told = "'x' is not an IPv4 address"
    with pytest.raises(CommandError, match="nothing was imported"):
        run(str(path))
    assert capsys.readouterr().err == f"line 2: {told}\n"
    with pytest.raises(CommandError, match="nothing was imported"):
        call_command("import_peers", str(path), "--json")
    faults = [{"line": 2, "field": "ip", "message": told}]
    assert json.loads(capsys.readouterr().out) == {"faults": faults}


def test_command_says_that_a_file_is_missing(tmp_path: Path):
    with pytest.raises(CommandError, match="cannot be read"):
        run(str(tmp_path / "none"))


def test_range_that_is_used_up_is_said():
    account_settings(network_range="100.64.0.0/30")

    with pytest.raises(InvalidArgument, match="has no free address"):
        peers_import(ndjson(line(1), line(2), line(3)))
    assert not Peer.objects.exists()


def test_documentation_names_every_field():
    text = Path("docs/groups.md").read_text(encoding="utf-8")
    section = text.partition("\nFields: ")[2].partition(". `user`")[0]

    assert section.strip("`").split() == list(FIELDS)
