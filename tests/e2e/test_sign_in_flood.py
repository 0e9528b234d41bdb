"""A flood of sign-ins with wrong passwords, and what everybody else sees of it."""

import http.client
import itertools
import re
import statistics
import threading
import time
import urllib.parse
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.e2e.browsers import OWNER, owner_password
from tests.races import at_work
from tests.servers import GUNICORN, Server, running_server
from tests.waiting import until

CLIENTS: Final = 40
WORKERS: Final = 2
LOOKS: Final = 3
PATIENCE: Final = 120.0
ELSEWHERE: Final = "203.0.113.7"
TOKEN: Final = re.compile(r'name="csrfmiddlewaretoken" value="(\w+)"')


class Browser:
    """Sends requests from an address that the server believes."""

    def __init__(self, server: Server, token: str = "") -> None:
        self.server = server
        self.headers = {"Authorization": f"Token {token}"} if token else {}
        self.csrf = ""

    def send(
        self, method: str, path: str, body: str = "", address: str = ELSEWHERE
    ) -> tuple[int, http.client.HTTPMessage, str]:
        """Return status, headers and body of the answer."""
        where = (self.server.address, self.server.port)
        wire = http.client.HTTPConnection(*where, timeout=PATIENCE)
        headers = {**self.headers, "X-Forwarded-For": address}
        if body:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        try:
            wire.request(method, path, body or None, headers)
            answer = wire.getresponse()
            return answer.status, answer.headers, answer.read().decode()
        finally:
            wire.close()

    def sign_in(
        self, password: str, address: str = ELSEWHERE
    ) -> tuple[int, http.client.HTTPMessage]:
        """Post the form of the page, which is read once; return status and headers."""
        if not self.csrf:
            _, headers, page = self.send("GET", "/admin/login/")
            self.headers["Cookie"] = headers["Set-Cookie"].partition(";")[0]
            found = TOKEN.search(page)
            assert found is not None
            self.csrf = found[1]
        fields = {"username": OWNER, "password": password, "next": "/admin/"}
        form = urllib.parse.urlencode({"csrfmiddlewaretoken": self.csrf, **fields})
        status, headers, _ = self.send("POST", "/admin/login/", form, address)
        return status, headers


@contextmanager
def flood(server: Server, *, everywhere: bool) -> Iterator[Counter[int]]:
    """Try wrong passwords for as long as the block runs; yield the statuses so far."""
    seen: Counter[int] = Counter()
    over = threading.Event()
    numbers = itertools.count()

    def guess() -> None:
        browser = Browser(server)
        while not over.is_set():
            number = next(numbers)
            site = f"10.{number // 65536 % 256}.{number // 256 % 256}.{number % 256}"
            address = site if everywhere else "198.51.100.1"
            status, _ = browser.sign_in("wrong", address)
            seen[status] += 1

    with at_work(over, *[guess] * CLIENTS):
        yield seen


def seconds_of(browser: Browser, path: str) -> float:
    """Return how long an answer took that must be 200."""
    began = time.perf_counter()
    assert browser.send("GET", path)[0] == 200
    return time.perf_counter() - began


def is_let_in(browser: Browser) -> bool:
    status, _ = browser.sign_in(owner_password(browser.server))
    assert status in {302, 503}  # the lane may be full: one comes again
    return status == 302


@pytest.mark.timeout(2 * PATIENCE)
@pytest.mark.parametrize(
    "everywhere",
    [
        pytest.param(False, id="one address"),
        pytest.param(True, id="a botnet", marks=pytest.mark.slow),
    ],
)
@pytest.mark.sqlite
def test_others_are_answered_and_let_in(tmp_path: Path, everywhere: bool):
    extra = {"SVC_TRUSTED_PROXIES": "127.0.0.1/32", "SVC_WORKERS": str(WORKERS)}
    with running_server(tmp_path / "var", extra, "owner", GUNICORN) as server:
        api = Browser(server, server.token)
        began = time.perf_counter()
        for number in range(3):
            assert Browser(server).sign_in("wrong", f"192.0.2.{number}")[0] == 200
        one_sign_in = (time.perf_counter() - began) / 3
        with flood(server, everywhere=everywhere) as seen:
            still = "the flood stands still: {}".format
            until(lambda: seen.total() >= CLIENTS, lambda: still(seen), PATIENCE)
            for path in ("/livez", "/api/groups"):
                took = statistics.median(seconds_of(api, path) for _ in range(LOOKS))
                # Behind the others' hashes it would wait for a dozen of them.
                assert took < 3 * one_sign_in, f"{path}: {took:.2f} s, {seen}"
            owner = Browser(server)
            until(lambda: is_let_in(owner), "the owner let in", PATIENCE)
        assert seen[429 if not everywhere else 503] > 0, seen
        assert set(seen) <= {200, 429, 503}, seen
        if not everywhere:  # each worker may have had one in work when the limit came
            assert seen[200] <= 10 + WORKERS
            right = owner_password(server)
            status, headers = Browser(server).sign_in(right, "198.51.100.1")
            assert status == 429
            assert int(headers["Retry-After"]) > 0
        events = api.send("GET", "/api/events/audit")[2]
        assert 0 < events.count("user.password.fail") <= 20
        assert "sign-in failed" in server.printed()
