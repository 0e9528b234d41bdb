"""Answers as JSON."""

from collections.abc import Mapping
from typing import Any

import orjson
from rest_framework.renderers import BaseRenderer

from meshmgmt.core import clock

CONTENT_TYPE = "application/json; charset=UTF-8"


def _default(value: Any) -> Any:
    if hasattr(value, "isoformat"):
        return clock.rfc3339(value)
    if isinstance(value, set | frozenset | tuple):
        return list(value)
    if isinstance(value, str):
        return str.__str__(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def to_json(value: Any) -> bytes:
    """Return `value` as JSON text with a final newline."""
    options = orjson.OPT_APPEND_NEWLINE | orjson.OPT_PASSTHROUGH_DATETIME
    return orjson.dumps(value, default=_default, option=options)


class OrjsonRenderer(BaseRenderer):
    """Renders every answer of the API."""

    media_type = "application/json"
    format = "json"
    charset = "UTF-8"

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        """Return the body; nothing stands for the empty object."""
        return to_json({} if data is None else data)
