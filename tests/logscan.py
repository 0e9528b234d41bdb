"""Watches the log of the whole suite for secrets.

Every record of every test is formatted as a server would write it; at the end of the
session no token and no password that a test used may be in any line.
"""

import logging
import re
from collections.abc import Iterator
from typing import Any, Final

import pytest
from django.contrib.auth.hashers import MD5PasswordHasher

from observability.logs.formats import JsonFormatter

TOKEN: Final = re.compile(r"mp[ti]_[0-9A-Za-z]{20,}")
# Shorter ones, and plain words, stand in lines for other reasons: paths, names.
SHORTEST_PASSWORD: Final = 8


class LogScan(logging.Handler):
    """Keeps the lines in which a token was seen, and all lines for passwords."""

    def __init__(self) -> None:
        super().__init__(level=0)
        self.setFormatter(JsonFormatter())
        self.passwords: set[str] = set()
        self.lines: set[str] = set()
        self.records = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Format the record as an output does."""
        self.records += 1
        self.lines.add(self.format(record))

    def found(self) -> list[str]:
        """Return the lines that give a secret away."""
        return [
            line
            for line in self.lines
            if TOKEN.search(line) or any(word in line for word in self.passwords)
        ]


@pytest.fixture(scope="session", autouse=True)
def log_scan() -> Iterator[LogScan]:
    """Scan the session's log; a secret in it fails the last test."""
    scan = LogScan()
    original = MD5PasswordHasher.encode

    def encode(hasher: Any, password: str, salt: str) -> str:
        if len(password) >= SHORTEST_PASSWORD and not password.isalpha():
            scan.passwords.add(password)
        return original(hasher, password, salt)

    watched: Any = MD5PasswordHasher  # the suite's
    watched.encode = encode
    logging.getLogger().addHandler(scan)
    yield scan
    logging.getLogger().removeHandler(scan)
    watched.encode = original
    assert not scan.found(), scan.found()[:3]
