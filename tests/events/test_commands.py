"""Commands of the event streams: prune_events, audit."""

from datetime import timedelta
from typing import Any

import orjson
import pytest
from django.core.management import CommandError, load_command_class
from django.db import connection
from django.test.utils import CaptureQueriesContext

from events.activities import Activity
from events.audit import reading
from events.models import AuditEvent
from meshmgmt.core import clock
from tests.events.commands import run

pytestmark = pytest.mark.django_db


def test_prune_says_what_it_would_drop_and_drops_it():
    assert run("prune_events", dry_run=True)[0] == run("prune_events", dry_run=True)[0]
    out, _ = run("prune_events", dry_run=True)
    assert out.splitlines()[0].startswith("traffic: would drop 0 events before ")


def record(code: str, hours_ago: float, **facts: Any) -> None:
    """Write an audit event of that age."""
    AuditEvent(
        activity_code=code,
        timestamp=clock.now() - timedelta(hours=hours_ago),
        **{"meta": {"name": "thing"}, **facts},
    ).save()


@pytest.fixture
def history() -> None:
    AuditEvent.objects.prune()
    record("dns.zone.create", 3, initiator_email="ann@mesh.dev")
    record("dns.zone.delete", 0.5, target_id="zone-1")
    record("group.add", 0.2, initiator_id="system")


@pytest.mark.usefixtures("history")
@pytest.mark.parametrize(
    ("options", "codes"),
    [
        ({}, ["dns.zone.create", "dns.zone.delete", "group.add"]),
        ({"since": "1h"}, ["dns.zone.delete", "group.add"]),
        (
            {"since": "2000-01-01", "code": ["dns.*"]},
            ["dns.zone.create", "dns.zone.delete"],
        ),
        ({"initiator": "ANN@mesh.dev"}, ["dns.zone.create"]),
        ({"initiator": "system"}, ["group.add"]),
        ({"target": "zone-1"}, ["dns.zone.delete"]),
        ({"search": "ZONE-1"}, ["dns.zone.delete"]),
    ],
)
def test_audit_prints_what_matches_oldest_first(
    options: dict[str, Any], codes: list[str]
):
    out, _ = run("audit", **options)
    assert [line.split()[1] for line in out.splitlines()] == codes
    out, _ = run("audit", json=True, **options)
    assert [orjson.loads(line)["activity_code"] for line in out.splitlines()] == codes


@pytest.mark.usefixtures("history")
def test_a_line_of_audit_is_for_people():
    line = run("audit", target="zone-1")[0]
    assert "zone-1" in line
    assert str(Activity("dns.zone.delete").label) in line
    assert line.endswith("| name=thing\n")


def test_audit_refuses_what_it_does_not_understand():
    with pytest.raises(CommandError, match="no activity code"):
        run("audit", code=["dns.nothing"])
    with pytest.raises(CommandError, match="'long ago' is neither a span such as"):
        run("audit", since="long ago")


@pytest.mark.usefixtures("history")
def test_audit_follows_what_is_committed(monkeypatch: pytest.MonkeyPatch):
    rounds = iter([lambda: record("route.add", 0), lambda: record("group.add", 99)])

    def wait(seconds: float) -> None:
        step = next(rounds, None)
        if step is None:
            raise KeyboardInterrupt
        step()

    monkeypatch.setattr("events.management.commands.audit.time.sleep", wait)
    out, _ = run("audit", since="0s", follow=True)
    assert [line.split()[1] for line in out.splitlines()] == ["route.add", "group.add"]


@pytest.mark.usefixtures("history")
def test_audit_reads_in_pieces_and_keeps_the_order(monkeypatch: pytest.MonkeyPatch):
    for number in range(9):  # equal times, and ids that do not follow the times
        record("route.add", 9 - number // 3 * 4, target_id=str(number))
    monkeypatch.setattr(reading, "_CHUNK", 2)
    with CaptureQueriesContext(connection) as queries:
        out, _ = run("audit", json=True)
    found = [orjson.loads(line) for line in out.splitlines()]
    places = [(event["timestamp"], int(event["id"])) for event in found]
    assert len(places) == 12
    assert places == sorted(places)
    reads = [q["sql"] for q in queries if '"meta"' in q["sql"]]
    assert len(reads) == 7
    assert all(sql.endswith("LIMIT 2") for sql in reads)


@pytest.mark.usefixtures("history")
def test_a_name_cannot_forge_a_line_nor_command_the_terminal():
    name = "x\n2099-01-01 FORGED \x1b[31mred\x9b2J\u202e"
    record("group.add", 0.1, meta={"name": name}, initiator_name=name)
    out, _ = run("audit", since="8m")
    line = out.removesuffix("\n")
    assert line.isprintable()
    assert line.count(r"x\n2099-01-01 FORGED \x1b[31mred\x9b2J\u202e") == 2


def test_audit_names_its_default_and_units():
    parser = load_command_class("events", "audit").create_parser("manage.py", "audit")
    text = " ".join(parser.format_help().split())
    assert "s, m, h, d or w" in text
    assert "24h when absent" in text
