"""Nobody waits for ever on PostgreSQL."""

import re
from collections.abc import Iterator

import pytest
from django.db import OperationalError, ProgrammingError, connection, connections

from meshmgmt.api.exceptions import describe
from meshmgmt.serving.process import STATEMENT_SECONDS, bound_requests
from observability.database.postgresql.base import SESSION
from tests.pgbouncer import SHIPPED

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "postgresql", reason="PostgreSQL's limits"),
]


def shown(limit: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"SHOW {limit}")
        return str(cursor.fetchone()[0])


LIMITS = ["lock_timeout", "idle_in_transaction_session_timeout"]


@pytest.mark.parametrize("limit", LIMITS)
def test_waiting_is_bounded(limit: str):
    assert shown(limit) != "0"


def test_a_vanished_database_host_is_noticed():
    connection.ensure_connection()
    assert connection.connection.info.get_parameters()["keepalives_idle"] == "30"


def test_the_database_notices_a_vanished_host_of_ours():
    for name, value in {
        "tcp_keepalives_idle": "30",
        "tcp_keepalives_interval": "10",
        "tcp_keepalives_count": "3",
        "tcp_user_timeout": "60000",
    }.items():
        assert shown(name) == value


def test_commands_take_their_time():
    assert shown("statement_timeout") == "0"


@pytest.fixture
def bounded_requests() -> Iterator[None]:
    bound_requests()
    yield
    connections.settings["default"].pop("STATEMENT_SECONDS")
    connection.close()


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("bounded_requests")
def test_statements_of_requests_end():
    connection.close()
    assert shown("statement_timeout") == "30s"


def test_requests_alone_go_through_the_pooler(monkeypatch: pytest.MonkeyPatch):
    own = {**connections.settings["default"], "POOLER": {"HOST": "pooler"}}
    monkeypatch.setitem(connections.settings, "default", own)
    assert own["HOST"] != "pooler"
    bound_requests()
    assert own["HOST"] == "pooler"


def test_the_pooler_as_shipped_says_what_a_connection_of_ours_says():
    [told] = re.findall(r"connect_query='(.*)'$", SHIPPED.read_text(), re.MULTILINE)
    wanted = f"{SESSION};SET statement_timeout = '{STATEMENT_SECONDS}s'"
    parts = told.replace("''", "'").split(";")
    assert [part.strip() for part in parts] == wanted.split(";")


def test_a_statement_that_takes_too_long_is_503():
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = '1ms'")
        with pytest.raises(OperationalError, match="statement timeout") as caught:
            cursor.execute("SELECT pg_sleep(1)")
    status, message, _ = describe(caught.value)
    assert status == 503
    assert "too long" in message


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("setting", "value", "ours"),
    [
        ("DateStyle", "SQL, DMY", "ISO, MDY"),
        ("default_transaction_isolation", "serializable", "read committed"),
    ],
)
def test_what_a_database_is_set_to_makes_no_answer_fail(
    setting: str, value: str, ours: str
):
    name = connection.settings_dict["NAME"]
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER DATABASE \"{name}\" SET {setting} = '{value}'")
    connection.close()
    try:
        assert shown(setting) == ours
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f'ALTER DATABASE "{name}" RESET {setting}')


def test_a_role_that_may_not_write_is_503():
    with connection.cursor() as cursor:
        cursor.execute("CREATE ROLE onlooker; SET LOCAL ROLE onlooker")
        with pytest.raises(ProgrammingError) as caught:
            cursor.execute("INSERT INTO groups_group DEFAULT VALUES")
    status, message, _ = describe(caught.value)
    assert status == 503
    assert "let it own the tables" in message
