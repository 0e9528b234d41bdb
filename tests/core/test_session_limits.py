"""Nobody waits for ever on PostgreSQL."""

import pytest
from django.db import connection

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "postgresql", reason="PostgreSQL's limits"),
]


@pytest.mark.parametrize(
    "limit", ["lock_timeout", "idle_in_transaction_session_timeout"]
)
def test_waiting_is_bounded(limit: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SHOW {limit}")
        assert cursor.fetchone()[0] != "0"


def test_a_vanished_database_host_is_noticed() -> None:
    connection.ensure_connection()
    assert connection.connection.info.get_parameters()["keepalives_idle"] == "30"
