"""Two hosts over one PostgreSQL, straight and through PgBouncer, are one service.

Each has a network namespace, a data and a runtime folder of its own; nginx as shipped is in
front of both.
"""

import http.client
import json
import os
import shutil
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from threading import Event
from typing import Any, Final
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.e2e.browsers import OWNER
from tests.e2e.test_sign_in_flood import Browser
from tests.events.samples import moment, traffic
from tests.namespaces import Namespace
from tests.nginx import HOST, Proxied, proxying
from tests.pgbouncer import NAME, running_pgbouncer, through_the_socket
from tests.races import at_work
from tests.servers import Server, migrated_database
from tests.waiting import until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.postgresql,
    pytest.mark.timeout(600),
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
    pytest.mark.skipif(shutil.which("ip") is None, reason="ip is not installed"),
]

NETWORK: Final = f"10.{128 + os.getpid() % 64}"
PATIENCE: Final = 60.0
ERRORS: Final = 10.0
"""Seconds between the first and the last error while one host dies."""
CUT_SECONDS: Final = 3.0
"""30 were tried by hand, with the same outcome."""
WRITERS: Final = 3
PASSWORD: Final = "Correct-Horse-1"
PER_MINUTE: Final = 30
EVENTS: Final = 2000


class Host(Server):
    """One server on a machine of its own, with a runtime folder of its own."""

    def __init__(self, folder: Path, machine: Namespace, url: str) -> None:
        super().__init__(
            folder, database_url=url, address=machine.address, within=machine.within
        )
        self.machine = machine

    @property
    def leads(self) -> bool:
        """Whether its housekeeping process runs the jobs."""
        beat = self.folder / "run" / "housekeeping.json"
        return beat.exists() and bool(json.loads(beat.read_text())["leads"])

    def kill(self) -> None:
        """End everything on the machine at once."""
        assert self.process is not None
        self.machine.kill()
        self.process.wait()
        self.process = None
        (self.folder / "run" / "housekeeping.json").unlink(missing_ok=True)

    def connect(self) -> socket.socket:
        return socket.create_connection((self.address, self.port), PATIENCE)


@dataclass
class Pair:
    """Both hosts, what is in front of them, and a token of the owner."""

    hosts: tuple[Host, Host]
    front: Proxied
    restart_pooler: Callable[[], None] | None

    @property
    def pooled(self) -> bool:
        return self.restart_pooler is not None

    def ask(
        self,
        host: Host | None,
        method: str,
        path: str,
        document: object = None,
        **headers: str,
    ) -> tuple[int, http.client.HTTPMessage, Any]:
        """Send a request to a host, or to nginx; return status, headers and answer."""
        client = http.client.HTTPConnection(HOST)
        client.sock = self.front.secure() if host is None else host.connect()
        sent = {"Authorization": f"Token {self.front.token}", **headers}
        body = None if document is None else json.dumps(document)
        try:
            client.request(method, path, body, {k: v for k, v in sent.items() if v})
            answer = client.getresponse()
            text = answer.read()
        finally:
            client.close()
        found = json.loads(text) if text[:1] in {b"{", b"["} else text
        return answer.status, answer.headers, found

    def told(self, code: str) -> Counter[str]:
        """Return how often the trail tells of each target, for an activity."""
        query = f"?activity_code={code}&page_size=50000"
        _, _, page = self.ask(None, "GET", f"/api/events/audit{query}&format=json")
        return Counter(event["target_id"] for event in page)


@pytest.fixture(scope="module", params=["straight", "pgbouncer"])
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Pair]:
    """Yield two started hosts behind nginx."""
    folder = tmp_path_factory.mktemp("hosts")
    pooled = request.param == "pgbouncer"
    with ExitStack() as stack:
        url = stack.enter_context(migrated_database(folder))
        machines = [Namespace(number, NETWORK) for number in (1, 2)]
        for machine in machines:
            stack.enter_context(machine.connected())
        pooler, poolers = 0, stack.enter_context(ExitStack())
        addresses = [machine.outside for machine in machines]
        if pooled:
            pooler = poolers.enter_context(running_pgbouncer(url, addresses))
        first, second = (
            made(folder / str(machine.number), url, machine, pooler)
            for machine in machines
        )
        first.manage("createsuperuser", "--email", OWNER, "--noinput")
        token = first.manage("create_token", "--user", OWNER).strip()
        for host in (first, second):
            host.start()
            stack.callback(host.stop)
        apis = [f"{host.address}:{host.port}" for host in (first, second)]
        front = stack.enter_context(proxying(folder, apis, token))

        def restart_pooler() -> None:
            poolers.close()
            poolers.enter_context(running_pgbouncer(url, addresses, pooler))

        yield Pair((first, second), front, restart_pooler if pooled else None)


