"""What is answered when the database is away, or takes no writes."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from meshmgmt.core.queries import execute
from tests.api_client import Api
from tests.people import api_as
from tests.races import lock_held_elsewhere

pytestmark = pytest.mark.django_db(transaction=True)

PROXIED = {"X-Forwarded-For": "203.0.113.9"}


@pytest.fixture
def owner() -> Api:
    api = api_as("owner")
    assert api.get("/api/groups").status == 200  # its use is on record for a minute
    return api


@pytest.fixture
def read_only(owner: Api) -> Iterator[None]:
    """Make the database take no writes, as a standby or a file without permission."""
    postgresql = connection.vendor == "postgresql"
    switch = "SET default_transaction_read_only" if postgresql else "PRAGMA query_only"
    execute(f"{switch} = on")
    try:
        yield
    finally:
        execute(f"{switch} = off")


@pytest.fixture
def away(owner: Api) -> Iterator[None]:
    """Let new connections find no database."""
    settings: dict[str, Any] = connection.settings_dict
    usual = dict(settings)
    connection.close()
    settings["NAME"] = "/nowhere/at/all.sqlite3"
    settings["HOST"], settings["PORT"] = "127.0.0.1", "1"
    try:
        yield
    finally:
        connection.close()
        settings.update(usual)


@pytest.mark.usefixtures("away")
def test_probes_answer_a_token_without_the_database(owner: Api):
    ready = owner.get("/readyz?verbose")
    assert ready.status == 503
    assert ready.json["checks"]["database"] == "failed"
    assert "details" not in ready.json  # whose token it is cannot be known
    assert owner.get("/livez").status == 200
    assert owner.get("/metrics").status == 200  # from this host
    metrics = owner.get("/metrics", **PROXIED)
    assert metrics.status == 503
    assert metrics.headers["Retry-After"]
    assert "not available" in metrics.json["message"]


@pytest.mark.usefixtures("away")
def test_the_admin_site_is_503_without_the_database():
    answer = Client(raise_request_exception=False).post(
        "/admin/login/", {"username": "ann@mesh.dev", "password": "wrong horse 1"}
    )
    assert answer.status_code == 503
    assert answer["Retry-After"]


@pytest.mark.usefixtures("read_only")
def test_a_read_only_database_makes_the_server_unready(owner: Api):
    ready = owner.get("/readyz?verbose")
    assert ready.status == 503
    told = "the database is read-only: nothing can be changed"
    assert ready.json["details"]["database"] == told


@pytest.mark.usefixtures("read_only")
def test_a_read_only_database_is_read_and_refuses_writes(owner: Api):
    assert owner.get("/api/groups").status == 200
    answer = owner.post("/api/groups", {"name": "a group"})
    assert answer.status == 503
    assert answer.headers["Retry-After"]
    assert "read-only" in answer.json["message"]


def test_a_busy_database_is_not_read_only(owner: Api):
    with lock_held_elsewhere():
        ready = owner.get("/readyz?verbose")
    assert ready.json["checks"]["database"] == "ok"
