"""PostgreSQL goes away under connected peers, and comes back."""

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit

import grpc
import psycopg
import pytest
from psycopg import sql

from tests.control.agents import (
    Agent,
    answered,
    code_of,
    enrolled,
    followed,
    names,
    run,
    until,
)
from tests.control.deployment import Deployment, deployed

pytestmark = [pytest.mark.postgresql, pytest.mark.slow]
FAILED = "the maps cannot be refreshed"


@contextmanager
def no_database(deployment: Deployment) -> Iterator[None]:
    """Cut all connections to the deployment's database and refuse new ones."""
    parts = urlsplit(deployment.server.database_url)
    name = parts.path[1:]
    admin = urlunsplit(parts._replace(path="/postgres"))
    allow = sql.SQL("ALTER DATABASE {} WITH ALLOW_CONNECTIONS {}")
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(allow.format(sql.Identifier(name), sql.Literal(False)))
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
            (name,),
        )
        try:
            yield
        finally:
            connection.execute(allow.format(sql.Identifier(name), sql.Literal(True)))


def test_peers_stay_connected_and_others_are_asked_to_try_again(tmp_path):
    with deployed(tmp_path / "var") as deployment:

        async def scenario() -> None:
            key = deployment.setup_key()
            async with (
                enrolled(deployment, "steady") as steady,
                followed(steady) as seen,
                Agent(deployment.url, hostname="late") as late,
            ):
                before = seen.serial
                with no_database(deployment):
                    for call in (
                        late.login(key),
                        steady.login(),
                        anext(steady.sync()),
                        steady.logout(),
                    ):
                        assert await code_of(call) is grpc.StatusCode.UNAVAILABLE
                    await until(lambda: deployment.log().count(FAILED) >= 3)
                assert seen.breaks == 0
                # Each thread finds out for itself that its connection is dead.
                await until(lambda: answered(late.login(key)))
                await until(lambda: "late" in names(seen))
                assert seen.serial > before

        run(scenario())
