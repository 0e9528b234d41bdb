"""What upper rooms register is asked."""

import pytest

from observability import registries
from observability.health import readiness

pytestmark = pytest.mark.django_db


def test_a_registered_check_makes_the_server_unready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(registries.READINESS_CHECKS, "streams", lambda: "none is open")
    [finding] = [f for f in readiness.findings() if f.name == "streams"]
    assert (finding.problem, finding.required) == ("none is open", True)
    assert not readiness.is_ready([finding])
