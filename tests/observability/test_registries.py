"""What upper rooms register is asked."""

import pytest

from observability import registries
from observability.health import readiness

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("required", [True, False])
def test_a_registered_check_makes_the_server_unready_where_that_is_required(
    monkeypatch: pytest.MonkeyPatch, required: bool
):
    check = registries.ReadinessCheck(lambda: "none is open", required)
    monkeypatch.setitem(registries.READINESS_CHECKS, "doors", check)
    [finding] = [f for f in readiness.findings() if f.name == "doors"]
    assert (finding.problem, finding.required) == ("none is open", required)
    assert readiness.is_ready([finding]) is not required
