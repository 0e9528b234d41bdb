"""Log levels that change while the server runs.

A change is a rule in a file of the runtime directory, so it reaches all processes of a
server, also with the database down, and new workers find it. A rule may end by itself
and may concern matching requests alone. Expiry is a time in the file: it holds whatever
happens to the process that made the rule.
"""

import fnmatch
import json
import logging
import threading
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from meshmgmt.core import context, runtime
from meshmgmt.core.ids import new_id
from meshmgmt.core.locks import locked
from meshmgmt.env import Config
from meshmgmt.envvalues import LEVEL_NAMES

TRACE: Final = 5
PANIC: Final = 60

_IN_ORDER: Final = (
    *(TRACE, logging.DEBUG, logging.INFO, logging.WARNING),
    *(logging.ERROR, logging.CRITICAL, PANIC),
)
NUMBERS: Final = dict(zip(LEVEL_NAMES, _IN_ORDER, strict=True))
_NAMES: Final = {number: name for name, number in NUMBERS.items()}
# As the standard library is to call them.
logging.addLevelName(TRACE, "TRACE")
logging.addLevelName(PANIC, "PANIC")


def name_of(number: int) -> str:
    """Return the seed's name of a level; numbers between levels count as the lower."""
    found = _NAMES.get(number)
    if found is not None:
        return found
    below = [known for known in _NAMES if known <= number]
    return _NAMES[max(below)] if below else LEVEL_NAMES[0]


FILE: Final = "loglevels.json"
LOCK: Final = f"{FILE}.lock"
POLL_SECONDS: Final = 0.5
UNREADABLE_SECONDS: Final = 10.0
"""How long nobody looks at a file again that cannot be read."""

# What these loggers say below their level describes the framework, not the service;
# `django.request` repeats each refusal that the response line reports already.
QUIET: Final = {
    "asyncio": logging.INFO,
    "django.request": logging.ERROR,
    "django.server": logging.WARNING,
    "django.template": logging.INFO,
    "django.utils.autoreload": logging.INFO,
}


@dataclass(frozen=True, slots=True)
class Rule:
    """One change; `expires` in seconds since the epoch, empty matchers match all."""

    level: str
    logger: str = ""
    expires: float | None = None
    request_id: str = ""
    user_id: str = ""
    path: str = ""
    id: str = field(default_factory=new_id)

    @property
    def scoped(self) -> bool:
        """Whether the rule concerns some requests only."""
        return bool(self.request_id or self.user_id or self.path)

    def active(self, now: float) -> bool:
        return self.expires is None or now < self.expires

    def matches(self, facts: context.RequestContext) -> bool:
        """Tell whether the running request is one of those the rule is about."""
        if self.request_id and self.request_id not in {
            facts.request_id,
            facts.client_request_id,
        }:
            return False
        if self.user_id and self.user_id != facts.user_id:
            return False
        return not self.path or fnmatch.fnmatchcase(facts.path, self.path)


@dataclass(frozen=True, slots=True)
class Control:
    """What the file says: rules, and until when served answers are kept."""

    rules: tuple[Rule, ...] = ()
    capture_until: float = 0.0


def read(runtime_dir: Path) -> Control:
    """Return the control file's content; without a file nothing is changed."""
    try:
        document = json.loads((runtime_dir / FILE).read_bytes())
    except FileNotFoundError:
        return Control()
    return Control(
        rules=tuple(Rule(**rule) for rule in document["rules"]),
        capture_until=document["capture_until"],
    )


def _write(runtime_dir: Path, control: Control) -> None:
    document = {
        "rules": [asdict(rule) for rule in control.rules],
        "capture_until": control.capture_until,
    }
    runtime.write_json(runtime_dir / FILE, document)


def reset(runtime_dir: Path) -> None:
    """Forget all changes; a starting server does so."""
    with locked(runtime_dir / LOCK):
        _write(runtime_dir, Control())


def add(runtime_dir: Path, rule: Rule) -> None:
    """Add a rule. A lasting one replaces what was said for its logger before."""
    with locked(runtime_dir / LOCK):
        known = read(runtime_dir)
        now = time.time()
        kept = [r for r in known.rules if r.active(now) and not _replaces(rule, r)]
        _write(runtime_dir, Control((*kept, rule), known.capture_until))


def add_for_a_run(runtime_dir: Path, rule: Rule, capture_until: float) -> None:
    """Put a rule over all others until it is removed, and keep served answers."""
    with locked(runtime_dir / LOCK):
        known = read(runtime_dir)
        _write(runtime_dir, Control((*known.rules, rule), capture_until))


def _replaces(new: Rule, old: Rule) -> bool:
    if new.scoped or old.scoped or new.logger != old.logger:
        return False
    # What lasts stays below what ends: it holds again afterwards.
    return new.expires is None or old.expires is not None


def remove(runtime_dir: Path, rule_id: str) -> None:
    """Take a rule back, and stop keeping answers; unknown ids are fine."""
    with locked(runtime_dir / LOCK):
        known = read(runtime_dir)
        kept = tuple(rule for rule in known.rules if rule.id != rule_id)
        _write(runtime_dir, Control(kept, 0.0))


