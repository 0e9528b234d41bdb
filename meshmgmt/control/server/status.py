"""From errors to the status codes that clients act upon: the only place that does it.

PERMISSION_DENIED makes an agent give up, so it comes from `Refused` alone, which is a
decision about that very peer. Trouble that passes is UNAVAILABLE; agents try again.
"""

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar
from urllib.parse import unquote

import grpc
from django.db import DatabaseError, InterfaceError
from google.protobuf.message import DecodeError

from meshmgmt.api.middleware import forwarded_address
from meshmgmt.control.services.refusals import Busy, Refused
from meshmgmt.core import context as facts
from meshmgmt.core.addresses import host_of
from meshmgmt.core.errors import Unavailable, first_line
from meshmgmt.core.ids import new_id

NO_MESSAGE: Final = "the request is not a message of this call"

_LOG: Final = logging.getLogger(__name__)
_Continue = Callable[[grpc.HandlerCallDetails], Awaitable[Any]]
_Handler = TypeVar("_Handler", bound=Callable[..., Awaitable[Any]])

_PASSING: Final = (DatabaseError, InterfaceError, Unavailable, OSError, Busy)
_UNDECODABLE: Final = object()
"""Stands for a request that could not be read."""

Context = grpc.aio.ServicerContext[Any, Any]


def status_of(error: Exception) -> tuple[grpc.StatusCode, str]:
    """Return the status code and the text that a client gets for an error."""
    if isinstance(error, Refused):
        return grpc.StatusCode[error.code.name], error.text
    if isinstance(error, DecodeError):
        return grpc.StatusCode.INVALID_ARGUMENT, NO_MESSAGE
    if passes(error):
        return grpc.StatusCode.UNAVAILABLE, "the service cannot answer now: try again"
    return grpc.StatusCode.INTERNAL, "internal error"


def passes(error: BaseException) -> bool:
    """Tell whether trouble passes by itself, so that trying again helps."""
    return isinstance(error, _PASSING)


def tell_failure(logger: logging.Logger, what: str, error: BaseException) -> None:
    """Log what could not be done: in a line when it passes by itself, else with a stack."""
    if passes(error):
        logger.warning("%s: %s", what, first_line(error))
    else:
        logger.error(what, exc_info=error)


def rpc(handler: _Handler) -> _Handler:
    """Give a handler the context of its call, and its errors their status codes."""

    @functools.wraps(handler)
    async def answered(self: Any, request: Any, context: Context) -> Any:
        facts.update(
            request_id=new_id(),
            source_address=source_of(context),
            path=handler.__name__,
        )
        _LOG.debug("gRPC request", extra={"method": handler.__name__})
        try:
            return await handler(self, request, context)
        except (grpc.aio.AbortError, asyncio.CancelledError):
            raise
        except (grpc.aio.UsageError, grpc.aio.InternalError) as error:
            _LOG.debug("%s: the client has gone: %s", handler.__name__, error)
        except Exception as error:
            code, text = status_of(error)
            _tell(handler.__name__, code, error)
            await context.abort(code, text)

    return answered  # type: ignore[return-value]


def _tell(name: str, code: grpc.StatusCode, error: Exception) -> None:
    if isinstance(error, Refused):
        _LOG.info("%s refused: %s", name, error.reason, extra={"code": code.name})
    elif isinstance(error, DecodeError):
        _LOG.debug("%s: %s", name, NO_MESSAGE)
    else:
        tell_failure(_LOG, f"{name} failed", error)


def source_of(context: Context) -> str:
    """Return the caller's IP address, "" when unknown; trusted proxies may name it."""
    # gRPC writes the brackets of IPv6 as %5B and %5D.
    kind, _, rest = unquote(context.peer()).partition(":")
    address = host_of(rest) if kind in {"ipv4", "ipv6"} else ""
    said = metadata_of(context)
    hops = said.get("x-forwarded-for") or said.get("x-real-ip", "")
    return forwarded_address(address, hops)


def metadata_of(context: Context) -> dict[str, str]:
    """Return the texts among the metadata of a call."""
    pairs = context.invocation_metadata() or ()
    return {str(key): value for key, value in pairs if isinstance(value, str)}


class Decoding(grpc.aio.ServerInterceptor):
    """Answers calls whose request is no message: INVALID_ARGUMENT, no stack in the log.

    gRPC reads it before the handler runs, and answers UNKNOWN with a stack when that
    fails. Messages of streams are read within the handler, see `status_of`.
    """

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
