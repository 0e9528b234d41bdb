"""Endpoints of setup keys."""

from collections.abc import Sequence
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from meshmgmt.access.api.serializers import setupkeys as bodies
from meshmgmt.access.selectors.setupkeys import setup_key_rows
from meshmgmt.access.services.setupkeys import setup_keys
from meshmgmt.api.views import ResourceViewSet
from meshmgmt.core.resources import Row


class SetupKeyViewSet(ResourceViewSet):
    """Setup keys: they enrol peers without a user."""

    module = "setup_keys"
    resource = setup_keys
    lookup_url_kwarg = "keyId"
    serializer_class = bodies.SetupKeySerializer
    request_serializer_class = bodies.SetupKeyRequestSerializer
    update_serializer_class = bodies.SetupKeyUpdateSerializer

    def rows(self, ids: Sequence[str] | None = None) -> list[Row]:
        return setup_key_rows(ids)

    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Create a setup key and show it, this once."""
        made = setup_keys.create(self.checked(request.data))
        return Response({**self.row(made.pk), "key": made.plain})
