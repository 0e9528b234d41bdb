"""The address of an explorer, and links that change one thing of it."""

from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import urlencode

from django.core.paginator import Page
from django.http import QueryDict

PLACE: Final = frozenset({"cursor", "fragment"})
"""Parameters that say where in a list one is; whoever changes a filter begins anew."""

Pairs = Iterable[tuple[str, str]]


class Here:
    """The query of a page. Its links are relative: `?` and a query."""

    def __init__(self, query: QueryDict) -> None:
        self.pairs = [
            (name, value)
            for name, values in query.lists()
            for value in dict.fromkeys(map(str, values))
            if value and name not in PLACE
        ]
        self._rest: dict[frozenset[str], str] = {}

    def values(self, name: str) -> list[str]:
        return [value for key, value in self.pairs if key == name]

    def with_(self, **changes: str) -> str:
        """Return a link here with one value for each parameter; "" leaves it out."""
        # A page has a thousand links, most of which change the same parameter.
        names = frozenset(changes)
        rest = self._rest.get(names)
        if rest is None:
            rest = urlencode([pair for pair in self.pairs if pair[0] not in names])
            self._rest[names] = rest
        chosen = {name: value for name, value in changes.items() if value}
        return _link(rest, urlencode(chosen))

    def without(self, name: str, value: str) -> str:
        """Return a link here with one of a parameter's values less."""
        return link_to(pair for pair in self.pairs if pair != (name, value))

    def ways(self, page: Page[Any], name: str) -> list[tuple[str, str]]:
        """Return the words and links that lead to the pages beside one."""
        beside = {"Previous": page.number - 1, "Next": page.number + 1}
        return [
            (word, self.with_(**{name: str(number)}))
            for word, number in beside.items()
            if 1 <= number <= page.paginator.num_pages
        ]

    def is_at(self, query: Pairs) -> bool:
        return sorted(self.pairs) == sorted(query)


def link_to(query: Pairs | Mapping[str, str]) -> str:
    return _link(
        urlencode(list(query.items() if isinstance(query, Mapping) else query))
    )


def _link(*parts: str) -> str:
    return "?" + "&".join(part for part in parts if part)
