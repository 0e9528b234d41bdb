"""gunicorn's own messages through our outputs and format."""

import logging
from typing import Any

from gunicorn.glogging import Logger


class MeshLogger(Logger):  # type: ignore[misc]
    """Hands everything to the root logger; requests are logged by our middleware."""

    def setup(self, cfg: Any) -> None:
        """Own no outputs; levels and outputs are those of `observability.logs.handlers`."""
        self.cfg = cfg
        self._access_log_enabled = False
        for logger in (self.error_log, self.access_log):
            logger.handlers.clear()
            logger.propagate = True
            logger.setLevel(logging.NOTSET)

    def access(self, *args: Any) -> None:
        """Do nothing: the response line of the request says it."""

    def reopen_files(self) -> None:
        """Do nothing: our files notice by themselves when their path changes."""

    def close_on_exec(self) -> None:
        """Do nothing: our files are closed on exec."""
