"""Secrets are taken out of every log record and bundle before they are written.

One expression is searched per text, so that a record without secrets costs a single
scan; it has no nested repetition and is linear in the length of the text.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

HIDDEN: Final = "[redacted]"

_SENSITIVE: Final = (
    r"(?:pass(?:word|wd|phrase)?|pwd|secret|token|api[-_]?key|access[-_]?key"
    r"|setup[-_]?(?:key|code)|private[-_]?key|session[-_]?id|csrf\w*|credentials?)"
)
_KEY: Final = re.compile(
    rf"(?i)(?:^|[_\-.]){_SENSITIVE}$|^{_SENSITIVE}|authorization|cookie"
)
# `token_id` names a token and is none; so do these words at the end.
_HARMLESS_KEY: Final = re.compile(r"(?i)(?:[_-](?:id|name|count|file)|s)$")

_TEXT: Final = re.compile(
    r"(?P<token>\b(?:(?:mp[ti]|nbx)_[0-9A-Za-z]{6,}|whsec_[0-9A-Za-z+/]{6,}=*))"
    r"|(?P<jwt>\beyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*)?)"
    # A word behind it counts if it has a digit or `_`: "Bearer of bad news" is none.
    r"|(?P<scheme>\b(?:Token|Bearer|Basic|Digest)\s+)(?=[\w.~+/=-]*[0-9_])"
    r"[\w.~+/=-]{8,}"
    r"|(?P<header>\b(?:authorization|(?:set-)?cookie)\b[\"']?\s*[:=]\s*[\"']?)[^\r\n\"']+"
    r"|(?P<userinfo>\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{0,255}:)[^\s/@]{1,255}@"
    rf"|(?P<pair>\b(?:\w{{0,30}}[_-])?{_SENSITIVE}[\"']?\s*[:=]\s*[\"']?)"
    r"(?P<value>[^\s&\"',;)}\]]+)"
    r"|(?P<setup>\b[0-9A-F]{8}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{12}\b)",
    re.IGNORECASE,
)


def _replace(match: re.Match[str]) -> str:
    for prefix in ("scheme", "header", "pair"):
        if match[prefix] is not None:
            return f"{match[prefix]}{HIDDEN}"
    if match["userinfo"] is not None:
        return f"{match['userinfo']}{HIDDEN}@"
    return HIDDEN


def text(value: str) -> str:
    """Return `value` with tokens, passwords, cookies and the like hidden."""
    return _short(value) if len(value) <= _SHORT else _TEXT.sub(_replace, value)


# Most texts of a log are the same few: messages, paths, addresses.
_SHORT: Final = 200


@lru_cache(maxsize=2048)
def _short(value: str) -> str:
    return _TEXT.sub(_replace, value)


@lru_cache(maxsize=1024)
def is_secret_key(key: str) -> bool:
    """Tell whether a field of that name holds a secret, whatever its value."""
    return _KEY.search(key) is not None and _HARMLESS_KEY.search(key) is None


def value(item: Any) -> Any:
    """Return a JSON-like value with secrets hidden, in keys' values and in texts."""
    if isinstance(item, str):
        return text(item)
    if isinstance(item, Mapping):
        return {
            str(k): HIDDEN if is_secret_key(str(k)) and v else value(v)
            for k, v in item.items()
        }
    if isinstance(item, list | tuple | set | frozenset):
        return [value(v) for v in item]
    if item is None or isinstance(item, bool | int | float):
        return item
    return text(str(item))
