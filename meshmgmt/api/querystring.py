"""Query parameters; bad values are answered 400."""

from collections.abc import Collection, Sequence
from typing import Final, TypeVar
from urllib.parse import unquote_to_bytes

from django.http import HttpRequest
from rest_framework.request import Request

from meshmgmt.core.errors import BadRequest, FieldError
from meshmgmt.core.names import quoted

Absent = TypeVar("Absent")

_LONGEST_NAME: Final = 64
# What the reference API reads as a boolean in a query (Go's strconv.ParseBool).
_TRUTHS: Final = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}


def require_utf8(request: HttpRequest) -> None:
    """Raise BadRequest naming each parameter that is not UTF-8.

    Django puts U+FFFD for what it cannot decode, and would then look for that.
    """
    # WSGI hands bytes over as Latin-1.
    raw = str(request.META.get("QUERY_STRING", "")).encode("latin-1", "replace")
    broken = dict.fromkeys(
        _name(pair) for pair in raw.split(b"&") if not _is_utf8(unquote_to_bytes(pair))
    )
    if broken:
        errors = [FieldError(name, f"{name}: must be UTF-8") for name in broken]
        raise BadRequest(errors[0].message, errors)


def refuse_misspelt(request: Request, names: Collection[str]) -> None:
    """Raise BadRequest for a parameter that is almost one of `names`.

    What nobody knows is ignored, so `?dryrun=true` would write.
    """
    if not request.query_params:
        return
    known = {_letters(name): name for name in names}
    for sent in request.query_params:
        meant = known.get(_letters(sent), sent)
        if meant != sent and sent not in names:
            name = sent[:_LONGEST_NAME]
            text = f"{name}: there is no such parameter: did you mean {meant}?"
            raise BadRequest.about(name, text)


def _letters(name: str) -> str:
    """Return what is left of a name when it is spelt as other services do."""
    return "".join(letter for letter in name.lower() if letter not in "-_[] .")


def once(request: Request, name: str) -> str | None:
    """Return a parameter, None when absent. Raises BadRequest when empty or repeated."""
    sent = request.query_params.getlist(name)
    if not sent:
        return None
    if len(sent) > 1 or not sent[0]:
        raise BadRequest(f"{name}: must be given once, with a value")
    return sent[0]


def _name(pair: bytes) -> str:
    name = unquote_to_bytes(pair.partition(b"=")[0].replace(b"+", b" "))
    return name.decode(errors="replace")[:_LONGEST_NAME]


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def required_text(request: Request, name: str) -> str:
    """Return a parameter that must be given. Raises BadRequest naming it."""
    text = request.query_params.get(name, "")
    if not text:
        raise BadRequest(f"the query parameter {name} is required")
    return text


def truth(request: Request, name: str, default: Absent) -> bool | Absent:
    """Return a boolean parameter, `default` when absent. Raises BadRequest."""
    text = request.query_params.get(name, "")
    if not text:
        return default
    if text not in _TRUTHS:
        raise BadRequest(f"{name}: {quoted(text)} is neither true nor false")
    return _TRUTHS[text]


def choice(request: Request, name: str, choices: Sequence[str]) -> str:
    """Return one of `choices`, the first when absent. Raises BadRequest."""
    text = request.query_params.get(name, "") or choices[0]
    if text.lower() not in choices:
        raise BadRequest(f"{name}: {quoted(text)} is none of {', '.join(choices)}")
    return text.lower()
