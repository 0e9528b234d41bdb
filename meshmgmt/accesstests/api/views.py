"""Endpoints of access tests."""

from collections.abc import Sequence

from meshmgmt.accesstests.api.serializers import (
    AccessTestRequestSerializer,
    AccessTestSerializer,
    AccessTestUpdateSerializer,
)
from meshmgmt.accesstests.selectors import access_test_rows
from meshmgmt.accesstests.services import access_tests
from meshmgmt.api.views import ResourceViewSet
from meshmgmt.core.resources import Row


class AccessTestViewSet(ResourceViewSet):
    """Access tests: what must be reached or resolved, or never."""

    module = "policies"
    tells_past = True
    tags = ("access-tests",)
    resource = access_tests
    lookup_url_kwarg = "accessTestId"
    serializer_class = AccessTestSerializer
    request_serializer_class = AccessTestRequestSerializer
    update_serializer_class = AccessTestUpdateSerializer

    def rows(self, ids: Sequence[str] | None = None) -> list[Row]:
        return access_test_rows(ids)
