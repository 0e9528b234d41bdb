"""The admin's metrics page and the history behind it."""

import time
from dataclasses import replace
from pathlib import Path

import pytest
from django.conf import settings

from observability import admin
from observability.health import status
from observability.metrics import history
from observability.metrics.exposition import Family, Sample, single
from tests.admin.signed_in import client_of
from tests.people import person
from tests.servers import Server
from tests.waiting import until

FUTURE = 4_000_000_000
CODES = "management_http_response_code_total"
DURATION = "management_http_request_duration_ms"
CONNECTED = (("state", "connected"),)
BUCKET = f"{DURATION}_bucket"


def scrape(good: float, bad: float, fast: float, slow: float) -> list[Family]:
    """Return families with these totals; fast is up to 10 ms, slow up to 100."""
    codes = {"200": good, "503": bad}
    bounds = {"10": fast, "100": fast + slow, "+Inf": fast + slow}
    counts = [Sample(CODES, (("code", code),), n) for code, n in codes.items()]
    buckets = [Sample(BUCKET, (("le", bound),), n) for bound, n in bounds.items()]
    return [
        Family(CODES, "counter", "", counts),
        Family(DURATION, "histogram", "", buckets),
    ]


def test_points_are_the_increase_since_the_last_one(tmp_path: Path):
    now = time.time()
    recorder = history.Recorder(tmp_path)
    recorder.add(scrape(100, 5, 90, 10), now - 20)
    recorder.add(scrape(150, 10, 100, 100), now - 10)
    [point] = history.read(tmp_path)
    assert point.requests_per_second == 5.5
    assert point.failures_per_second == 0.5
    # 10 fast and 90 slow: the 95th of 100 is 85 ninetieths into 10..100 ms.
    assert point.p95_ms == pytest.approx(95)
    assert point.peers_connected is None


def test_a_server_that_starts_anew_makes_no_negative_point(tmp_path: Path):
    now = time.time()
    recorder = history.Recorder(tmp_path)
    for seconds, good in ((30, 100), (20, 10), (10, 60)):
        recorder.add(scrape(good, 0, 0, 0), now - seconds)
    [point] = history.read(tmp_path)
    assert point.requests_per_second == 5


def test_only_an_hour_is_kept(tmp_path: Path):
    recorder = history.Recorder(tmp_path)
    for number in range(history.KEEP + 20):
        recorder.add(scrape(number, 0, 0, 0), FUTURE + number)
    assert len(history.read(tmp_path)) == history.KEEP


@pytest.mark.parametrize(
    ("share", "buckets", "expected"),
    [
        (0.5, {10.0: 10, float("inf"): 10}, 5),
        (0.99, {10.0: 1, float("inf"): 10}, 10),
        (0.95, {}, None),
        (0.95, {10.0: 0, float("inf"): 0}, None),
    ],
)
def test_quantiles_are_those_of_prometheus(
    share: float, buckets: dict[float, float], expected: float | None
):
    assert history.quantile(share, buckets) == expected


def test_a_chart_leaves_gaps_where_there_is_no_value():
    values = [(0.0, 1.0), (60.0, None), (120.0, 2.0)]
    path = admin.line(values, 2.0)
    assert path == "M0.0 30.0 M300.0 2.0"
    assert admin.line([], 0) == ""


def test_the_table_has_a_row_for_five_minutes_the_newest_first(tmp_path: Path):
    recorder = history.Recorder(tmp_path)
    for number in range(35):
        recorder.add(scrape(100 * number, 0, 0, 0), FUTURE + 10 * number)
    rows = admin.table(history.read(tmp_path))
    assert [moment.timestamp() - FUTURE for moment, _ in rows] == [340, 40]
    assert rows[0][1] == ["10", "0", "-", "-", "0", "-"]


@pytest.mark.django_db
def test_the_page_shows_its_charts():
    text = client_of(person("owner")).get("/admin/metrics/").content.decode()
    assert "Wait for the write lock" in text
    assert "peers disconnected" in text


@pytest.mark.django_db
def test_status_says_of_a_disk_that_it_cannot_be_looked_at(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    (tmp_path / "file").touch()
    gone = replace(settings.SVC, data_dir=tmp_path / "file" / "data")
    monkeypatch.setattr(settings, "SVC", gone)
    found = status.collect(detail=True)
    assert found["ready"] is False
    assert "unavailable" in found["disk_free_bytes"]


@pytest.mark.sqlite
@pytest.mark.slow
def test_a_running_server_writes_its_history(folder: Path):
    with Server(folder) as server:
        until(
            lambda: server.get("/livez").status and history.read(server.runtime_dir),
            "a point",
        )
        assert history.read(server.runtime_dir)[0].requests_per_second > 0


def test_connected_peers_are_kept_by_the_hour_over_a_restart(tmp_path: Path):
    now = time.time()
    for before, connected in ((history.HOUR, 4), (0, 6)):
        recorder = history.Recorder(tmp_path)  # what it kept is there again
        for second in range(3):
            peers = single("mesh_peers", "gauge", "", connected + second, CONNECTED)
            recorder.add([peers], now - before + second / 100)
    *older, last_but_one, last = history.connected_by_hour(tmp_path)
    assert (last_but_one, last) == (6, 8)
    assert set(older) == {None}
    assert len(older) + 2 == history.HOURS
