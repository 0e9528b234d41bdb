"""The body of a request as the application reads it: whole, or an error."""

import errno
from collections.abc import Callable, Iterable
from typing import Any, Final

from gunicorn.http.body import Body, ChunkedReader, LengthReader
from gunicorn.http.errors import NoMoreData

_STEP: Final = 8192
_DISCARDED: Final = 64 * 1024
Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class _WholeReader:
    """Reads from gunicorn's reader; an early end is an error, not the end.

    A client that waits for `100 Continue` gets it when the body is asked for: one that
    is refused before sends none.
    """

    def __init__(self, req: Any, client: Any) -> None:
        self.inner = req.body.reader
        self.client = client
        # gunicorn would send it before the application is asked.
        self.invites = bool(req._expected_100_continue)  # noqa: SLF001 - no public name
        req._expected_100_continue = False  # noqa: SLF001

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes. Raises TimeoutError, ConnectionResetError."""
        if self.invites and not self.is_at_end():
            self.invites = False
            self.client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        wanted = 0
        if isinstance(self.inner, LengthReader):
            wanted = min(size, self.inner.length)
        try:
            data: bytes = self.inner.read(size)
        except NoMoreData as error:
            raise _ended_early() from error
        if len(data) < wanted:
            raise _ended_early()
        return data

    def is_at_end(self) -> bool:
        """Tell whether everything was read from the connection."""
        if isinstance(self.inner, LengthReader):
            return bool(self.inner.length == 0)
        return isinstance(self.inner, ChunkedReader) and self.inner.parser is None


def _ended_early() -> ConnectionResetError:
    return ConnectionResetError(errno.ECONNRESET, "the body ended early")


class RequestBody(Body):  # type: ignore[misc]
    """What stands in `wsgi.input`."""

    def __init__(self, req: Any, client: Any) -> None:
        super().__init__(_WholeReader(req, client))
        self.req = req
        self.client = client

    def settle(self) -> None:
        """Let the connection close after the answer unless the body is read.

        Called before the answer's head is sent. What has come already is thrown away
        without waiting for more.
        """
        if self.failed or not (self.reader.is_at_end() or self._discard()):
            self.req.force_close()

    def _discard(self) -> bool:
        """Return whether the rest of the body was there."""
        if self.reader.invites:
            return False
        self.client.setblocking(False)
        try:
            for _ in range(_DISCARDED // _STEP):
                if not self.read(_STEP):
                    return True
        except Exception:
            return False
        finally:
            self.client.setblocking(True)
        return False


def settling(application: Application) -> Application:
    """Return the WSGI application with bodies settled before its answers begin."""

    def settled(
        environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        body = environ["wsgi.input"]

        def start(*arguments: Any) -> Any:
            if isinstance(body, RequestBody):
                body.settle()
            return start_response(*arguments)

        return application(environ, start)

    return settled
