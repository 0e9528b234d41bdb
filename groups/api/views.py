"""Endpoints of groups."""

from collections.abc import Sequence
from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework.request import Request
from rest_framework.response import Response

from groups.api.serializers import (
    GroupRequestSerializer,
    GroupSerializer,
    UsageSerializer,
)
from groups.selectors import KIND, group_rows, group_usage
from groups.services import group_create, group_delete, group_update
from meshmgmt.api.views import ApiView, ResourceViewSet, path_id
from meshmgmt.core.resources import Row
from meshmgmt.core.transactions import read_snapshot


@extend_schema_view(
    list=extend_schema(
        parameters=[
            OpenApiParameter(
                "name", str, description="Only the groups with exactly this name."
            )
        ]
    )
)
class GroupViewSet(ResourceViewSet):
    """Groups of peers and resources."""

    module = "groups"
    audited = True
    kind = KIND
    lookup_url_kwarg = "groupId"
    serializer_class = GroupSerializer
    request_serializer_class = GroupRequestSerializer

    def rows(self, ids: Sequence[str] | None = None) -> list[Row]:
        """Return groups; the whole list may be narrowed by `?name=`."""
        if ids is not None:
            return [row for pk in ids for row in group_rows(pk)]
        return group_rows(name=self.request.query_params.get("name", ""))

    def create_object(self, data: dict[str, Any]) -> str:
        return str(group_create(**data).pk)

    def update_object(self, identifier: str, data: dict[str, Any]) -> str:
        return str(group_update(group_id=identifier, **data).pk)

    def delete_object(self, identifier: str) -> None:
        """Delete a group and every reference to it."""
        group_delete(group_id=identifier)


class GroupUsageView(ApiView):
    """What refers to one group, and what deleting it would disable."""

    module = "groups"
    audited = True
    serializer_class = UsageSerializer

    def get(self, request: Request, groupId: str) -> Response:  # noqa: N803 - seed
        """Return the usage of a group."""
        with read_snapshot():
            return Response(group_usage(path_id(KIND, groupId)))
