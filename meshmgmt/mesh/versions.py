"""Versions of clients, kernels and systems, compared as the reference's library does.

Numbers, any count, padded with zeros; a `+build` is ignored. A pre-release never
satisfies a minimum without one; with one on both sides the numbers must be equal.
"""

import re
from functools import lru_cache
from itertools import zip_longest
from typing import Final, NamedTuple

_VERSION: Final = re.compile(
    r"v?(?P<numbers>\d+(?:\.\d+)*)"
    r"(?:-(?P<minus>[0-9A-Za-z.~-]+)|(?P<plain>[A-Za-z][0-9A-Za-z.~-]*))?"
    r"(?:\+[0-9A-Za-z.~-]+)?"
)
_SEMANTIC: Final = re.compile(
    r"v?(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?"
)
_BUILT_BY_HAND: Final = ("ci-", "dev-")


class Version(NamedTuple):
    """Numbers without trailing zeros, and the pre-release, "" for none."""

    numbers: tuple[int, ...]
    pre: str


@lru_cache(maxsize=4096)
def parse(text: str) -> Version | None:
    """Return the version, None for text that is none."""
    found = _VERSION.fullmatch(text)
    if found is None:
        return None
    numbers = [int(part) for part in found["numbers"].split(".")]
    # 1.2 and 1.2.0 are the same version.
    while numbers and not numbers[-1]:
        numbers.pop()
    return Version(tuple(numbers), found["minus"] or found["plain"] or "")


@lru_cache(maxsize=4096)
def at_least(text: str, minimum: str) -> bool:
    """Tell whether version `text` satisfies `>= minimum`; not when either is none."""
    version, least = parse(text), parse(minimum)
    if version is None or least is None:
        return False
    if version.pre and least.pre:
        return version.numbers == least.numbers and _pre_at_least(
            version.pre, least.pre
        )
    # So a plain minimum keeps 6.1.0rc1 out, and 20H2.
    if version.pre:
        return False
    return version.numbers >= least.numbers


def without_pre(text: str) -> str:
    """The part of a version before the first `-`."""
    return text.partition("-")[0]


def is_development(text: str) -> bool:
    """Tell whether a client was built by hand; such count as the newest."""
    return text == "development" or text.startswith(_BUILT_BY_HAND)


def supports(client: str, since: str) -> bool:
    """Tell whether a client has what came with version `since`."""
    return is_development(client) or at_least(without_pre(client), since)


@lru_cache(maxsize=4096)
def is_semantic_at_least(text: str, minimum: tuple[int, int, int]) -> bool:
    """Tell whether `text` is a semantic version from `minimum` on (semver.org)."""
    if is_development(text):
        return True
    found = _SEMANTIC.fullmatch(text)
    if found is None:
        return False
    numbers = tuple(int(found[part]) for part in (1, 2, 3))
    return numbers > minimum or (numbers == minimum and not found[4])


def _pre_at_least(pre: str, least: str) -> bool:
    """Compare dot-separated parts: numbers below words, shorter below longer."""
    for one, other in zip_longest(pre.split("."), least.split(".")):
        if one != other:
            return _rank(one) > _rank(other)
    return True


def _rank(part: str | None) -> tuple[int, int, str]:
    if part is None:
        return (0, 0, "")
    return (1, int(part), "") if part.isdecimal() else (2, 0, part)
