"""Trails that tests prove, and files as an operator keeps them."""

import json
from collections.abc import Iterable
from contextlib import redirect_stderr, redirect_stdout
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.db import connection

from events.models import AuditEvent
from events.proof import heads, verifier
from events.proof.check import check
from meshmgmt.core import clock
from tests.api_client import Api

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
PATH = "/api/events/audit"


def write(count: int, begin: datetime | None = None) -> list[int]:
    """Append events, a millisecond apart from `begin` (now) on; return their ids."""
    start = begin or clock.now()
    AuditEvent.objects.bulk_create(
        AuditEvent(
            timestamp=start + timedelta(milliseconds=number, microseconds=number % 3),
            activity_code="group.add",
            initiator_id="u",
            initiator_name="Ann Müller 😀",
            target_id=f"object-{number}",
            meta={"name": f"thing {number}", "é": "\u2028"},
            changes={"name": {"before": None, "after": number}, "on": {"after": True}},
        )
        for number in range(count)
    )
    newest = AuditEvent.objects.order_by("-id").values_list("id", flat=True)
    return sorted(newest[:count])


def tamper(sql: str, *values: Any) -> None:
    """Change the stored trail behind the service's back."""
    with connection.cursor() as cursor:
        cursor.execute(sql, values)


def forge(number: int | None = None, moment: datetime = START, **facts: Any) -> int:
    """Put an event into the table as somebody with the database's password does.

    Behind all others unless `number` is given. Returns its id.
    """
    given = {"activity_code": "group.add", **facts}
    event = AuditEvent(id=number, timestamp=moment, **given)
    event.save(force_insert=True)
    return int(event.pk)


def bare(name: str, items: Iterable[Any], count: int) -> Iterable[Any]:
    """Show no progress."""
    return items


def faults(*files: Path) -> list[tuple[str, str]]:
    """Return kind and text of what a check of the stored trail finds."""
    return [(fault["kind"], fault["about"]) for fault in check(bare, files).faults]


def command(*words: str | Path) -> str:
    """Return what a subcommand of `manage.py audit` prints."""
    output = StringIO()
    call_command("audit", *map(str, words), stdout=output)
    return output.getvalue()


class Vault:
    """What an operator fetched and keeps: files in a folder."""

    def __init__(self, folder: Path, api: Api) -> None:
        self.folder = folder
        self.api = api

    def fetch(self) -> None:
        """Take the export, the head of now, its leaves and the keys."""
        heads.keep_up()
        head = self.get("head.json", f"{PATH}/tree-heads/latest")
        self.get("keys.json", f"{PATH}/keys")
        self.get("leaves.ndjson", f"{PATH}/proof/leaves?tree_size={head['tree_size']}")
        self.export()

    def export(self) -> None:
        self.get("audit.ndjson", PATH, Accept="application/x-ndjson")

    def get(self, name: str, path: str, **headers: str) -> Any:
        answer = self.api.get(path, **headers)
        assert answer.status == 200, answer.body
        (self.folder / name).write_bytes(answer.body)
        return answer.json

    def lines(self) -> list[bytes]:
        return (self.folder / "audit.ndjson").read_bytes().splitlines(keepends=True)

    def keep(self, lines: list[bytes]) -> None:
        (self.folder / "audit.ndjson").write_bytes(b"".join(lines))

    def json(self, name: str) -> Any:
        return json.loads((self.folder / name).read_bytes())

    def words(
        self, *more: str, leaves: bool = True, head: str = "head.json"
    ) -> list[str]:
        """Return the arguments by which the verifier checks the export."""
        words = ["trail", self.at("audit.ndjson"), "--head", self.at(head)]
        words += ["--keys", self.at("keys.json"), *more]
        return words + (["--leaves", self.at("leaves.ndjson")] if leaves else [])

    def ok(self, *more: str, **how: Any) -> str:
        """Return what the verifier says of an export that is as it was."""
        status, out, _ = self.check(*more, **how)
        assert status == 0, out
        return out

    def faulty(self, *more: str, **how: Any) -> str:
        """Return what it says of one that is not."""
        status, out, _ = self.check(*more, **how)
        assert status == 1, out
        return out

    def check(self, *more: str, **how: Any) -> tuple[int, str, str]:
        """Run the verifier on the export; return its status and what it printed."""
        out, err = StringIO(), StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            status = verifier.main(self.words(*more, **how))
        return status, out.getvalue(), err.getvalue()

    def at(self, name: str) -> str:
        return str(self.folder / name)
