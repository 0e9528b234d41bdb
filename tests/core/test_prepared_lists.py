"""Rows read by SQL that is kept."""

from typing import Any

import pytest

from groups.models import Group
from meshmgmt.core.queries import KEPT, Prepared

pytestmark = pytest.mark.django_db

NAMED = Prepared(
    lambda names, others: (
        Group.objects.filter(name__in=names)
        .exclude(name__in=others)
        .order_by("name")
        .values_list("name", "issued")
    )
)


def test_lists_of_any_size_are_read_as_they_come() -> None:
    for name in ("a", "b", "c"):
        Group.objects.create(name=name)
    assert NAMED.plain(["a", "b"], ["b"]) == [("a", "api")]
    assert NAMED.plain(["c", "b"], ["a"]) == [("b", "api"), ("c", "api")]
    assert NAMED.plain(["b", "b"], []) == [("b", "api")]
    assert NAMED.plain([], ["a"]) == []
    many = [str(number) for number in range(2 * KEPT)]
    for size in range(2 * KEPT):
        assert NAMED.plain([*many[:size], "c"], []) == [("c", "api")]


def test_the_statement_of_a_size_is_made_once() -> None:
    made: list[Any] = []

    def make(names: list[str]) -> Any:
        made.append(len(names))
        return Group.objects.filter(name__in=names).values_list("name")

    rows = Prepared(make)
    assert rows.plain(["All"]) == [("All",)]
    assert rows.plain(["none"]) == []
    assert rows.plain(["none", "All"]) == [("All",)]
    assert made == [1, 2]