class Levels(logging.Filter):
    """Applies the rules to this process's loggers, and filters its outputs.

    While a rule concerns some requests only, loggers are opened to its level and this
    filter drops what other requests say, before anything is formatted.
    """

    def __init__(self) -> None:
        super().__init__()
        self.base = logging.INFO
        self.runtime_dir: Path | None = None
        self.control = Control()
        self._touched: set[str] = set()
        self._thresholds: dict[str, int] = {"": self.base}
        self._scoped: tuple[Rule, ...] = ()
        self._seen: tuple[int, int] | None = None
        self._next_expiry = float("inf")
        self._next_look = 0.0
        self._lock = threading.Lock()

    def start(self, base: int) -> None:
        self.base = base
        with self._lock:
            self._apply()

    def follow(self, runtime_dir: Path) -> None:
        """Apply what the control file of a server says, now and from here on."""
        self.runtime_dir = runtime_dir
        self._seen = None
        self.refresh()

    def refresh_if_due(self) -> None:
        """Look at the control file, at most every half second."""
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + POLL_SECONDS
            if not self.try_refresh():
                self._next_look = now + UNREADABLE_SECONDS

    def try_refresh(self) -> bool:
        """Refresh; an unreadable file is told in the log, and leaves the levels."""
        try:
            self.refresh()
        except (OSError, ValueError, TypeError, KeyError):
            logging.getLogger(__name__).exception("log level file is unreadable")
            return False
        return True

    def refresh(self) -> None:
        """Apply the control file when it changed or a rule has ended."""
        if self.runtime_dir is None:
            return
        try:
            found = (self.runtime_dir / FILE).stat()
            # Two changes may have one time, but each is another file.
            seen = (found.st_ino, found.st_mtime_ns)
        except FileNotFoundError:
            seen = (0, 0)
        with self._lock:
            if seen == self._seen and time.time() < self._next_expiry:
                return
            self.control = read(self.runtime_dir)
            self._apply()
            # Last: what could not be read is looked at again.
            self._seen = seen

    def _apply(self) -> None:
        now = time.time()
        active = [rule for rule in self.control.rules if rule.active(now)]
        self._next_expiry = min(
            (rule.expires for rule in active if rule.expires is not None),
            default=float("inf"),
        )
        thresholds = {"": self.base, **QUIET}
        for rule in active:
            if not rule.scoped:
                thresholds[rule.logger] = NUMBERS[rule.level]
        scoped = tuple(rule for rule in active if rule.scoped)
        self._set_loggers(thresholds, scoped)
        self._thresholds, self._scoped = thresholds, scoped

    def _set_loggers(
        self, thresholds: dict[str, int], scoped: tuple[Rule, ...]
    ) -> None:
        wanted = dict(thresholds)
        for rule in scoped:
            opened = NUMBERS[rule.level]
            inherited = threshold_of(rule.logger, thresholds)
            wanted[rule.logger] = min(wanted.get(rule.logger, inherited), opened)
        for name in self._touched - set(wanted):
            logging.getLogger(name).setLevel(logging.NOTSET)
        for name, number in wanted.items():
            logging.getLogger(name or None).setLevel(number)
        # Only ours are put back later: others may have levels of their own.
        self._touched = set(wanted) - {""}

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell whether a record that passed its logger is to be written."""
        scoped = self._scoped
        if not scoped:
            return True
        if record.levelno >= threshold_of(record.name, self._thresholds):
            return True
        facts = context.current()
        return any(
            record.levelno >= NUMBERS[rule.level]
            and _below(record.name, rule.logger)
            and rule.matches(facts)
            for rule in scoped
        )


def describe(base: str, control: Control) -> Iterable[str]:
    """Yield one line for the configured level and one for each change that holds."""
    now = time.time()
    yield f"{base} (configured)"
    for rule in control.rules:
        if rule.active(now):
            yield _sentence(rule, now)


def held(config: Config) -> list[str]:
    """Return what `describe` says of a server's level as it is now."""
    return list(describe(config.log_level, read(config.runtime_dir)))


def scope_text(rule: Rule) -> str:
    """Say what a rule is about, "" for everything."""
    words = [f"for logger {rule.logger}"] if rule.logger else []
    for name in ("request_id", "user_id", "path"):
        value = getattr(rule, name)
        if value:
            words.append(f"for {name} {value}")
    return " ".join(words)


def _sentence(rule: Rule, now: float) -> str:
    words = [rule.level, scope_text(rule)]
    if rule.expires is not None:
        words.append(f"for another {max(1, round(rule.expires - now))}s")
    return " ".join(filter(None, words))


def _below(name: str, logger: str) -> bool:
    return not logger or name == logger or name.startswith(f"{logger}.")


def threshold_of(name: str, thresholds: dict[str, int]) -> int:
    """Return the level that holds for a logger: its own, or its nearest parent's."""
    while name:
        if name in thresholds:
            return thresholds[name]
        name = name.rpartition(".")[0]
    return thresholds[""]


LEVELS: Final = Levels()


def watch() -> None:
    """Follow the control file from a thread of this process, for ever.

    A process without requests must follow too; a request looks by itself. An unreadable
    file leaves the levels as they are.
    """

    def follow() -> None:
        while not pause.wait(POLL_SECONDS):
            if not LEVELS.try_refresh():
                pause.wait(UNREADABLE_SECONDS)

    pause = threading.Event()
    threading.Thread(target=follow, name="log-levels", daemon=True).start()
