"""Endpoints of routes."""

from collections.abc import Sequence
from typing import Any

from meshmgmt.access.api.serializers.routes import (
    RouteRequestSerializer,
    RouteSerializer,
    RouteUpdateSerializer,
)
from meshmgmt.access.rules.routes import RouteDraft
from meshmgmt.access.selectors.routes import route_rows
from meshmgmt.access.services.routes import (
    KIND,
    route_create,
    route_delete,
    route_update,
)
from meshmgmt.api.views import ResourceViewSet, Row


class RouteViewSet(ResourceViewSet):
    """Routes: networks and domains that peers forward to."""

    module = "routes"
    audited = True
    kind = KIND
    lookup_url_kwarg = "routeId"
    serializer_class = RouteSerializer
    request_serializer_class = RouteRequestSerializer
    update_serializer_class = RouteUpdateSerializer

    def rows(self, ids: Sequence[str] | None = None) -> list[Row]:
        return route_rows(ids)

    def create_object(self, data: dict[str, Any]) -> str:
        return route_create(draft=RouteDraft(**data)).pk

    def update_object(self, identifier: str, data: dict[str, Any]) -> str:
        return route_update(route_id=identifier, changes=data).pk

    def delete_object(self, identifier: str) -> None:
        route_delete(route_id=identifier)
