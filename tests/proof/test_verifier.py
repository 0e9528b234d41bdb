"""An export is checked against a head kept elsewhere, and what was touched is named."""

import json
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from events.audit import retention
from events.proof import heads, published, verifier
from tests.events.days import keep
from tests.people import api_as
from tests.programs import ran
from tests.proof.trails import PATH, START, Vault, command, tamper, write

pytestmark = pytest.mark.django_db


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    """Files about a trail of 300 events and those of the test's people."""
    found = Vault(tmp_path, api_as("auditor"))
    write(300, START)
    found.fetch()
    return found


def changed(line: bytes, **facts: Any) -> bytes:
    return json.dumps(json.loads(line) | facts).encode() + b"\n"


def change(lines: list[bytes], place: int) -> None:
    lines[place] = changed(lines[place], source_address="forged")


def remove(lines: list[bytes], place: int) -> None:
    del lines[place]


def insert(lines: list[bytes], place: int) -> None:
    lines.insert(place, changed(lines[place], id="0"))


DEEDS = {"change": change, "remove": remove, "insert": insert}
WHOLE: dict[Path, list[bytes]] = {}


def id_of(line: bytes) -> str:
    return str(json.loads(line)["id"])


def test_what_is_written_later_is_said_to_be_newer(vault: Vault):
    write(3)
    vault.export()
    for leaves in (True, False):
        assert "; 3 are newer and not proven by it" in vault.ok(leaves=leaves)


def test_a_changed_event_is_named(vault: Vault):
    whole = vault.lines()
    name = id_of(whole[41])
    changes: tuple[dict[str, Any], ...] = (
        *({"meta": {"name": "thing 7"}}, {"changes": {}}, {"token_id": "t"}),
        {"initiator_name": "Ann Mueller"},
        {"timestamp": "2026-03-01T12:00:00Z"},
        {"activity_code": "group.delete"},
    )
    for facts in changes:
        vault.keep([*whole[:41], changed(whole[41], **facts), *whole[42:]])
        assert f"changed: event {name} (line 42)\n" in vault.faulty()
        vault.faulty(leaves=False)


def test_a_removed_event_is_named(vault: Vault):
    lines = vault.lines()
    names = [id_of(lines.pop(place)) for place in (200, 100, 0)]
    vault.keep(lines)
    told = vault.faulty().splitlines()
    assert told[:3] == [f"removed: event {name}" for name in sorted(names, key=int)]
    assert "removed: 3 of" in vault.faulty(leaves=False)
    vault.ok("--part")


def test_an_added_event_is_named(vault: Vault):
    lines = vault.lines()
    lines.insert(5, changed(lines[5], meta={}))
    lines.insert(9, changed(lines[9], id="0"))
    vault.keep(lines)
    told = vault.faulty()
    assert f"added: event {id_of(lines[5])} again (line 7)" in told
    assert "added: event 0 (line 10)" in told


@pytest.mark.parametrize("leaves", [True, False])
def test_an_export_as_it_was_is_ok_in_any_order(vault: Vault, leaves: bool):
    assert vault.ok(leaves=leaves).startswith("ok: ")
    lines = vault.lines()
    for order in (lines[::-1], sorted(lines), Random(7).sample(lines, len(lines))):
        vault.keep(order)
        vault.ok(leaves=leaves)
    vault.keep([*order[:-1], changed(order[-1], target_id="another")])
    vault.faulty(leaves=leaves)


def test_the_file_of_published_heads_is_a_head(vault: Vault):
    file = vault.folder / "heads.ndjson"
    published.publish(file)
    later = write(5)
    heads.keep_up()
    published.publish(file)
    vault.fetch()
    vault.keep(vault.lines()[::-1])
    before = f"and of {len(file.read_bytes().splitlines()) - 1} before it"
    for leaves in (True, False):
        assert before in vault.ok(leaves=leaves, head="heads.ndjson")
    file.write_bytes(file.read_bytes() + b'{"key_id": "')
    status, _, err = vault.check(head="heads.ndjson")
    assert status == 0
    assert "the last line was cut off" in err
    lines = vault.lines()
    lines[-1] = changed(lines[-1], meta={})
    vault.keep(lines)
    told = f"changed: something among events {later[0]} to {later[-1]}, of the head of"
    assert told in vault.faulty(leaves=False, head="heads.ndjson")


def test_the_words_for_a_code_are_not_proven(vault: Vault):
    lines = vault.lines()
    lines[3] = changed(lines[3], activity="Something else")
    vault.keep(lines)
    vault.ok()


def test_a_line_that_says_more_than_was_signed_is_named(vault: Vault):
    lines = vault.lines()
    lines[3] = changed(lines[3], approved_by="the board")
    vault.keep(lines)
    assert "unreadable: line 4 " in vault.faulty()


def test_a_line_that_is_no_event_is_named(vault: Vault):
    whole = vault.lines()
    no_events = [b"{", b"[]", b"1", b'{"id": "1"}', b'{"id": "1", "id": "2"}']
    no_events += [b'{"id": NaN}', b"\xff", b"[" * 100_000]
    for line in no_events:
        vault.keep([*whole, line + b"\n"])
        assert f"unreadable: line {len(whole) + 1} " in vault.faulty(), line[:20]


