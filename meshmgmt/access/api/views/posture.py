"""Endpoints of posture checks."""

from collections.abc import Sequence
from typing import Any

from meshmgmt.access.api.serializers.posture import (
    PostureCheckRequestSerializer,
    PostureCheckSerializer,
    PostureCheckUpdateSerializer,
)
from meshmgmt.access.rules.posture import PostureDraft
from meshmgmt.access.selectors.posture import posture_check_rows
from meshmgmt.access.services.posture import (
    KIND,
    posture_check_create,
    posture_check_delete,
    posture_check_update,
)
from meshmgmt.api.views import ResourceViewSet, Row


class PostureCheckViewSet(ResourceViewSet):
    """Posture checks: what peers must fulfil before a policy lets them in."""

    module = "policies"
    audited = True
    tags = ("posture-checks",)
    kind = KIND
    lookup_url_kwarg = "postureCheckId"
    serializer_class = PostureCheckSerializer
    request_serializer_class = PostureCheckRequestSerializer
    update_serializer_class = PostureCheckUpdateSerializer

    def rows(self, ids: Sequence[str] | None = None) -> list[Row]:
        return posture_check_rows(ids)

    def create_object(self, data: dict[str, Any]) -> str:
        return posture_check_create(draft=PostureDraft(**data)).pk

    def update_object(self, identifier: str, data: dict[str, Any]) -> str:
        return posture_check_update(check_id=identifier, changes=data).pk

    def delete_object(self, identifier: str) -> None:
        posture_check_delete(check_id=identifier)
