"""Rate limits: whom they count, what they answer, and how exact several workers are."""

import dataclasses
import datetime as dt
import ipaddress
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import time_machine
from django.db import connection, connections
from django.test import Client
from django.test.utils import CaptureQueriesContext

from meshmgmt.api import limits
from meshmgmt.api.limits import LIMITS, LimitedView, Limiter, forget_used_permits
from meshmgmt.api.models import UsedPermits
from meshmgmt.core.slidingwindow import Limit
from observability.metrics import instruments
from observability.views import MetricsView
from tests.api_client import Api
from tests.events.backends import second_session, waiting_pid
from tests.people import api_of, person
from tests.races import lock_held_elsewhere, race

PATH = "/api/groups"
MINUTE = dt.timedelta(minutes=1)


def limited(caller: str) -> float:
    counter = instruments.counter("mesh.requests.limited.total")
    return float(counter.labels(caller=caller)._value.get())


@pytest.fixture
def five(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five requests a minute for every token, and for every address without one."""
    for kind in ("signed_in", "others"):
        monkeypatch.setattr(LIMITS, kind, Limiter(Limit(5, 60), 1))


@pytest.fixture
def moment() -> Iterator[Any]:
    with time_machine.travel(dt.datetime.now(dt.UTC), tick=False) as traveller:
        yield traveller


def statuses(call: Callable[[], Any], count: int) -> list[int]:
    return [call().status for _ in range(count)]


@pytest.mark.django_db
@pytest.mark.usefixtures("five")
class TestTokens:
    def test_the_limit_is_answered_429_until_the_wait_is_over(self, moment: Any):
        api = api_of(person())
        before = limited("token")
        assert statuses(lambda: api.get(PATH), 5) == [200] * 5
        refused = api.get(PATH)
        wait = int(refused.headers["Retry-After"])
        told = f"too many requests: wait {wait} seconds"
        assert (refused.status, refused.json) == (429, {"message": told, "code": 429})
        assert 60 <= wait <= 62
        assert limited("token") == before + 1
        moment.shift(wait)
        assert api.get(PATH).status == 200

    def test_nobody_waits_for_a_clock_that_was_set_back(self, moment: Any):
        api = api_of(person())
        assert statuses(lambda: api.get(PATH), 6) == [200] * 5 + [429]
        moment.shift(-dt.timedelta(days=1))
        assert statuses(lambda: api.get(PATH), 6) == [200] * 5 + [429]

    def test_tokens_count_by_themselves_whatever_the_address_or_agent(self):
        user = person()
        one, other = api_of(user), api_of(user)
        statuses(lambda: one.get(PATH), 5)
        assert one.get(PATH, **{"User-Agent": "terraform"}).status == 429
        assert one.get(PATH, **{"X-Forwarded-For": "192.0.2.9"}).status == 429
        assert other.get(PATH).status == 200

    def test_refused_writes_write_nothing(self):
        api = api_of(person())
        statuses(lambda: api.get(PATH), 5)
        assert api.post(PATH, {"name": "web"}).status == 429

    def test_the_admin_site_and_probes_are_not_counted(self):
        api = api_of(person())
        statuses(lambda: api.get(PATH), 5)
        probes = ("/livez", "/readyz", "/readyz?verbose", "/health")
        for path in probes:
            assert 429 not in [api.get(path).status for _ in range(6)]
        assert not issubclass(MetricsView, LimitedView)
        assert 429 not in statuses(lambda: Api().get("/admin/login/"), 6)


@pytest.mark.django_db
@pytest.mark.usefixtures("five")
class TestAddresses:
    @pytest.mark.parametrize(
        ("path", "token", "usual"),
        [
            (PATH, None, 401),
            (PATH, "mpt_no", 401),
            ("/api/instance", None, 200),
            ("/api/docs", None, 200),
        ],
    )
    def test_requests_without_good_credentials_count(
        self, path: str, token: str | None, usual: int
    ):
        before = limited("address")
        found = statuses(lambda: Api(token).get(path), 7)
        assert found == [usual] * 5 + [429] * 2
        assert limited("address") == before + 2

    def test_good_credentials_from_there_still_work(self):
        statuses(lambda: Api().get(PATH), 6)
        assert api_of(person()).get(PATH).status == 200

    @pytest.mark.parametrize("path", ["/api/docs", "/api/schema", "/api/instance"])
    def test_good_credentials_from_there_still_work_where_none_are_needed(
        self, path: str
    ):
        statuses(lambda: Api().get(path), 6)
        one = api_of(person())
        before = limited("token")
        assert statuses(lambda: one.get(path), 6) == [200] * 5 + [429]
        assert limited("token") == before + 1
        assert [Api(token).get(path).status for token in (None, "mpt_no")] == [429] * 2

    def test_bad_credentials_are_no_obstacle_where_none_are_needed(self):
        sent = Api("mpt_no").post("/api/setup", {})
        assert sent.status == Api().post("/api/setup", {}).status == 422

    def test_others_and_other_addresses_of_one_site_are_told_apart(self):
        def ask(address: str) -> int:
            return Client(REMOTE_ADDR=address).get(PATH).status_code

        assert [ask(f"2001:db8::{each}") for each in range(6)] == [401] * 5 + [429]
        assert ask("192.0.2.1") == 401

    def test_addresses_are_those_behind_trusted_proxies(self, settings: Any):
        proxies = (ipaddress.ip_network("127.0.0.1/32"),)
        settings.SVC = dataclasses.replace(settings.SVC, trusted_proxies=proxies)

        def ask(address: str) -> int:
            return Api().get(PATH, **{"X-Forwarded-For": address}).status

        assert [ask("192.0.2.1") for _ in range(6)] == [401] * 5 + [429]
        assert ask("192.0.2.2") == 401


@pytest.mark.django_db
class TestBatches:
    def test_most_requests_write_nothing_and_refusals_ask_nothing(self):
        limiter = Limiter(Limit(600, 60), workers=2)
        with CaptureQueriesContext(connection) as asked:
            assert not any(limiter.take("k") for _ in range(600))
        writes = [q for q in asked if q["sql"].startswith("UPDATE")]
        assert len(writes) <= 60
        assert limiter.take("k") > 0
        with CaptureQueriesContext(connection) as asked:
            assert all(limiter.take("k") > 0 for _ in range(100))
        assert not asked.captured_queries

    def test_permits_in_the_hands_of_idle_workers_are_less_than_a_tenth(self):
        hosts = [Limiter(Limit(600, 60), workers=2) for _ in range(4)]
        for worker in hosts[1:]:
            worker.take("k")
        given = 3 + sum(not hosts[0].take("k") for _ in range(700))
        assert 540 <= given <= 600

    def test_a_flood_gets_what_the_limit_says(self, moment: Any):
        workers = [Limiter(Limit(600, 60), workers=2) for _ in range(2)]
        given = 0
        for _ in range(6000):  # ten minutes of 600 tries a minute for each worker
            given += sum(not worker.take("k") for worker in workers)
            moment.shift(0.1)
        assert 5400 <= given <= 6600

    def test_counts_that_mean_nothing_are_forgotten(self, moment: Any):
        limiter = Limiter(Limit(5, 60), workers=1)
        limiter.take("k")
        moment.shift(2 * MINUTE)  # to another host whose clock is behind they mean much
        assert forget_used_permits() == 0
        moment.shift(MINUTE)
        assert forget_used_permits() == 1
        assert not limiter.take("k")


@pytest.mark.django_db(transaction=True)
class TestSeveralWorkers:
    def test_threads_of_several_workers_share_one_limit(self):
        workers = [Limiter(Limit(400, 3600), workers=2) for _ in range(4)]

        def flood(worker: Limiter) -> int:
            return sum(not worker.take("k") for _ in range(80))

        calls = [lambda worker=worker: flood(worker) for worker in workers * 2]
        assert 360 <= sum(race(calls)) <= 440  # a busy file may let some through

    @pytest.mark.sqlite
    def test_a_busy_file_makes_each_process_count_for_itself(self):
        limiter = Limiter(Limit(6, 3600), workers=2)
        with lock_held_elsewhere():
            found = [limiter.take("k") for _ in range(4)]
        assert [wait > 0 for wait in found] == [False] * 3 + [True]
        assert limiter.take("k") == 0
        assert sum(UsedPermits.objects.get().used.values()) == 3 + 1

    @pytest.mark.sqlite
    def test_a_process_that_counts_for_itself_remembers_so_many_callers(
        self, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(limits, "MOST_KEYS", 4)
        limiter = Limiter(Limit(6, 3600), workers=6)
        with lock_held_elsewhere():
            assert [limiter.take(str(number)) for number in range(8)] == [0.0] * 8
            assert limiter.take("0") == 0  # forgotten
            assert limiter.take("7") > 0
        assert len(limiter._alone) <= 4

    @pytest.mark.postgresql
    def test_a_lost_database_refuses_nobody_and_is_asked_again(self):
        limiter = Limiter(Limit(6, 3600), workers=2)

        def take() -> float:
            try:
                return limiter.take("k")
            finally:
                connections.close_all()

        with ThreadPoolExecutor(1) as pool, second_session() as other:
            other.execute("LOCK TABLE api_usedpermits IN ACCESS EXCLUSIVE MODE")
            asked = pool.submit(take)
            pid = waiting_pid(other, "%api_usedpermits%")
            other.execute("SELECT pg_terminate_backend(%s)", [pid])
            assert asked.result() == 0
            other.rollback()
            assert pool.submit(take).result() == 0
            assert UsedPermits.objects.get().used
