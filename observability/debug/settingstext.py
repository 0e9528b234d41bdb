"""The settings in force as text, for bundles; secrets hidden."""

from dataclasses import fields
from pathlib import Path
from typing import Final

from meshmgmt.core import runtime
from meshmgmt.env import PREFIX, SECRETS, Config
from observability.logs import redaction

FILE: Final = "settings.txt"
# An address keeps its host and name: only the password in it is secret.
_ADDRESSES: Final = {"database_url", "database_pooler_url", "database_replica_url"}
_HIDDEN: Final = {name.lower() for name in SECRETS} - _ADDRESSES


def describe(config: Config) -> str:
    lines = []
    for field in fields(config):
        value = getattr(config, field.name)
        if field.name in _HIDDEN and value:
            value = redaction.HIDDEN
        shown = redaction.text(str(value))
        lines.append(f"{PREFIX}{field.name.upper()}={shown}\n")
    return "".join(lines)


def keep(config: Config) -> None:
    """Leave the server's settings where other processes find them."""
    (config.runtime_dir / FILE).write_text(describe(config), encoding="utf-8")


def settings_text(config: Config) -> str:
    """Return the running server's settings, without one those of this process."""
    if runtime.running(config.runtime_dir) is None:
        return describe(config)
    return _kept(config.runtime_dir / FILE) or describe(config)


def _kept(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""
