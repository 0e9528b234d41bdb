"""The debug bundle: one zip that says what a server is and does, without secrets.

Made of what is there now, or at the end of a timed debug run: trace level and kept answers
for a while.
"""

import os
import platform
import signal
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import distributions
from pathlib import Path
from typing import Final

import orjson
from django.core.management.base import CommandError
from django.db import DatabaseError, InterfaceError
from tqdm import tqdm

from meshmgmt.core import durations, locks, runtime
from meshmgmt.env import Config
from observability import registries
from observability.database import statistics
from observability.debug import capture
from observability.debug.anonymise import Anonymiser
from observability.health import status
from observability.logs import handlers, loglevels, redaction
from observability.logs.levelcontrol import require_server
from observability.logs.loglevels import Rule
from observability.metrics.scrape import Scraper

LOG_BYTES: Final = 8 * 2**20
"""How much of the end of each log file is taken."""
LOCK: Final = "debug.lock"
MARGIN_SECONDS: Final = 30
"""How long the level outlives a debug run that was killed."""


@dataclass(frozen=True, slots=True)
class Section:
    """A file of the bundle, and what it is for."""

    filename: str
    purpose: str
    write: Callable[[], str]


def registered(folder: str = "", *, at_start: bool = False) -> Iterator[Section]:
    """Yield the rooms' own sections, or those of them a debug run writes first."""
    for entry in registries.BUNDLE_SECTIONS.values():
        if entry.at_start or not at_start:
            name = f"{folder}{entry.filename}"
            yield Section(name, f"as of {folder.strip('/') or 'now'}", entry.write)


def sections(config: Config) -> Iterator[Section]:
    yield Section("status.txt", "what `status --detail` says", _status)
    settings = partial(capture.settings_text, config)
    yield Section("config.txt", "settings in force", settings)
    yield Section("versions.txt", "software and packages", versions)
    yield Section("migrations.txt", "database changes, applied and not", _migrations)
    yield Section("database.txt", "statistics of the database", _database)
    yield Section("metrics.txt", "all metrics, once", lambda: _metrics(config))
    yield from _logs(config)


def _status() -> str:
    return status.render(status.collect(detail=True))


def versions() -> str:
    """Return operating system, interpreter, and every installed package."""
    packages = sorted(
        {f"{d.name}=={d.version}" for d in distributions() if d.name}, key=str.lower
    )
    head = [platform.platform(), f"Python {sys.version}", ""]
    return "\n".join([*head, *packages]) + "\n"


def _migrations() -> str:
    missing = [f"missing {name}" for name in statistics.missing_migrations()]
    return "\n".join([*missing, *statistics.applied_migrations()]) + "\n"


def _database() -> str:
    return orjson.dumps(
        statistics.details(), option=orjson.OPT_INDENT_2, default=str
    ).decode()


def _metrics(config: Config) -> str:
    return Scraper(config, config.runtime_dir / runtime.METRICS).text().decode()


def _logs(config: Config) -> Iterator[Section]:
    paths = handlers.log_paths(config)
    are_alike = len({path.name for path in paths}) < len(paths)
    for path in paths:
        # The older half first, as the spool and logrotate call it.
        for part in (Path(f"{path}.1"), path):
            if part.is_file():
                name = str(part).lstrip("/") if are_alike else part.name
                yield Section(
                    f"logs/{name}", f"the end of {part}", partial(_tail, part)
                )


def _tail(path: Path) -> str:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - LOG_BYTES))
        data = file.read()
    if size > LOG_BYTES:
        data = data.partition(b"\n")[2]  # the first line was cut
    return redaction.text(data.decode("utf-8", "replace"))


