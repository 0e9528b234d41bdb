"""Queries whose statement is written once give what the query itself gives."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from meshmgmt.accounts.authentication import find_token
from meshmgmt.accounts.models import AccessToken, Account, User
from meshmgmt.accounts.services.users import user_set_blocked
from meshmgmt.core.queries import Prepared, columns_of, loaded
from tests.people import person, token_of

pytestmark = pytest.mark.django_db


def users_of(role: str) -> list[tuple[str, ...]]:
    return list(
        User.objects.filter(role=role).order_by("id").values_list(*columns_of(User))
    )


def test_rows_are_those_of_the_query_with_every_column_converted() -> None:
    for role in ("admin", "auditor", "admin"):
        person(role)
    prepared = Prepared(
        lambda role: (
            User.objects.filter(role=role).order_by("id").values_list(*columns_of(User))
        )
    )
    for role in ("admin", "auditor", "user"):
        assert list(prepared.rows(role)) == users_of(role)


def test_the_statement_is_written_once_and_run_each_time() -> None:
    written = []

    def by_role(role: str) -> object:
        written.append(role)
        return User.objects.filter(role=role).values_list("role")

    prepared = Prepared(by_role)  # type: ignore[arg-type]
    with CaptureQueriesContext(connection) as queries:
        for _ in range(3):
            list(prepared.rows("admin"))
    assert len(written) == 1
    assert len(queries) == 3


def test_values_that_are_given_once_leave_the_parameters_of_the_query_alone() -> None:
    wanted, other = person("admin"), person("admin")
    user_set_blocked(user_id=other.pk, blocked=True)
    prepared = Prepared(
        lambda role: User.objects.filter(is_blocked=False, role=role).values_list("id")
    )
    assert list(prepared.rows("admin")) == [(wanted.pk,)]


def test_a_loaded_object_is_that_of_the_query() -> None:
    row = Account.objects.values_list(*columns_of(Account)).get()
    found = loaded(Account, row)
    stored = Account.objects.get()
    assert {name: getattr(found, name) for name in columns_of(Account)} == {
        name: getattr(stored, name) for name in columns_of(Account)
    }
    assert not found._state.adding


def test_a_token_comes_with_its_user_in_one_query() -> None:
    user = person("auditor")
    plain = token_of(user)
    with CaptureQueriesContext(connection) as queries:
        token = find_token(plain)
        assert token.user.role == "auditor"
    assert len(queries) == 1
    assert token == AccessToken.objects.get()
    assert token.expires_at == AccessToken.objects.get().expires_at


def test_whole_numbers_find_what_texts_cannot_be_compared_with() -> None:
    prepared = Prepared(
        lambda n: Account.objects.filter(peer_login_expiration=n).values_list("id")
    )
    [account] = Account.objects.all()
    wanted = account.peer_login_expiration
    assert list(prepared.rows(wanted)) == prepared.plain(wanted) == [(account.pk,)]  # type: ignore[arg-type]
    assert prepared.plain(wanted + 1) == []  # type: ignore[arg-type]
