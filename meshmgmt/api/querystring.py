"""The query string as it came, before Django reads it leniently."""

from urllib.parse import unquote_to_bytes

from django.http import HttpRequest

from meshmgmt.core.errors import BadRequest
from meshmgmt.core.fielderrors import FieldError

_LONGEST_NAME = 64


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


def _name(pair: bytes) -> str:
    name = unquote_to_bytes(pair.partition(b"=")[0].replace(b"+", b" "))
    return name.decode(errors="replace")[:_LONGEST_NAME]


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
