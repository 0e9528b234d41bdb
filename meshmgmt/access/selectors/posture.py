"""What the API shows of posture checks."""

from collections.abc import Sequence
from typing import Any

from meshmgmt.access.models import PostureCheck


def posture_check_rows(ids: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Return posture checks, in the order of creation."""
    checks = PostureCheck.objects.order_by("id")
    if ids is not None:
        checks = checks.filter(pk__in=ids)
    columns = ("id", "name", "description", "checks")
    rows: list[dict[str, Any]] = list(checks.values(*columns))
    return rows
