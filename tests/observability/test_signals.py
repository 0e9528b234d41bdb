"""Store, login and sign-in figures come from what really happened."""

import logging
import re
import time
from functools import partial
from typing import Final

import pytest
from django.db import DatabaseError, connection, transaction
from prometheus_client import Counter, Histogram

from groups.models import Group
from groups.services import group_create
from meshmgmt.core.transactions import account_write
from meshmgmt.env import BASE_DIR
from observability import idp, logins
from observability.metrics import instruments
from observability.metrics.catalogue import CATALOGUE
from tests.api_client import Api
from tests.openapi import schema
from tests.people import api_as

TRANSACTIONS = instruments.histogram("management.store.transaction.duration.ms")
SAVES = instruments.histogram("management.store.persistence.duration.micro")
WAIT = instruments.histogram("management.store.global.lock.acquisition.duration.micro")
HELD = instruments.histogram("management.store.global.lock.acquisition.duration.ms")


PUBLIC: Final = {
    "/api/instance",
    "/api/setup",
    "/api/schema",
    "/api/docs",
    "/api/users/invites/inviteId",
    "/api/users/invites/inviteToken/accept",
}


def sample(metric: Counter | Histogram, ending: str) -> float:
    [family] = metric.collect()
    return float(next(s.value for s in family.samples if s.name.endswith(ending)))


count: Final = partial(sample, ending="_count")
total: Final = partial(sample, ending="_sum")
value: Final = partial(sample, ending="_total")


@pytest.mark.django_db(transaction=True)
def test_a_write_is_measured_as_lock_transaction_and_statements():
    before = [count(h) for h in (TRANSACTIONS, SAVES, WAIT, HELD)]
    held = total(HELD)
    with account_write():
        begun = time.perf_counter()
        Group.objects.count()
        group_create(name="measured")
        inside = time.perf_counter() - begun
    after = [count(h) for h in (TRANSACTIONS, SAVES, WAIT, HELD)]
    transactions, saves, waits, holds = (
        new - old for new, old in zip(after, before, strict=True)
    )
    assert (transactions, waits, holds) == (1, 1, 1)
    assert saves >= 2  # the group and its audit event
    assert total(HELD) - held >= 1000 * inside


@pytest.mark.django_db(transaction=True)
def test_what_is_rolled_back_is_no_transaction():
    before = count(TRANSACTIONS)
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        Group.objects.count()
        raise ZeroDivisionError
    assert count(TRANSACTIONS) == before


@pytest.mark.django_db
def test_reading_saves_nothing_and_failures_are_counted():
    from django_prometheus.db import errors_total  # noqa: PLC0415

    before = count(SAVES)
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    assert count(SAVES) == before

    def errors() -> float:
        samples = [s for family in errors_total.collect() for s in family.samples]
        return float(sum(s.value for s in samples if s.name.endswith("_total")))

    known = errors()
    with (
        pytest.raises(DatabaseError),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute("SELECT nothing FROM nowhere")
    assert errors() == known + 1


@pytest.mark.parametrize(("seconds", "slow"), [(7.0, 0), (7.001, 1), (0.1, 0)])
def test_a_login_above_seven_seconds_is_warned_about_and_counted(
    seconds: float, slow: int, caplog: pytest.LogCaptureFixture
):
    high = instruments.counter("management.grpc.login.request.high.latency.counter")
    asked = instruments.counter("management.grpc.login.request.counter")
    duration = instruments.histogram("management.grpc.login.request.duration.ms")

    def counted() -> tuple[float, float, float]:
        return value(high), value(asked), count(duration)

    before = counted()
    with caplog.at_level(logging.WARNING):
        logins.observe_login(peer_id="p1", seconds=seconds)
    grown = [new - old for new, old in zip(counted(), before, strict=True)]
    assert grown == [slow, 1, 1]
    found = [r for r in caplog.records if getattr(r, "peer_id", "") == "p1"]
    assert len(found) == slow
    if slow:
        assert found[0].levelname == "WARNING"
        assert vars(found[0])["duration_ms"] == 7001


def test_sign_in_figures_count_one_each():
    for function, name in (
        (idp.authenticate_requested, "authenticate.request.counter"),
        (idp.user_looked_up_by_email, "get.user.by.email.counter"),
        (idp.request_failed, "request.error.counter"),
        (idp.request_refused, "request.status.error.counter"),
    ):
        counter = instruments.counter(f"management.idp.{name}")
        before = value(counter)
        function()
        assert value(counter) == before + 1


@pytest.mark.django_db
def test_invented_verbs_and_paths_make_no_series_of_their_own(api: Api):
    requests = instruments.counter("management.http.request.counter")

    def series() -> set[str]:
        [family] = requests.collect()
        return {str(s.labels) for s in family.samples}

    for method in ("BREW", "GET"):
        api.call(method, "/nowhere/0")
    before = series()
    for number in range(5):
        api.call(f"BREW{chr(65 + number)}", f"/nowhere/{number}")
        api.call("GET", f"/api/groups/{number:020d}")
    new = series() - before
    assert new <= {"{'endpoint': '/api/groups/groupId', 'method': 'GET'}"}


Series = tuple[str, tuple[tuple[str, str], ...]]


def series_of_all() -> set[Series]:
    return {
        (sample.name, tuple(sorted(sample.labels.items())))
        for family in instruments.of_this_process()
        for sample in family.samples
        if "http" in sample.name
    }


def named(found: set[Series], label: str) -> set[str]:
    """Return the values of a label."""
    return {value for _, labels in found for name, value in labels if name == label}


@pytest.mark.django_db
def test_strangers_make_no_series_for_each_route_and_verb():
    stranger = Api("mpt_wrong")
    verbs = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW")
    routes = [path for path in schema()["paths"] if path.startswith("/api/")]
    paths = [re.sub(r"{\w+}", "0" * 20, route) for route in routes]
    assert len(paths) > 50
    assert stranger.get(paths[0]).status == 401
    before = series_of_all()
    for path in paths:
        for verb in verbs:
            stranger.call(verb, path)
        stranger.call("GET", path, Host="evil.example")
    grown = series_of_all() - before
    # Each verb once, and what is public; a series for each would be many thousands.
    assert named(grown, "endpoint") <= {"unauthenticated", "unmatched", *PUBLIC}
    assert len(grown) < 1000


@pytest.mark.django_db
def test_verbs_that_a_path_does_not_serve_are_one():
    owner = api_as("owner")
    before = series_of_all()
    for path in ("/api/groups", "/api/dns/settings"):
        for verb in ("TRACE", "BREW", "PATCH"):
            assert owner.call(verb, path).status == 405
    answered = {
        one for one in series_of_all() - before if one[0].startswith("management_")
    }
    assert named(answered, "method") <= {"other"}


def test_the_documentation_lists_every_instrument():
    text = (BASE_DIR / "docs" / "metrics.md").read_text()
    for instrument in CATALOGUE.values():
        row = f"| `{instrument.exposed}` | {instrument.kind} |"
        assert row in text, instrument.name
        assert instrument.help in text
    assert not re.search(r"`management_\w+` \| (?!counter|gauge|histogram)", text)
