"""The housekeeping process: who leads, and where it answers."""

import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from meshmgmt.serving import metricsport
from meshmgmt.serving.housekeeping import Housekeeping
from meshmgmt.serving.leadership import Leadership
from tests.servers import free_port
from tests.waiting import until


class Asking(Leadership):
    """Counts how often it asks for the lead."""

    asked = 0

    def held(self) -> bool:
        self.asked += 1
        return super().held()


@pytest.mark.django_db(transaction=True)
def test_who_does_not_lead_asks_for_it_no_more_often_than_it_gives_signs_of_life(
    settings: Any, tmp_path: Path
):
    leader = Leadership(tmp_path)
    assert leader.held()
    follower = Housekeeping(replace(settings.SVC, runtime_dir=tmp_path))
    follower.leadership = asking = Asking(tmp_path)
    for _ in range(5):
        follower.run_due()
    assert not follower.leads
    assert asking.asked == 1
    leader.release()
    assert asking.held()
    asking.release()


def test_an_address_of_ipv6_is_told_in_brackets(settings: Any):
    config = replace(settings.SVC, metrics_host="::1", metrics_port=free_port())
    assert metricsport.serve(config, bytes) == f"[::1]:{config.metrics_port}"


Call = Callable[[bytes], socket.socket]


@pytest.fixture
def call(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Send something to a metrics port that takes two callers at once."""
    monkeypatch.setattr(metricsport, "MOST_CALLERS", 2)
    config = replace(settings.SVC, metrics_host="127.0.0.1", metrics_port=free_port())
    at = metricsport.serve(config, lambda: b"figures").split(":")

    def send(text: bytes) -> socket.socket:
        caller = socket.create_connection((at[0], int(at[1])), timeout=10)
        caller.sendall(text)
        return caller

    return send


def test_who_asks_for_metrics_byte_by_byte_leaves_its_place(
    call: Call, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(metricsport, "ASKING_SECONDS", 0.5)

    def gone() -> bool:
        try:
            slow.sendall(b"G")
        except OSError:
            return True
        return False

    with call(b"G") as slow:
        until(gone)


def test_the_metrics_port_has_so_many_callers_at_once(call: Call):
    with call(b""), call(b"") as silent:
        with call(b"") as one_more:
            assert one_more.recv(1) == b""
        silent.close()

        def answer() -> bool:
            with call(b"GET /metrics HTTP/1.0\r\n\r\n") as caller, suppress(OSError):
                return b"figures" in caller.makefile("rb").read()
            return False

        assert until(answer)
