"""Requests made to a real nginx and a real Caddy come out of their logs as made."""

from pathlib import Path

import pytest

from events.models import ProxyEntry
from meshmgmt.core.queries import execute
from tests.events.commands import run
from tests.events.proxies import (
    REQUESTS,
    answer,
    make_odd_requests,
    make_requests,
    running_caddy,
    running_nginx,
)
from tests.servers import free_port

pytestmark = pytest.mark.django_db


def odd_entries(log: Path, form: str, count: int) -> list[ProxyEntry]:
    """Store a log of odd requests, none of which may be refused."""
    told, _ = run("ingest", "proxy", str(log), format=form)
    assert told == f"{count} lines: {count} stored, 0 known already, 0 wrong\n"
    return list(ProxyEntry.objects.all())


def ingested(log: Path, form: str) -> list[tuple[str, str, int, int]]:
    """Store a log, twice, and return method, path, status and length in its order."""
    count = len(REQUESTS)
    for told in (f"{count} stored, 0 known", f"0 stored, {count} known"):
        out, _ = run("ingest", "proxy", str(log), format=form)
        assert out == f"{count} lines: {told} already, 0 wrong\n"
    # Times are as fine as the log's; the sequence of equal ones is not kept.
    return sorted(
        (entry.method, entry.path, entry.status_code, entry.bytes_download)
        for entry in ProxyEntry.objects.all()
    )


def expected(*, of_head: int = 0) -> list[tuple[str, str, int, int]]:
    """Return what the entries should say; `of_head` is what the log says for HEAD."""
    return sorted(
        (
            method,
            target.partition("?")[0],
            status,
            of_head if method == "HEAD" else length,
        )
        for method, target, _, status, length in REQUESTS
    )


@pytest.fixture
def nginx_logs(tmp_path: Path) -> Path:
    """Return the folder with the logs of an nginx that served the requests."""
    port = free_port()
    with running_nginx(tmp_path, port):
        make_requests(port)
    return tmp_path


def test_nginx_json_log(nginx_logs: Path):
    assert ingested(nginx_logs / "json.log", "nginx") == expected()
    for entry in ProxyEntry.objects.all():
        assert (entry.host, entry.source_ip) == ("127.0.0.1", "127.0.0.1")
        assert entry.bytes_upload > 0


def test_nginx_combined_log(nginx_logs: Path):
    assert ingested(nginx_logs / "combined.log", "nginx") == expected()


def test_caddy_log(tmp_path: Path):
    port = free_port()
    with running_caddy(tmp_path, port):
        make_requests(port)
    # Caddy logs what the handler wrote, though HEAD sends none of it.
    assert ingested(tmp_path / "caddy.log", "caddy") == expected(of_head=5)
    assert {entry.host for entry in ProxyEntry.objects.all()} == {"127.0.0.1"}


def test_nginx_stores_whatever_clients_send(tmp_path: Path):
    port = free_port()
    malformed = b"GET /a\0b HTTP/1.1\r\nHost: a.test\r\n\r\n"
    local = b"GET /local HTTP/1.0\r\nHost: a.test\r\n\r\n"
    with running_nginx(tmp_path, port):
        told = make_odd_requests(port)
        assert answer(malformed, port) == 400
        assert answer(local, port, tmp_path / "socket") == 404
    told = sorted([*told, ("GET", "", "/a\ufffdb"), ("GET", "a.test", "/local")])
    entries = odd_entries(tmp_path / "json.log", "nginx", len(told))
    assert sorted((e.method, e.host, e.path) for e in entries) == told
    users = {entry.user_id for entry in entries if entry.path == "/user"}
    assert users == {"j\ufffdrg", "a\ufffdb", "u" * 128, 'jo e [x] "q"'}
    assert [entry.source_ip for entry in entries if entry.path == "/local"] == [""]
    execute("DELETE FROM events_proxyentry")
    # The other format says the same but for the hosts, which it knows from targets only.
    entries = odd_entries(tmp_path / "combined.log", "nginx", len(told))
    requests = sorted((method, path) for method, _, path in told)
    assert sorted((e.method, e.path) for e in entries) == requests
    assert {entry.user_id for entry in entries if entry.path == "/user"} == users


def test_caddy_stores_whatever_clients_send(tmp_path: Path):
    port = free_port()
    with running_caddy(tmp_path, port):
        told = make_odd_requests(port)
    entries = odd_entries(tmp_path / "caddy.log", "caddy", len(told))
    assert sorted((e.method, e.host, e.path) for e in entries) == told
