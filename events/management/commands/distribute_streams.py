"""`manage.py distribute_streams`: spread the event streams over workers, or back."""

import json
import time
from argparse import ArgumentParser
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, InterfaceError, connection

from events.streams import citus, spreading
from events.streams.catalogue import STREAMS, Stream
from events.streams.spreading import Refused
from meshmgmt.core.errors import first_line
from meshmgmt.core.printable import counted

_GIB: Final = 2**30
_UNCLEARED: Final = (
    "its old rows still take disk there, unseen, for it was being read:"
    " SELECT truncate_local_data_after_distributing_table('{table}')"
)


class Command(BaseCommand):
    """Moves each stream in one transaction: all of it is there or here."""

    help = (
        "Spread network traffic events and proxy access logs over the workers of Citus, by"
        " the ids of events; --undo brings them back. Batches wait while their stream"
        " moves, and are answered 429 after 20 seconds. See docs/scaling.md."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument(
            "--shards",
            type=int,
            help="into how many parts each day of a stream goes"
            f" (default: {spreading.SHARDS_A_WORKER} for each worker)",
        )
        parser.add_argument(
            "--undo", action="store_true", help="bring the streams back"
        )
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help="say what there is and what is in the way; move nothing",
        )
        parser.add_argument(
            "--json", action="store_true", help="print the report as one JSON object"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Move, or say what would be moved, and report."""
        shards, undo = options["shards"], options["undo"]
        if undo and shards is not None:
            raise CommandError("--shards and --undo exclude each other")
        if shards is not None and not 1 <= shards <= spreading.MOST_SHARDS:
            raise CommandError(f"--shards: must be 1 to {spreading.MOST_SHARDS}")
        try:
            number = 0 if undo else shards or spreading.fitting_shards()
            plan = self._plan if options["dry_run"] else self._carry_out
            report = plan(number, undo=undo)
        except Refused as error:
            raise CommandError(str(error)) from error
        except (DatabaseError, InterfaceError) as error:
            raise CommandError(f"the database refused: {first_line(error)}") from error
        if options["json"]:
            self.stdout.write(json.dumps(report))
        else:
            self._tell(report)
        if report["obstacle"]:
            raise CommandError(report["obstacle"])

    def _plan(self, shards: int, *, undo: bool) -> dict[str, Any]:
        obstacle = ""
        streams = list(STREAMS.values())
        try:
            streams = spreading.concerned(back=undo)
        except Refused as error:
            if connection.vendor != "postgresql":
                raise
            obstacle = str(error)
        states = [spreading.state(stream) for stream in streams]
        return self._report(states, shards, obstacle)

    def _carry_out(self, shards: int, *, undo: bool) -> dict[str, Any]:
        streams = spreading.concerned(back=undo)
        moved = [self._move(stream, shards) for stream in streams]
        return self._report(moved, shards)

    def _report(
        self, streams: list[dict[str, Any]], shards: int, obstacle: str = ""
    ) -> dict[str, Any]:
        return {
            "workers": [str(worker) for worker in citus.workers()],
            "shards": shards,
            "streams": streams,
            "obstacle": obstacle,
        }

    def _move(self, stream: Stream, shards: int) -> dict[str, Any]:
        """Move a stream; return how it is then, and what that took."""
        of_all = spreading.state(stream)["days"]
        done = 0

        def day_done() -> None:
            nonlocal done
            done += 1
            self.stderr.write(f"{stream.name}: {done} of {counted(of_all, 'day')}")

        began = time.monotonic()
        cleared = True
        if shards:
            cleared = spreading.spread(stream, shards, day_done)
        else:
            spreading.bring_back(stream, day_done)
        seconds = round(time.monotonic() - began, 1)
        return {**spreading.state(stream), "seconds": seconds, "cleared": cleared}

    def _tell(self, report: dict[str, Any]) -> None:
        self.stdout.write(f"workers: {', '.join(report['workers']) or 'none'}")
        if report["shards"]:
            self.stdout.write(f"shards of each day: {report['shards']}")
        for found in report["streams"]:
            place = f"{found['shards']} shards" if found["shards"] else "here alone"
            amount = (
                f"{counted(found['rows'], 'event')}, {counted(found['days'], 'day')}"
            )
            line = f"{found['stream']}: {place}, {amount}"
            if not found["shards"]:
                line += f", {found['size'] / _GIB:.2f} GiB"
            if "seconds" in found:
                line += f"; moved in {found['seconds']} s"
            self.stdout.write(line)
            if not found.get("cleared", True):
                self.stderr.write(_UNCLEARED.format(**found))
