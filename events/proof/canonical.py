"""Canonical JSON (RFC 8785): the one text of a value that everybody hashes alike."""

import json
import math
from decimal import Decimal
from typing import Any, Final

_EXACT: Final = 2**53
_PLAIN_DIGITS: Final = 21
_SMALLEST_PLAIN: Final = -6
_quoted: Final = json.JSONEncoder(ensure_ascii=False).encode


def canonical(value: Any) -> bytes:
    """Return the canonical JSON of a value. Raises ValueError for what has none."""
    return _json(value).encode()


def _json(value: Any) -> str:
    if isinstance(value, str):
        return _quoted(value)
    # By identity, and before numbers: True equals 1, and bool is an int.
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    # Larger ones are floats to ECMAScript, which the RFC writes numbers as.
    if isinstance(value, int) and abs(value) <= _EXACT:
        return str(value)
    if isinstance(value, int | float):
        return _number(float(value))
    if isinstance(value, list):
        return f"[{','.join(map(_json, value))}]"
    if isinstance(value, dict):
        # The RFC sorts by UTF-16 units; code points beyond U+FFFF sort otherwise.
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        pairs = (f"{_quoted(name)}:{_json(value[name])}" for name in names)
        return f"{{{','.join(pairs)}}}"
    raise ValueError(f"{type(value).__name__} is not JSON")


def _number(value: float) -> str:
    """Return a number as ECMAScript writes it (Number::toString)."""
    if not math.isfinite(value):
        raise ValueError("JSON has no such number")
    if value == 0:  # -0 too
        return "0"
    sign = "-" if value < 0 else ""
    # repr() finds the shortest digits that are this float, as ECMAScript asks.
    parts = Decimal(repr(abs(value))).normalize().as_tuple()
    digits = "".join(map(str, parts.digits))
    point = len(digits) + int(parts.exponent)
    if _SMALLEST_PLAIN < point <= _PLAIN_DIGITS:
        if point <= 0:
            return f"{sign}0.{'0' * -point}{digits}"
        whole, rest = digits[:point].ljust(point, "0"), digits[point:]
        return f"{sign}{whole}.{rest}" if rest else f"{sign}{whole}"
    rest = f".{digits[1:]}" if digits[1:] else ""
    return f"{sign}{digits[0]}{rest}e{point - 1:+d}"
