"""JSON bodies, read strictly whatever the Content-Type says."""

from collections.abc import Mapping
from io import BytesIO
from typing import IO, Any, Final

import orjson
from rest_framework.parsers import BaseParser

from meshmgmt.core.errors import BadRequest

MAX_DEPTH: Final = 64


def parse_json(body: bytes) -> Any:
    """Return the value of a JSON text. Raises BadRequest with a sentence.

    Refused: invalid JSON, NaN, broken UTF-8, and nesting deeper than 64 levels.
    """
    if not body.strip():
        raise BadRequest("the body is empty: a JSON object is expected")
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"the body is not valid JSON: {error}") from error
    if deeper_than(value, MAX_DEPTH):
        raise BadRequest(f"the JSON body is nested deeper than {MAX_DEPTH} levels")
    return value


def deeper_than(value: Any, limit: int) -> bool:
    """Tell whether objects and arrays in `value` nest deeper than `limit`."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(limit):
        level = [
            child
            for container in level
            for child in (
                container.values() if isinstance(container, dict) else container
            )
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return bool(level)


class StrictJSONParser(BaseParser):
    """Parses every body as a JSON object."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Return the object. Raises BadRequest for anything else."""
        value = parse_json(stream.read())
        if not isinstance(value, dict):
            raise BadRequest("the body must be a JSON object")
        return value


class OptionalJSONParser(StrictJSONParser):
    """Parses every body as a JSON object; no body at all is the empty one."""

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Return the object. Raises BadRequest for anything else."""
        body = stream.read()
        if not body.strip():
            return {}
        return super().parse(BytesIO(body), media_type, parser_context)
