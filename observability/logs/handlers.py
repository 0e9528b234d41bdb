"""Logging of every process: outputs, format and level from the configuration.

`LOGGING_CONFIG` names `configure_django`, so Django, gunicorn's master and the
housekeeping process log alike. No Django is needed here: the master has none.
"""

import logging
from pathlib import Path
from typing import Any, Final

from meshmgmt.env import Config
from observability.logs import loglevels
from observability.logs.formats import FORMATTERS
from observability.logs.loglevels import LEVELS
from observability.logs.outputs import Background, OutputError, Spool, open_output

__all__ = ["OutputError", "configure", "configure_django", "log_paths", "spool_path"]

SPOOL: Final = "recent.log"


def configure(config: Config) -> None:
    """Send all records to the configured outputs, and to them alone.

    Raises OutputError, and then leaves the outputs as they were.
    """
    made: list[logging.Handler] = []
    try:
        for target in dict.fromkeys(config.log_files):
            made.append(  # noqa: PERF401 - those made so far are closed on failure
                open_output(target, syslog_address=config.syslog_address)
            )
    except OutputError:
        for handler in made:
            handler.close()
        raise
    _install(made, config.log_format)
    LEVELS.start(loglevels.NUMBERS[config.log_level])


def _install(handlers: list[logging.Handler], log_format: str) -> None:
    root = logging.getLogger()
    ours = [h for h in root.handlers if getattr(h, "mesh_output", False)]
    for handler in handlers:
        # Before the old ones go: other threads may be logging.
        add_output(handler, log_format)
    for handler in ours:
        root.removeHandler(handler)
        handler.close()
    for name in logging.root.manager.loggerDict:
        logger = logging.getLogger(name)
        if name.split(".")[0] in {"django", "gunicorn"}:
            # These set up handlers of their own; a record would come out twice.
            logger.handlers.clear()
            logger.propagate = True
            logger.setLevel(logging.NOTSET)
    logging.captureWarnings(capture=True)


def add_output(handler: logging.Handler, log_format: str) -> None:
    handler.setFormatter(FORMATTERS[log_format]())
    handler.addFilter(LEVELS)
    vars(handler)["mesh_output"] = True
    logging.getLogger().addHandler(handler)


def add_spool(config: Config) -> None:
    """Keep recent records in the runtime directory when no output is a file.

    A bundle needs them, and what went to the console cannot be read back.
    """
    if log_paths(config) == [spool_path(config)]:
        add_output(Spool(spool_path(config)), config.log_format)


def write_in_background() -> None:
    """Write from a thread of this process from now on; after its last fork."""
    root = logging.getLogger()
    outputs = [h for h in root.handlers if getattr(h, "mesh_output", False)]
    background = Background(outputs)
    background.addFilter(LEVELS)
    vars(background)["mesh_output"] = True
    for output in outputs:
        output.removeFilter(LEVELS)  # asked before, in the request
        root.removeHandler(output)
    root.addHandler(background)


def flush() -> None:
    """Write what is still on its way to an output."""
    for handler in logging.getLogger().handlers:
        handler.flush()


def spool_path(config: Config) -> Path:
    """Return the file that recent records are kept in."""
    return config.runtime_dir / SPOOL


def log_paths(config: Config) -> list[Path]:
    """Return the files to look for recent records in, rotated ones left out."""
    streams = {"console", "service", "stdout", "syslog"}
    files = [Path(target) for target in config.log_files if target not in streams]
    return files or [spool_path(config)]


def configure_django(_: dict[str, Any]) -> None:
    """Configure from the Django settings; called by `django.setup()`."""
    from django.conf import settings  # noqa: PLC0415 - the master has no Django

    configure(settings.SVC)
