"""The commands of DNS, as people type them."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from dns.models import Zone
from meshmgmt.inventory.models import Peer
from tests.api_client import Api
from tests.factories import Trail
from tests.resource_contract import ok

pytestmark = pytest.mark.django_db


@pytest.fixture
def zone_id(laptop: Peer) -> str:
    return Zone.objects.get().pk


def run(name: str, *arguments: str) -> str:
    """Run a command and return what it prints."""
    out = io.StringIO()
    call_command(name, *arguments, stdout=out)
    return out.getvalue()


def write(folder: Path, text: str) -> str:
    path = folder / "zone"
    path.write_text(text, encoding="utf-8")
    return str(path)


FILE = "$TTL 60\nwww A 10.0.0.2\nnew A 10.0.0.3\nmx MX 10 a.test.\n"


@pytest.mark.parametrize("reference", ["svc.test", "Svc.Test.", "Services"])
def test_import_merges_by_default(
    api: Api, zone_id: str, tmp_path: Path, reference: str
):
    trail = Trail()
    text = run("import_zone", write(tmp_path, FILE), "--zone", reference)
    assert "+ www.svc.test 60 A 10.0.0.2" in text
    assert "skipped line 4: mx.svc.test MX" in text
    assert "2 added, 0 changed, 0 removed, 0 unchanged, 1 skipped" in text
    shown = ok(api.get(f"/api/dns/zones/{zone_id}"))["records"]
    assert [r["content"] for r in shown] == ["10.0.0.1", "10.0.0.2", "10.0.0.3"]
    assert {event.initiator_id for event in trail.events} == {"system"}


def test_import_may_replace(api: Api, zone_id: str, tmp_path: Path):
    path, trail = write(tmp_path, FILE), Trail()
    dry = run("import_zone", path, "--zone", zone_id, "--replace", "--dry-run")
    assert "~ www.svc.test 300 A 10.0.0.1 -> 60 10.0.0.2" in dry
    assert dry.rstrip().splitlines()[-1].startswith("dry run, nothing written: 1 added")
    assert len(ok(api.get(f"/api/dns/zones/{zone_id}"))["records"]) == 1
    assert trail.codes == []
    document = run("import_zone", path, "--zone", zone_id, "--replace", "--json")
    assert json.loads(document)["preview"] is False
    shown = ok(api.get(f"/api/dns/zones/{zone_id}"))["records"]
    assert [r["content"] for r in shown] == ["10.0.0.2", "10.0.0.3"]


def test_import_reads_standard_input(zone_id: str, monkeypatch: pytest.MonkeyPatch):
    stream: Any = io.TextIOWrapper(io.BytesIO(FILE.encode()))
    monkeypatch.setattr(sys, "stdin", stream)
    assert "2 added" in run("import_zone", "-", "--zone", zone_id)


@pytest.mark.parametrize(
    ("text", "message"),
    [("www 60 A 10.0.0\n", "line 1, column 10"), (FILE, "line 4, column 4: .*MX")],
)
def test_strict_import_of_a_faulty_file_changes_nothing(
    zone_id: str, tmp_path: Path, text: str, message: str
):
    trail = Trail()
    with pytest.raises(CommandError, match=message):
        run("import_zone", write(tmp_path, text), "--zone", zone_id, "--strict")
    assert trail.codes == []


def test_import_refuses_what_it_cannot_read(zone_id: str, tmp_path: Path):
    with pytest.raises(CommandError, match="no zone is known"):
        run("import_zone", write(tmp_path, FILE), "--zone", "x.test")
    with pytest.raises(CommandError, match="cannot read"):
        run("import_zone", str(tmp_path / "absent"), "--zone", zone_id)
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(CommandError, match="not UTF-8"):
        run("import_zone", str(binary), "--zone", zone_id)
    huge = tmp_path / "huge"
    # What is read of it ends within a character.
    huge.write_bytes("ä".encode() * (8 * 1024 * 1024 + 1))
    with pytest.raises(CommandError, match="larger than"):
        run("import_zone", str(huge), "--zone", zone_id)


def test_export_is_printed_or_written(zone_id: str, tmp_path: Path):
    run("import_zone", write(tmp_path, FILE), "--zone", zone_id, "--replace")
    first = run("export_zone", "svc.test")
    assert first == (
        "$ORIGIN svc.test.\nnew\t60\tIN\tA\t10.0.0.3\nwww\t60\tIN\tA\t10.0.0.2\n"
    )
    path = str(tmp_path / "exported")
    run("export_zone", zone_id, "--output", path)
    assert Path(path).read_text(encoding="utf-8") == first


def test_export_may_have_soa_and_ns(zone_id: str):
    text = run("export_zone", "svc.test", "--authority")
    assert "\tSOA\t" in text
    assert "\tNS\t" in text


def test_export_says_what_goes_wrong(zone_id: str, tmp_path: Path):
    with pytest.raises(CommandError, match="no zone"):
        run("export_zone", "x.test")
    with pytest.raises(CommandError, match="cannot write"):
        run("export_zone", zone_id, "--output", str(tmp_path / "no" / "file"))