def made(folder: Path, url: str, machine: Namespace, pooler: int) -> Host:
    """Return a server of its own runtime folder over the common database."""
    extra = {
        "SVC_SECRET_KEY": "the same on every host",
        "SVC_TRUSTED_PROXIES": f"{NETWORK}.0.0/16",
        "SVC_ALLOWED_HOSTS": f"{HOST},{machine.address}",
        "SVC_ANONYMOUS_RATE_LIMIT": f"{PER_MINUTE}/min",
        "DJANGO_SUPERUSER_PASSWORD": PASSWORD,
    }
    if pooler:
        where = f"postgres@{machine.outside}:{pooler}/{NAME}"
        extra["SVC_DATABASE_POOLER_URL"] = f"postgresql://{where}"
    host = Host(folder, machine, through_the_socket(url))
    host.environ.update(extra)
    return host


def test_a_session_of_one_host_is_one_of_the_other(pair: Pair):
    first, second = pair.hosts
    status, headers = Browser(first).sign_in(PASSWORD, "192.0.2.1")
    assert status == 302
    cookies = headers.get_all("Set-Cookie") or []
    [session] = [cookie for cookie in cookies if cookie.startswith("sessionid=")]
    browser = Browser(second)
    browser.headers["Cookie"] = session.partition(";")[0]
    assert browser.send("GET", "/admin/")[0] == 200


def test_wrong_passwords_count_on_both(pair: Pair):
    for number in range(10):
        browser = Browser(pair.hosts[number % 2])
        assert browser.sign_in("wrong", "198.51.100.9")[0] == 200
    for host in pair.hosts:
        status, headers = Browser(host).sign_in(PASSWORD, "198.51.100.9")
        assert status == 429
        assert int(headers["Retry-After"]) > 0


def test_strangers_share_one_limit(pair: Pair):
    seen: Counter[int] = Counter()
    limited: set[int] = set()
    stranger = {"Authorization": "", "X-Forwarded-For": "198.51.100.77"}
    for number in range(4 * PER_MINUTE):
        host = pair.hosts[number % 2]
        status, _, _ = pair.ask(host, "GET", "/api/groups", **stranger)
        seen[status] += 1
        if status == 429:
            limited.add(number % 2)
    assert limited == {0, 1}
    assert 0.9 * PER_MINUTE <= seen[401] <= 1.1 * PER_MINUTE, seen
    assert seen.keys() == {401, 429}


def test_a_token_works_and_ends_on_both_at_once(pair: Pair):
    first, second = pair.hosts
    _, _, user = pair.ask(first, "GET", "/api/users/current")
    tokens = f"/api/users/{user['id']}/tokens"
    _, _, new = pair.ask(first, "POST", tokens, {"name": "new", "expires_in": 1})
    use = {"Authorization": f"Token {new['plain_token']}"}
    assert pair.ask(second, "GET", "/api/groups", **use)[0] == 200
    gone = f"{tokens}/{new['personal_access_token']['id']}"
    assert pair.ask(second, "DELETE", gone)[0] == 200
    assert pair.ask(first, "GET", "/api/groups", **use)[0] == 401


def test_a_write_repeated_on_the_other_host_is_done_once(pair: Pair):
    first, second = pair.hosts
    group, key = {"name": "once"}, {"Idempotency-Key": "once"}
    status, _, made_there = pair.ask(first, "POST", "/api/groups", group, **key)
    assert status == 200
    status, headers, again = pair.ask(second, "POST", "/api/groups", group, **key)
    assert (status, again) == (200, made_there)
    assert headers["Idempotency-Replayed"] == "true"
    assert pair.told("group.add")[again["id"]] == 1


def test_one_host_does_the_housekeeping(pair: Pair):
    until(lambda: any(host.leads for host in pair.hosts), "a leader")
    leader, other = sorted(pair.hosts, key=lambda host: not host.leads)
    runs = 'mesh_job_runs_total{job="expire_logins",result="ok"}'
    before = other.value(runs)  # it may have led until a test upset it
    until(lambda: leader.value(runs) > 0, "a run of the leader")
    assert not other.leads
    assert other.value(runs) == before


def test_figures_and_log_levels_are_those_of_a_host(pair: Pair):
    first, second = pair.hosts
    name = 'management_http_request_counter{endpoint="/api/networks",method="GET"}'
    for _ in range(3):
        assert pair.ask(first, "GET", "/api/networks")[0] == 200
    assert (first.value(name), second.value(name)) == (3, 0)
    first.manage("log_level", "debug")
    assert "debug" in first.manage("log_level")
    assert "debug" not in second.manage("log_level")
    first.manage("log_level", "reset")


def test_a_big_page_an_export_and_retention_work(pair: Pair):
    first, second = pair.hosts
    old = moment(3 * 24 * 60)
    flows = [traffic(id=f"old-{n}", window_end=old) for n in range(EVENTS)]
    path = "/api/events/network-traffic"
    assert pair.ask(first, "POST", path, flows)[0] == 200
    page = f"{path}?page_size={EVENTS}"
    _, _, answer = pair.ask(second, "GET", page)
    assert len(answer["data"]) == answer["total_records"] == EVENTS
    trail = "/api/events/audit"
    export = pair.ask(second, "GET", trail, Accept="text/csv")[2]
    known = pair.ask(second, "GET", trail)[2]
    assert export.count(b"\n") == len(known) + 1
    first.manage("housekeeping", "--once", SVC_TRAFFIC_RETENTION_DAYS="1")
    for host in pair.hosts:
        assert pair.ask(host, "GET", page)[2]["total_records"] == 0