def test_what_was_changed_in_the_database_is_named(vault: Vault):
    one, two = (id_of(vault.lines()[place]) for place in (50, 60))
    tamper("UPDATE events_auditevent SET initiator_name = 'X' WHERE id = %s", int(one))
    tamper("DELETE FROM events_auditevent WHERE id = %s", int(two))
    vault.export()
    told = vault.faulty()
    assert f"changed: event {one} (line 51)" in told
    assert f"removed: event {two}" in told


def test_a_tree_that_was_built_anew_is_another(vault: Vault):
    change = "UPDATE events_auditevent SET initiator_name = 'X' WHERE target_id = %s"
    tamper(change, "object-5")
    tamper("DELETE FROM events_audittile")
    old = vault.json("head.json")
    vault.fetch()
    (vault.folder / "head.json").write_text(json.dumps(old))
    assert "leaves: they are of another tree than the head" in vault.faulty()
    vault.faulty(leaves=False)


def test_a_forged_head_is_told(vault: Vault):
    head, signed = vault.json("head.json"), "its signature is not that of the key"
    forged: tuple[tuple[dict[str, Any], str], ...] = (
        ({"tree_size": 1}, signed),
        ({"timestamp": "2026-01-01T00:00:00Z"}, signed),
        ({"signature": "AAAA"}, signed),
        ({"key_id": "0" * 16}, "which is none of the keys"),
    )
    for facts, told in forged:
        (vault.folder / "head.json").write_text(json.dumps(head | facts))
        assert told in vault.faulty(), facts


def test_a_key_signs_only_while_it_is_valid(vault: Vault):
    [key] = vault.json("keys.json")
    for times in (
        {"valid_until": "2026-01-01T00:00:00Z"},
        {"valid_from": "2999-01-01T00:00:00Z"},
    ):
        (vault.folder / "keys.json").write_text(json.dumps([key | times]))
        assert "at which its key was not valid" in vault.faulty()


def test_files_that_are_something_else_end_it_with_status_2(vault: Vault):
    for name in ("leaves.ndjson", "keys.json", "head.json"):
        before = (vault.folder / name).read_bytes()
        for text in (b"{", b'{"a": 1}\n'):
            (vault.folder / name).write_bytes(text)
            status, _, err = vault.check()
            assert status == 2
            assert err
        (vault.folder / name).write_bytes(before)
    (vault.folder / "audit.ndjson").unlink()
    assert vault.check()[0] == 2


def test_paths_of_the_api_convince_it(vault: Vault):
    old, name = vault.json("head.json"), id_of(vault.lines()[7])
    (vault.folder / "old.json").write_text(json.dumps(old))
    write(600)
    vault.fetch()
    size = vault.json("head.json")["tree_size"]
    vault.get("event.json", f"{PATH}/{name}")
    vault.get("path.json", f"{PATH}/proof/inclusion?event={name}&tree_size={size}")
    query = f"first={old['tree_size']}&second={size}"
    vault.get("link.json", f"{PATH}/proof/consistency?{query}")
    known = ["--keys", vault.at("keys.json")]
    inclusion = ["inclusion", vault.at("event.json"), vault.at("path.json"), *known]
    consistency = ["consistency", vault.at("old.json"), vault.at("head.json")]
    assert verifier.main([*inclusion, "--head", vault.at("head.json")]) == 0
    assert verifier.main([*consistency, vault.at("link.json"), *known]) == 0
    assert verifier.main([*inclusion, "--head", vault.at("old.json")]) == 1
    event = vault.json("event.json") | {"target_id": "another"}
    (vault.folder / "event.json").write_text(json.dumps(event))
    assert verifier.main([*inclusion, "--head", vault.at("head.json")]) == 1
    link = vault.json("link.json")
    link["consistency_path"][0] = "00" * 32
    (vault.folder / "link.json").write_text(json.dumps(link))
    assert verifier.main([*consistency, vault.at("link.json"), *known]) == 1


def test_an_export_after_retention_is_ok_against_the_older_head(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
):
    keep(monkeypatch, audit=30)
    retention.prune()  # the 300 of last spring
    vault.export()
    assert "; 300 were removed by retention: " in vault.ok()
    lines = vault.lines()
    stays = id_of(lines.pop())
    vault.keep(lines)
    assert f"removed: event {stays}\n" in vault.faulty()


def test_the_printed_file_runs_alone(vault: Vault):
    script = vault.folder / "verify_audit.py"
    script.write_text(command("verifier"))
    words = [sys.executable, "-I", str(script), *vault.words()]
    run = ran(*words, cwd=vault.folder)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith("ok: ")
    lines = script.read_text().splitlines()
    assert "events." not in "".join(line for line in lines if "import" in line)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32), deed=st.sampled_from(["none", *DEEDS]))
def test_in_any_order_any_touched_line_is_seen_and_no_other(
    vault: Vault, seed: int, deed: str
):
    random = Random(seed)
    whole = WHOLE.setdefault(vault.folder, vault.lines())  # before the first example
    lines = random.sample(whole, len(whole))
    if deed != "none":
        DEEDS[deed](lines, random.randrange(len(lines)))
    vault.keep(lines)
    assert vault.check(leaves=random.random() < 0.5)[0] == (deed != "none")
