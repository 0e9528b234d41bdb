"""Request lines and response lines, and what is not in them."""

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from tests.servers import Server
from tests.waiting import until
from tests.wire import json_records

pytestmark = pytest.mark.sqlite


def test_each_request_has_two_lines_with_its_id(server: Server):
    reply = server.get("/api/dns/zones?x=1", Authorization="Token mpt_wrongwrong123")
    request_id = reply.headers["x-request-id"]
    until(lambda: len(server.records(request_id=request_id)) == 2, "two lines")
    lines = server.records(request_id=request_id)
    assert [line["msg"] for line in lines] == ["HTTP request", "HTTP response"]
    facts = {"level": "info", "method": "GET", "source": "127.0.0.1"}
    facts["path"] = "/api/dns/zones?x=1"
    for line in lines:
        assert line == line | facts
        assert line["account_id"]
    assert lines[1]["status"] == reply.status == 401
    assert lines[1]["endpoint"] == "/api/dns/zones"
    assert lines[1]["duration_ms"] >= 0
    assert "mpt_wrong" not in server.printed()


def test_secrets_in_addresses_and_headers_are_not_logged(server: Server):
    secret = "s3cr3tvalue99"
    headers = {"Cookie": f"sessionid={secret}", "X-Token": secret}
    reply = server.get(f"/api/dns/zones?token={secret}&password={secret}", **headers)
    until(lambda: server.records(request_id=reply.headers["x-request-id"]), "a line")
    server.get("/livez")
    assert secret not in server.printed()
    assert "/api/dns/zones?token=[redacted]" in server.printed()


@pytest.mark.django_db
def test_only_failures_are_logged_when_so_configured(
    settings: Any, caplog: pytest.LogCaptureFixture
):
    settings.SVC = replace(settings.SVC, access_log="errors")
    client = Client()
    with caplog.at_level(logging.INFO):
        assert client.get("/livez").status_code == 200
        assert client.get("/nothing").status_code == 404
    lines = [(r.msg, vars(r)["path"]) for r in caplog.records if hasattr(r, "endpoint")]
    assert lines == [("HTTP response", "/nothing")]
    assert "HTTP request" not in caplog.messages


@pytest.mark.slow
def test_text_format_and_a_file_rotated_outside(folder: Path):
    log = folder / "logs" / "mesh.log"
    flags = ("--log-file", str(log), "--log-file", "console", "--log-level", "DEBUG")
    with Server(folder, *flags, SVC_LOG_FORMAT="text") as server:
        first = server.get("/livez").headers["x-request-id"]
        until(lambda: first in log.read_text(), "a line in the file")
        log.rename(folder / "old.log")
        # The worker notices within a tenth of a second.
        until(
            lambda: server.get("/livez").status and log.exists() and log.read_text(),
            "a new file",
        )
        second = server.get("/livez").headers["x-request-id"]
        until(lambda: f"request_id={second}" in server.printed(), "a line of text")
        assert " INFO  HTTP response " in server.printed()
        # Bundles take the file; nothing is kept twice.
        assert not (server.runtime_dir / "recent.log").exists()


def test_recent_records_are_kept_for_bundles_without_a_file(server: Server):
    request_id = server.get("/livez").headers["x-request-id"]
    spool = server.runtime_dir / "recent.log"
    until(lambda: request_id in spool.read_text(), "the record")
    assert json_records(spool.read_text())
