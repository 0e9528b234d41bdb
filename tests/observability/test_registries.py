"""What upper rooms register is asked."""

import pytest

from observability import registries
from observability.health import readiness, status

pytestmark = pytest.mark.django_db


def test_a_registered_check_makes_the_server_unready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(registries.READINESS_CHECKS, "streams", lambda: "none is open")
    [finding] = [f for f in readiness.findings() if f.name == "streams"]
    assert (finding.problem, finding.required) == ("none is open", True)
    assert not readiness.is_ready([finding])


def test_a_registered_fact_is_a_detail_of_the_status(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(registries.STATUS_FACTS, "connected streams", lambda: 7)
    assert status.collect(detail=True)["connected streams"] == 7
    assert "connected streams" not in status.collect(detail=False)


def test_a_fact_that_fails_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> int:
        raise ZeroDivisionError("of streams")

    monkeypatch.setitem(registries.STATUS_FACTS, "streams", broken)
    found = status.collect(detail=True)["streams"]
    assert found == {"unavailable": "ZeroDivisionError: of streams"}
