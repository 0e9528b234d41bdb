"""Take traffic events or access logs in from a file or a pipe."""

import signal
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, Final

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from events.lines import PARSERS
from events.streams.catalogue import STREAMS, Stream
from events.streams.identity import DerivedIds
from events.tailing.checkpoint import Checkpoint
from events.tailing.following import Reading
from events.tailing.inputs import is_pipe, open_pipe
from events.tailing.intake import Counts, Intake
from events.tailing.lines import Line, Pause
from events.tailing.pipes import read_pipe
from events.tailing.progress import Progress
from events.tailing.sources import SourceFault
from events.tailing.storage import Storage, StorageFault
from meshmgmt.core.tables import tables_exist

STATUS_BAD_LINES: Final = 1


class Command(BaseCommand):
    """Store the events of a log; lines that are wrong are counted and kept aside."""

    help = __doc__ or ""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the arguments."""
        parser.add_argument(
            "stream",
            choices=sorted(STREAMS),
            help="traffic: network traffic events; proxy: access log entries",
        )
        parser.add_argument(
            "file",
            metavar="FILE|-",
            help="a log, which may be compressed by gzip or zstd, or a pipe;"
            " - reads standard input",
        )
        parser.add_argument(
            "--format",
            choices=sorted(PARSERS),
            default="ndjson",
            help="what the lines are: ndjson (default), events as the API takes them;"
            " or the access log of nginx (JSON or combined), Caddy or Traefik (JSON)",
        )
        parser.add_argument(
            "--follow",
            action="store_true",
            help="wait for more lines, also in the log that follows after rotation",
        )
        parser.add_argument(
            "--checkpoint",
            type=Path,
            metavar="FILE",
            help="go on where the run before stopped, and note here where this one does",
        )
        parser.add_argument(
            "--bad-lines",
            type=Path,
            metavar="FILE",
            help="write wrong lines here, with number and fault (else standard error)",
        )
        parser.add_argument(
            "--host",
            default="",
            help="host of entries that name none; tells equal lines of two hosts apart",
        )
        parser.add_argument(
            "--no-progress",
            action="store_true",
            help="show no progress bar (none is shown unless in a terminal)",
        )

    def handle(self, **options: Any) -> None:
        """Read, store, and say what became of the lines."""
        stream = STREAMS[options["stream"]]
        if stream.name == "traffic" and options["format"] != "ndjson":
            raise CommandError("traffic events come as ndjson only")
        _require_table(stream)
        with ExitStack() as stack:
            try:
                counts = self._ingest(stream, options, stack)
            except (SourceFault, StorageFault) as fault:
                raise CommandError(str(fault)) from fault
        if counts.bad:
            sys.exit(STATUS_BAD_LINES)

    def _ingest(
        self, stream: Stream, options: dict[str, Any], stack: ExitStack
    ) -> Counts:
        """Take the lines in; returns what became of them."""
        pipe = is_pipe(options["file"])
        if pipe and options["checkpoint"]:
            raise CommandError(
                "--checkpoint needs the name of a log file:"
                " nobody can go back to a place in a pipe"
            )
        checkpoint = _checkpoint(options["checkpoint"])
        bad = _bad_lines(options["bad_lines"], options["file"], stack)
        intake = Intake(
            stream=stream,
            parse=PARSERS[options["format"]],
            complain=lambda number, fault, text: _write_bad(bad, number, fault, text),
            ids=DerivedIds(checkpoint.seen if checkpoint else None),
            host=options["host"].lower(),
        )
        stop = stack.enter_context(_stop_on_signals())
        progress = stack.enter_context(
            Progress(shown=sys.stderr.isatty() and not options["no_progress"])
        )
        reading: Reading | None = None
        if pipe:
            descriptor = stack.enter_context(open_pipe(options["file"]))
            lines = read_pipe(descriptor, stop)
        else:
            reading = Reading(
                Path(options["file"]),
                checkpoint.mark if checkpoint else None,
                follow=options["follow"],
                hold=checkpoint is not None,
                stopped=stop,
                say=progress.say,
                again=intake.forget,
            )
            stack.callback(reading.close)
            reading.open()
            lines = iter(reading)
            if not options["follow"]:
                progress.measure(lambda: reading.progress)
        storage = Storage(
            intake,
            checkpoint,
            mark=(lambda: reading.mark) if reading else None,
            patient=pipe or options["follow"],
            stopped=stop,
            say=progress.say,
        )
        fault = _take_in(lines, intake, storage, progress, stop)
        progress.close()
        self.stdout.write(str(intake.counts))
        if fault:
            raise fault
        return intake.counts


def _take_in(
    lines: Iterator[Line | Pause],
    intake: Intake,
    storage: Storage,
    progress: Progress,
    stopped: Callable[[], bool],
) -> SourceFault | None:
    """Store lines as they come; returns the fault that ended the reading, if any."""
    fault = None
    try:
        for item in lines:
            if isinstance(item, Line):
                intake.add(item)
                progress.count()
            if isinstance(item, Pause) or intake.due:
                storage.store()
            if stopped():
                break
    except SourceFault as error:
        fault = error
    storage.store(last=True)
    return fault


def _require_table(stream: Stream) -> None:
    """Refuse to begin without a database that can take the events."""
    try:
        there = tables_exist(stream.model)
    except DatabaseError as error:
        reason = " ".join(str(error).split())
        raise CommandError(f"the database cannot be reached: {reason}") from error
    if not there:
        raise CommandError("the database is not set up yet: run manage.py migrate")


def _checkpoint(path: Path | None) -> Checkpoint | None:
    if path is None:
        return None
    try:
        return Checkpoint.load(path)
    except ValueError as error:
        raise CommandError(f"--checkpoint: {error}") from error
    except OSError as error:
        raise CommandError(
            f"--checkpoint: {path} cannot be used: {error.strerror}"
        ) from error


def _bad_lines(path: Path | None, log: str, stack: ExitStack) -> IO[bytes]:
    if path is None:
        return sys.stderr.buffer
    try:
        if path.exists() and Path(log).exists() and path.samefile(log):
            raise CommandError(f"--bad-lines: {path} is the log that is read")
        return stack.enter_context(path.open("ab"))
    except OSError as error:
        raise CommandError(
            f"--bad-lines: {path} cannot be written: {error.strerror}"
        ) from error


def _write_bad(target: IO[bytes], number: int, fault: str, text: bytes) -> None:
    """Write line number, fault and line, separated by tabs."""
    try:
        target.write(b"%d\t%s\t%s\n" % (number, fault.encode(), text))
        target.flush()
    except OSError as error:
        raise StorageFault(
            f"--bad-lines: a line cannot be written: {error.strerror}"
        ) from error


class _Stop:
    """Set by SIGINT and SIGTERM: what is read gets stored, then the command ends."""

    asked = False

    def __call__(self) -> bool:
        return self.asked


@contextmanager
def _stop_on_signals() -> Iterator[_Stop]:
    stop = _Stop()

    def ask(number: int, frame: Any) -> None:
        if stop.asked:
            raise KeyboardInterrupt
        stop.asked = True

    earlier = {
        number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield stop
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
