"""Queries whose statement is kept give what the query itself gives; rows put in at once."""

from typing import Any

import pytest
from django.db import IntegrityError, transaction

from groups.models import Group
from meshmgmt.accounts.authentication import find_token
from meshmgmt.accounts.models import AccessToken, Account, User
from meshmgmt.accounts.services.users import user_set_blocked
from meshmgmt.core.queries import (
    KEPT,
    MOST_PARAMETERS,
    Prepared,
    columns_of,
    insert_rows,
    loaded,
)
from meshmgmt.movingin.models import Copied
from tests.people import person, token_of
from tests.queries import asking

pytestmark = pytest.mark.django_db


def users_of(role: str) -> Any:
    return User.objects.filter(role=role).order_by("id").values_list(*columns_of(User))


def test_rows_are_those_of_the_query_with_every_column_converted():
    for role in ("admin", "auditor", "admin"):
        person(role)
    prepared = Prepared(users_of)
    for role in ("admin", "auditor", "user"):
        assert list(prepared.rows(role)) == list(users_of(role))


def test_the_statement_of_a_size_is_written_once_and_run_each_time():
    written: list[int] = []

    def named(names: list[str]) -> Any:
        written.append(len(names))
        return Group.objects.filter(name__in=names).values_list("name")

    prepared = Prepared(named)

    def read() -> None:
        assert list(prepared.rows(["All"])) == [("All",)]
        assert prepared.plain(["none"]) == []
        assert prepared.plain(["none", "All"]) == [("All",)]

    assert len(asking(read)[1]) == 3
    assert written == [1, 2]


def test_values_that_are_given_once_leave_the_parameters_of_the_query_alone():
    wanted, other = person("admin"), person("admin")
    user_set_blocked(user_id=other.pk, blocked=True)
    prepared = Prepared(
        lambda role: User.objects.filter(is_blocked=False, role=role).values_list("id")
    )
    assert list(prepared.rows("admin")) == [(wanted.pk,)]


def test_a_loaded_object_is_that_of_the_query():
    row = Account.objects.values_list(*columns_of(Account)).get()
    found, stored = loaded(Account, row), Account.objects.get()
    for name in columns_of(Account):
        assert getattr(found, name) == getattr(stored, name)
    assert not found._state.adding


def test_a_token_comes_with_its_user_in_one_query():
    plain = token_of(person("auditor"))
    (token, role), asked = asking(lambda: (x := find_token(plain), x.user.role))
    assert (role, len(asked)) == ("auditor", 1)
    assert token == AccessToken.objects.get()
    assert token.expires_at == AccessToken.objects.get().expires_at


def test_whole_numbers_find_what_texts_cannot_be_compared_with():
    prepared = Prepared(
        lambda n: Account.objects.filter(peer_login_expiration=n).values_list("id")
    )
    [account] = Account.objects.all()
    wanted = account.peer_login_expiration
    assert list(prepared.rows(wanted)) == prepared.plain(wanted) == [(account.pk,)]  # type: ignore[arg-type]
    assert prepared.plain(wanted + 1) == []  # type: ignore[arg-type]


NAMED = Prepared(
    lambda names, others: (
        Group.objects.filter(name__in=names)
        .exclude(name__in=others)
        .order_by("name")
        .values_list("name", "issued")
    )
)


def test_lists_of_any_size_are_read_as_they_come():
    for name in ("a", "b", "c"):
        Group.objects.create(name=name)
    assert NAMED.plain(["a", "b"], ["b"]) == [("a", "api")]
    assert NAMED.plain(["c", "b"], ["a"]) == [("b", "api"), ("c", "api")]
    assert NAMED.plain(["b", "b"], []) == [("b", "api")]
    assert NAMED.plain([], ["a"]) == []
    many = [str(number) for number in range(2 * KEPT)]
    for size in range(2 * KEPT):
        assert NAMED.plain([*many[:size], "c"], []) == [("c", "api")]


@pytest.mark.parametrize("number", [2, MOST_PARAMETERS])
def test_what_the_database_refuses_of_few_and_of_many_is_an_error_of_django(
    number: int,
):
    rows = [("there", "group", "twice", "ours")] * number
    with pytest.raises(IntegrityError), transaction.atomic():
        insert_rows(Copied, ("source", "kind", "old_id", "new_id"), rows)
