"""Query parameters of the DNS endpoints; bad values are answered 400."""

from collections.abc import Sequence
from typing import Final

from rest_framework.request import Request

from meshmgmt.core.errors import BadRequest
from meshmgmt.core.names import quoted

_TRUTHS: Final = {"": False, "false": False, "0": False, "true": True, "1": True}


def required_text(request: Request, name: str) -> str:
    """Return a parameter that must be given. Raises BadRequest naming it."""
    text = request.query_params.get(name, "")
    if not text:
        raise BadRequest(f"the query parameter {name} is required")
    return text


def truth(request: Request, name: str) -> bool:
    """Return a boolean parameter, false when absent. Raises BadRequest."""
    text = request.query_params.get(name, "")
    if text.lower() not in _TRUTHS:
        raise BadRequest(f"{name}: {quoted(text)} is neither true nor false")
    return _TRUTHS[text.lower()]


def choice(request: Request, name: str, choices: Sequence[str]) -> str:
    """Return one of `choices`, the first when absent. Raises BadRequest."""
    text = request.query_params.get(name, "") or choices[0]
    if text.lower() not in choices:
        raise BadRequest(f"{name}: {quoted(text)} is none of {', '.join(choices)}")
    return text.lower()
