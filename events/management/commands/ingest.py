"""Take traffic events or access logs in from a file or a pipe."""

import os
import signal
import stat
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, Final

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError
from tqdm import tqdm

from events.logfiles.intake import Intake, LogFault, lines, open_log
from events.logfiles.parsers import PARSERS
from events.streams.catalogue import STREAMS, Stream
from meshmgmt.core.errors import Unavailable
from meshmgmt.core.queries import tables_exist
from meshmgmt.env import PROGRAM

STATUS_BAD_LINES: Final = 1


class Command(BaseCommand):
    help = __doc__ or ""

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "stream",
            choices=sorted(STREAMS),
            help="traffic: network traffic events; proxy: access log entries",
        )
        parser.add_argument(
            "file",
            metavar="FILE|-",
            help="a log or a pipe, which may be compressed by gzip or zstd;"
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
        stream = STREAMS[options["stream"]]
        if stream.name == "traffic" and options["format"] != "ndjson":
            raise CommandError("traffic events come as ndjson only")
        _require_table(stream)
        with ExitStack() as stack:
            try:
                log = stack.enter_context(open_log(options["file"]))
            except LogFault as fault:
                raise CommandError(str(fault)) from fault
            bad = _bad_lines(options["bad_lines"], options["file"], stack)
            intake = Intake(
                stream,
                PARSERS[options["format"]],
                partial(_write_bad, bad),
                options["host"].lower(),
            )
            stack.enter_context(_ended_by_sigterm())
            bar = stack.enter_context(_progress(log, hidden=options["no_progress"]))
            self._take_in(log, intake, bar)
        if intake.counts.bad:
            sys.exit(STATUS_BAD_LINES)

    def _take_in(self, log: Any, intake: Intake, bar: Any) -> None:
        """Store the lines; those before a fault of the log or a signal too."""
        damage = None
        try:
            try:
                _read(log, intake, bar)
            except LogFault as fault:
                damage = fault
            except KeyboardInterrupt:
                pass
            intake.store()
        except (DatabaseError, Unavailable) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise CommandError(
                f"the last {intake.waiting} lines are not stored: {reason}"
            ) from error
        bar.close()
        self.stdout.write(str(intake.counts))
        if damage:
            raise CommandError(str(damage)) from damage


def _read(log: Any, intake: Intake, bar: Any) -> None:
    for line in lines(log):
        if line is not None:
            intake.add(line)
        if line is None or intake.due:
            intake.store()
            done = log.raw.tell() if bar.total else intake.counts.lines
            bar.update(done - bar.n)


def _progress(log: Any, *, hidden: bool) -> Any:
    """Return a bar of bytes with percent, or of lines where the end is not known."""
    shown = sys.stderr.isatty() and not hidden
    status = os.fstat(log.fileno())
    if stat.S_ISREG(status.st_mode) and status.st_size:
        size = status.st_size
        return tqdm(total=size, unit="B", unit_scale=True, disable=not shown)
    return tqdm(unit=" lines", disable=not shown)


def _require_table(stream: Stream) -> None:
    """Refuse to begin without a database that can take the events."""
    try:
        there = tables_exist(stream.model)
    except DatabaseError as error:
        reason = " ".join(str(error).split())
        raise CommandError(f"the database cannot be reached: {reason}") from error
    if not there:
        raise CommandError(f"the database is not set up yet: run {PROGRAM} migrate")


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
        raise CommandError(
            f"--bad-lines: a line cannot be written: {error.strerror}"
        ) from error


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Let SIGTERM end the reading as Ctrl-C does."""
    earlier = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, earlier)
