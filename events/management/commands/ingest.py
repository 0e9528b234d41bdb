"""Take traffic events or access logs in from a file or a pipe."""

import signal
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, Final

from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from events.lines import PARSERS
from events.streams.catalogue import STREAMS
from events.streams.identity import DerivedIds
from events.tailing.checkpoint import Checkpoint
from events.tailing.intake import Intake
from events.tailing.lines import Line, Start, read_file, read_stream

STATUS_BAD_LINES: Final = 1


class Command(BaseCommand):
    """Store the events of a log; lines that are wrong are counted and kept aside."""

    help = __doc__ or ""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the arguments."""
        parser.add_argument("stream", choices=sorted(STREAMS))
        parser.add_argument("file", metavar="FILE|-", help="- reads standard input")
        parser.add_argument("--format", choices=sorted(PARSERS), default="ndjson")
        parser.add_argument("--follow", action="store_true", help="wait for more lines")
        parser.add_argument(
            "--checkpoint", type=Path, metavar="FILE", help="go on where it stopped"
        )
        parser.add_argument(
            "--bad-lines", type=Path, metavar="FILE", help="write wrong lines here"
        )
        parser.add_argument("--host", default="", help="host of logs that name none")
        parser.add_argument("--no-progress", action="store_true")

    def handle(self, **options: Any) -> None:
        """Read, store, and say what became of the lines."""
        if options["stream"] == "traffic" and options["format"] != "ndjson":
            raise CommandError("traffic events come as ndjson only")
        with ExitStack() as stack:
            checkpoint = _checkpoint(options["checkpoint"])
            start = checkpoint.start if checkpoint else Start()
            bad = self._bad_lines(options["bad_lines"], stack)
            intake = Intake(
                stream=STREAMS[options["stream"]],
                parse=PARSERS[options["format"]],
                complain=lambda number, fault, text: _write_bad(
                    bad, number, fault, text
                ),
                ids=DerivedIds(checkpoint.seen if checkpoint else None),
                host=options["host"],
            )
            stop = stack.enter_context(_stop_on_signals())
            progress = stack.enter_context(
                tqdm(
                    unit=" lines",
                    disable=options["no_progress"] or not sys.stderr.isatty(),
                )
            )
            for line in _lines(options["file"], start, stop, follow=options["follow"]):
                progress.update(line is not None)
                self._take(intake, line, checkpoint)
            self._take(intake, None, checkpoint)
        counts = intake.counts
        self.stdout.write(
            f"{counts.lines} lines: {counts.accepted} stored,"
            f" {counts.duplicates} known already, {counts.bad} wrong"
        )
        if counts.bad:
            sys.exit(STATUS_BAD_LINES)

    _last: Line | None = None

    def _take(
        self, intake: Intake, line: Line | None, checkpoint: Checkpoint | None
    ) -> None:
        """Add a line; store when the batch is full or nothing more comes for now."""
        if line is not None:
            intake.add(line)
            self._last = line
            if not intake.full:
                return
        if self._last is None:
            return
        intake.store()
        if checkpoint is not None:
            checkpoint.save(self._last, intake.ids.state())
        self._last = None

    def _bad_lines(self, path: Path | None, stack: ExitStack) -> IO[bytes]:
        if path is None:
            return sys.stderr.buffer
        return stack.enter_context(path.open("ab"))


def _checkpoint(path: Path | None) -> Checkpoint | None:
    if path is None:
        return None
    try:
        return Checkpoint.load(path)
    except ValueError as error:
        raise CommandError(str(error)) from error


def _write_bad(target: IO[bytes], number: int, fault: str, text: bytes) -> None:
    """Write line number, fault and line, separated by tabs."""
    target.write(b"%d\t%s\t%s\n" % (number, fault.encode(), text))
    target.flush()


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


def _lines(
    name: str, start: Start, stop: _Stop, *, follow: bool
) -> Iterator[Line | None]:
    if name == "-":
        source: Iterator[Line | None] = read_stream(sys.stdin.buffer)
    else:
        path = Path(name)
        if not path.is_file():
            raise CommandError(f"{name} is not a file")
        source = read_file(path, start, follow=follow, stopped=stop)
    for line in source:
        yield line
        if stop():
            return
