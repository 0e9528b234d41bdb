"""Endpoints of networks, their resources and routers."""

from collections.abc import Sequence

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from meshmgmt.access.api.serializers import networks as bodies
from meshmgmt.access.selectors.networks import network_rows, resource_rows
from meshmgmt.access.selectors.routes import router_rows
from meshmgmt.access.services.networks import network_resources, networks, routers
from meshmgmt.api.views import ApiView, ResourceViewSet
from meshmgmt.core.resources import Row
from meshmgmt.core.transactions import read_snapshot


class NetworkViewSet(ResourceViewSet):
    """Networks behind routing peers."""

    module = "networks"
    audited = True
    resource = networks
    lookup_url_kwarg = "networkId"
    serializer_class = bodies.NetworkSerializer
    request_serializer_class = bodies.NetworkRequestSerializer
    update_serializer_class = bodies.NetworkUpdateSerializer

    def rows(self, ids: Sequence[str] | None = None) -> list[Row]:
        return network_rows(ids)


class NetworkResourceViewSet(ResourceViewSet):
    """Resources of a network."""

    module = "networks"
    audited = True
    resource = network_resources
    lookup_url_kwarg = "resourceId"
    whole_url_kwarg = "networkId"
    serializer_class = bodies.NetworkResourceSerializer
    request_serializer_class = bodies.NetworkResourceRequestSerializer
    update_serializer_class = bodies.NetworkResourceUpdateSerializer

    def rows(self, ids: Sequence[str] | None = None) -> list[Row]:
        return resource_rows(self.within, ids)


class NetworkRouterViewSet(ResourceViewSet):
    """Routers of a network."""

    module = "networks"
    audited = True
    resource = routers
    lookup_url_kwarg = "routerId"
    whole_url_kwarg = "networkId"
    serializer_class = bodies.NetworkRouterSerializer
    request_serializer_class = bodies.NetworkRouterRequestSerializer
    update_serializer_class = bodies.NetworkRouterUpdateSerializer

    def rows(self, ids: Sequence[str] | None = None) -> list[Row]:
        return router_rows(self.within, ids)


class AllResourcesView(ApiView):
    """The resources of all networks."""

    module = "networks"
    audited = True
    serializer_class = bodies.NetworkResourceSerializer
    answers_list = True

    @extend_schema(operation_id="networks_resources_all")
    def get(self, request: Request) -> Response:
        """Return resources in the order of their creation."""
        with read_snapshot():
            return Response(resource_rows())


class AllRoutersView(ApiView):
    """The routers of all networks."""

    module = "networks"
    audited = True
    serializer_class = bodies.NetworkRouterSerializer
    answers_list = True

    @extend_schema(operation_id="networks_routers_all")
    def get(self, request: Request) -> Response:
        """Return routers in the order of their creation."""
        with read_snapshot():
            return Response(router_rows())
