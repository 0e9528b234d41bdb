"""Endpoints of setup keys."""

from collections.abc import Sequence
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from meshmgmt.access.api.serializers.setupkeys import (
    SetupKeyRequestSerializer,
    SetupKeySerializer,
    SetupKeyUpdateSerializer,
)
from meshmgmt.access.selectors.setupkeys import setup_key_rows
from meshmgmt.access.services.setupkeys import (
    KIND,
    setup_key_create,
    setup_key_delete,
    setup_key_update,
)
from meshmgmt.api.views import ResourceViewSet
from meshmgmt.core.resources import Row


class SetupKeyViewSet(ResourceViewSet):
    """Setup keys: they enrol peers without a user."""

    module = "setup_keys"
    kind = KIND
    lookup_url_kwarg = "keyId"
    serializer_class = SetupKeySerializer
    request_serializer_class = SetupKeyRequestSerializer
    update_serializer_class = SetupKeyUpdateSerializer

    def rows(self, ids: Sequence[str] | None = None) -> list[Row]:
        return setup_key_rows(ids)

    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Create a setup key and show it, this once."""
        data = self.validated(self.request_serializer_class)
        made = setup_key_create(**data)
        return Response({**self.row(made.key.pk), "key": made.plain})

    def update_object(self, identifier: str, data: dict[str, Any]) -> str:
        return setup_key_update(key_id=identifier, changes=data).pk

    def delete_object(self, identifier: str) -> None:
        setup_key_delete(key_id=identifier)
