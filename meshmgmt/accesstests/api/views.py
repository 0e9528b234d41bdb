"""Endpoints of access tests."""

from collections.abc import Sequence
from typing import Any

from meshmgmt.accesstests.api.serializers import (
    AccessTestRequestSerializer,
    AccessTestSerializer,
    AccessTestUpdateSerializer,
)
from meshmgmt.accesstests.rules import VALUES, AccessTestDraft, End
from meshmgmt.accesstests.selectors import access_test_rows
from meshmgmt.accesstests.services import (
    KIND,
    access_test_create,
    access_test_delete,
    access_test_update,
)
from meshmgmt.api.views import ResourceViewSet
from meshmgmt.core.resources import Row


class AccessTestViewSet(ResourceViewSet):
    """Access tests: what must be reached or resolved, or never."""

    module = "policies"
    tells_past = True
    tags = ("access-tests",)
    kind = KIND
    lookup_url_kwarg = "accessTestId"
    serializer_class = AccessTestSerializer
    request_serializer_class = AccessTestRequestSerializer
    update_serializer_class = AccessTestUpdateSerializer

    def rows(self, ids: Sequence[str] | None = None) -> list[Row]:
        return access_test_rows(ids)

    def create_object(self, data: dict[str, Any]) -> str:
        return access_test_create(draft=AccessTestDraft(**_read(data))).pk

    def update_object(self, identifier: str, data: dict[str, Any]) -> str:
        return access_test_update(test_id=identifier, changes=_read(data)).pk

    def delete_object(self, identifier: str) -> None:
        access_test_delete(test_id=identifier)


def _read(data: dict[str, Any]) -> dict[str, Any]:
    """Return the facts of a draft; `port` 0 and null are none."""
    facts = dict(data)
    for name in ("source", "destination"):
        if name in data:
            kind = data[name]["kind"]
            place = "value" if kind in VALUES else "id"
            facts[name] = End(kind, data[name].get(place, ""))
    if "port" in data:
        facts["port"] = data["port"] or None
    return facts