def test_requests_of_both_hosts_go_through_the_pooler(pair: Pair):
    if not pair.pooled:
        pytest.skip("there is none")
    for host in pair.hosts:
        assert pair.ask(host, "GET", "/api/groups")[0] == 200
    url = urlsplit(pair.hosts[0].environ["SVC_DATABASE_POOLER_URL"])
    console = url._replace(path="/pgbouncer").geturl()
    plain: Any = {"autocommit": True, "cursor_factory": psycopg.ClientCursor}
    with psycopg.connect(console, **plain) as connection:
        cursor = connection.execute("SHOW CLIENTS")
        assert cursor.description is not None
        position = [column.name for column in cursor.description].index("addr")
        clients = {row[position] for row in cursor}
    assert {host.address for host in pair.hosts} <= clients


def test_every_transaction_has_the_limits_of_the_service(pair: Pair):
    if not pair.pooled:
        pytest.skip("a connection of its own says its limits itself")
    url = pair.hosts[0].environ["SVC_DATABASE_POOLER_URL"]
    wanted = {
        "jit": "off",
        "lock_timeout": "20s",
        "idle_in_transaction_session_timeout": "1min",
        "statement_timeout": "30s",
    }
    with psycopg.connect(url, autocommit=True) as connection:
        for name, value in wanted.items():
            assert connection.execute(f"SHOW {name}").fetchone() == (value,)


class Writers:
    """Make groups through nginx until it is over."""

    def __init__(self, pair: Pair, prefix: str) -> None:
        self.pair = pair
        self.prefix = prefix
        self.acknowledged: set[str] = set()
        self.errors: list[tuple[float, object]] = []
        self.over = Event()

    def write(self, writer: int) -> None:
        for number in count():
            if self.over.wait(0.03):
                return
            name = f"{self.prefix}-{writer}-{number}"
            group = {"name": name}
            try:
                status, _, _ = self.pair.ask(None, "POST", "/api/groups", group)
            except (OSError, http.client.HTTPException) as error:
                self.errors.append((time.monotonic(), error))
                continue
            if status == 200:
                self.acknowledged.add(name)
            else:
                self.errors.append((time.monotonic(), status))

    def more(self, count: int) -> None:
        """Wait until so many more writes were acknowledged."""
        wanted = len(self.acknowledged) + count
        until(lambda: len(self.acknowledged) >= wanted, "acknowledged writes")


@contextmanager
def writing(pair: Pair, prefix: str = "made") -> Iterator[Writers]:
    """Yield writers at work."""
    made = Writers(pair, prefix)
    with at_work(made.over, *(partial(made.write, n) for n in range(WRITERS))):
        yield made


def test_a_host_that_dies_takes_no_write_with_it(pair: Pair):
    until(lambda: any(host.leads for host in pair.hosts), "a leader")
    victim, survivor = sorted(pair.hosts, key=lambda host: not host.leads)
    with writing(pair) as writers:
        writers.more(50)
        assert not writers.errors
        victim.kill()
        writers.more(100)
        until(lambda: survivor.leads, "another leader")
        victim.start()
        writers.more(100)
    moments = [moment for moment, _ in writers.errors]
    if moments:
        assert max(moments) - min(moments) <= ERRORS, writers.errors
    check_all_kept(pair, writers)


def check_all_kept(pair: Pair, writers: Writers) -> None:
    """Both hosts know each acknowledged write, and each was told once."""
    told = pair.told("group.add")
    for host in pair.hosts:
        _, _, groups = pair.ask(host, "GET", "/api/groups")
        made = [g for g in groups if g["name"].startswith(f"{writers.prefix}-")]
        assert writers.acknowledged <= {group["name"] for group in made}
        assert {told[group["id"]] for group in made} == {1}


def test_a_pooler_or_a_link_that_was_away_takes_no_write_with_it(pair: Pair):
    if pair.restart_pooler is None:
        pytest.skip("the hosts reach PostgreSQL by way of the file system")
    with writing(pair, "kept") as writers:
        writers.more(30)
        pair.restart_pooler()
        check_back_soon(writers)
        with pair.hosts[1].machine.cut_off():
            time.sleep(CUT_SECONDS)
        check_back_soon(writers)
    check_all_kept(pair, writers)


def check_back_soon(writers: Writers) -> None:
    """What was away is back now: so is the service, soon and for good."""
    back = time.monotonic()
    writers.more(30)
    assert time.monotonic() - back <= ERRORS, writers.errors
    seen = len(writers.errors)
    writers.more(60)
    assert writers.errors[seen:] == []