class Builder:
    """Writes a bundle; nothing with its final name exists before it is whole."""

    def __init__(self, config: Config, *, anonymised: bool) -> None:
        self.config = config
        self.parts: list[tuple[Section, str]] = []
        self.problems: list[str] = []
        self.anonymiser = Anonymiser(self._hosts()) if anonymised else None

    def _hosts(self) -> set[str]:
        """Return the names of hosts; without the database none, and the README says so."""
        try:
            return registries.host_names()
        except (DatabaseError, InterfaceError) as error:
            self.problems.append(
                f"names of hosts, so some may remain: {type(error).__name__}"
            )
            return set()

    def collect(self, wanted: list[Section], *, quiet: bool) -> None:
        """Write the sections; one that fails says so in its place."""
        for section in tqdm(
            wanted, desc="bundle", unit="file", disable=quiet, file=sys.stderr
        ):
            try:
                content = section.write()
            # Made when things are broken: the rest of it is wanted all the more.
            except Exception as error:
                reason = redaction.text(f"{type(error).__name__}: {error}".strip())
                content = f"could not be collected: {reason}\n"
                self.problems.append(f"{section.filename}: {reason}")
            self.parts.append((section, self._shown(content)))

    def _shown(self, content: str) -> str:
        return self.anonymiser.lines(content) if self.anonymiser else content

    def write(self, directory: Path, notes: list[str]) -> Path:
        """Write the zip and return its path. Raises OSError and leaves nothing."""
        directory.mkdir(parents=True, exist_ok=True)
        moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        path = directory / f"mesh-debug-{moment}-{os.getpid()}.zip"
        partial = path.with_suffix(".partial")
        try:
            # Never through a link, nor over what is there: others must not read it.
            descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with (
                open(descriptor, "wb") as file,  # noqa: PTH123 - a descriptor
                zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive,
            ):
                archive.writestr("README.txt", self._readme(notes))
                for section, content in self.parts:
                    archive.writestr(section.filename, content)
            partial.replace(path)
        except BaseException:
            with suppress(OSError):
                partial.unlink(missing_ok=True)
            raise
        return path

    def _readme(self, notes: list[str]) -> str:
        hidden = "yes" if self.anonymiser else "no"
        lines = [
            "Debug bundle of the mesh management service.",
            "",
            f"Made: {datetime.now(UTC).isoformat(timespec='seconds')}",
            f"Addresses and domain names replaced: {hidden}",
            "Passwords, tokens and keys: left out.",
            *notes,
            "",
            "Files:",
            *(f"  {s.filename}: {self._shown(s.purpose)}" for s, _ in self.parts),
        ]
        if self.problems:
            lines += ["", "Not collected:"]
            lines += [f"  {self._shown(problem)}" for problem in self.problems]
        return "\n".join(lines) + "\n"


def bundle_now(
    config: Config, directory: Path, *, anonymised: bool, quiet: bool
) -> Path:
    """Make a bundle of what is there, also without a running server."""
    builder = Builder(config, anonymised=anonymised)
    builder.collect([*sections(config), *registered()], quiet=quiet)
    return builder.write(directory, [])


def run(
    config: Config, seconds: int, directory: Path, *, anonymised: bool, quiet: bool
) -> Path:
    """Watch the server for `seconds` and return the path of the bundle.

    The level is restored whatever happens: interrupted, at once; killed, by the rule's
    own expiry. Raises CommandError when there is no server, or another run is on.
    """
    require_server(config)
    with _alone(config), _terminable(), capture.emptied(config.runtime_dir):
        builder = Builder(config, anonymised=anonymised)
        until = time.time() + seconds
        # It ends by itself, whatever becomes of this process.
        rule = Rule("trace", expires=until + MARGIN_SECONDS)
        loglevels.add_for_a_run(config.runtime_dir, rule, until)
        try:
            builder.collect(list(registered("start/", at_start=True)), quiet=True)
            _wait(until, quiet=quiet)
        finally:
            loglevels.remove(config.runtime_dir, rule.id)
        served = Section(
            "served.ndjson",
            "each effective DNS answer served during the run",
            lambda: capture.take(config.runtime_dir),
        )
        wanted = [*sections(config), *registered("end/"), served]
        builder.collect(wanted, quiet=quiet)
        notes = [f"Level trace was in force for {durations.write(seconds)}."]
        return builder.write(directory, notes)


def _wait(until: float, *, quiet: bool) -> None:
    pause = threading.Event()
    total = max(0, round(until - time.time()))
    with tqdm(
        total=total, desc="level trace", unit="s", disable=quiet, file=sys.stderr
    ) as bar:
        while (left := until - time.time()) > 0:
            pause.wait(min(1.0, left))
            bar.update(total - max(0, round(until - time.time())) - bar.n)


@contextmanager
def _alone(config: Config) -> Iterator[None]:
    with ExitStack() as stack:
        try:
            stack.enter_context(locks.locked(config.runtime_dir / LOCK, wait=0))
        except locks.Locked:
            raise CommandError("another debug run is on: wait for it to end") from None
        yield


@contextmanager
def _terminable() -> Iterator[None]:
    """Let TERM end the run as Ctrl-C does."""
    # Signals are for the main thread, in which tests need not be.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        with suppress(ValueError):
            signal.signal(signal.SIGTERM, before)
