"""Endpoints of routes."""

from collections.abc import Sequence

from meshmgmt.access.api.serializers import routes as bodies
from meshmgmt.access.selectors.routes import route_rows
from meshmgmt.access.services.routes import routes
from meshmgmt.api.views import ResourceViewSet
from meshmgmt.core.resources import Row


class RouteViewSet(ResourceViewSet):
    """Routes: networks and domains that peers forward to."""

    module = "routes"
    audited = True
    resource = routes
    lookup_url_kwarg = "routeId"
    serializer_class = bodies.RouteSerializer
    request_serializer_class = bodies.RouteRequestSerializer
    update_serializer_class = bodies.RouteUpdateSerializer

    def rows(self, ids: Sequence[str] | None = None) -> list[Row]:
        return route_rows(ids)
