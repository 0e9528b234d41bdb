"""Requests of the API."""

import io

from rest_framework.request import Request

from meshmgmt.api.bodies import read_body


class ApiRequest(Request):
    """A request whose body is read when it is asked for, chunked bodies too."""

    body_limit: int = 0

    def _load_stream(self) -> None:
        self._stream = io.BytesIO(read_body(self._request, self.body_limit))

    def raw_body(self) -> bytes:
        """Return the decompressed body, which may be asked for again."""
        stream = self.stream
        assert isinstance(stream, io.BytesIO)
        return stream.getvalue()
