"""Requests that are no messages: INVALID_ARGUMENT, and no stack in the log.

gRPC reads the one request of a call before the handler runs, and answers UNKNOWN with a
stack when that fails. Messages of streams are read within the handler; see `status`.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

import grpc
from google.protobuf.message import DecodeError

NO_MESSAGE: Final = "the request is not a message of this call"

_LOG: Final = logging.getLogger(__name__)
_Continue = Callable[[grpc.HandlerCallDetails], Awaitable[Any]]

_UNDECODABLE: Final = object()
"""Stands for a request that could not be read."""


class Decoding(grpc.aio.ServerInterceptor):
    """Answers calls whose single request cannot be read."""

    async def intercept_service(
        self, continuation: _Continue, handler_call_details: grpc.HandlerCallDetails
    ) -> Any:
        """Return the handler of a call, with a reader that never fails."""
        handler = await continuation(handler_call_details)
        if handler is None or handler.request_streaming:
            return handler
        kind = "unary_stream" if handler.response_streaming else "unary_unary"
        serve = getattr(handler, kind)
        decode = handler.request_deserializer

        def decoded(raw: bytes) -> Any:
            try:
                return decode(raw)
            except DecodeError:
                return _UNDECODABLE

        async def refuse(request: Any, context: Any) -> None:
            _LOG.debug("%s: %s", handler_call_details.method, NO_MESSAGE)
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, NO_MESSAGE)

        async def answered(request: Any, context: Any) -> Any:
            chosen = refuse if request is _UNDECODABLE else serve
            return await chosen(request, context)

        return handler._replace(request_deserializer=decoded, **{kind: answered})
