"""Endpoints of networks, their resources and routers."""

from collections.abc import Sequence
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from meshmgmt.access.api.serializers import networks as bodies
from meshmgmt.access.rules.networks import NetworkDraft, ResourceDraft
from meshmgmt.access.rules.routes import RouterDraft
from meshmgmt.access.selectors.networks import network_rows, resource_rows
from meshmgmt.access.selectors.routes import router_rows
from meshmgmt.access.services import networks as services
from meshmgmt.api.views import ApiView, ResourceViewSet, Row, path_id
from meshmgmt.core.transactions import read_snapshot


class NetworkViewSet(ResourceViewSet):
    """Networks behind routing peers."""

    module = "networks"
    audited = True
    kind = services.KIND
    lookup_url_kwarg = "networkId"
    serializer_class = bodies.NetworkSerializer
    request_serializer_class = bodies.NetworkRequestSerializer
    update_serializer_class = bodies.NetworkUpdateSerializer

    def rows(self, ids: Sequence[str] | None = None) -> list[Row]:
        return network_rows(ids)

    def create_object(self, data: dict[str, Any]) -> str:
        return services.network_create(draft=NetworkDraft(**data)).pk

    def update_object(self, identifier: str, data: dict[str, Any]) -> str:
        return services.network_update(network_id=identifier, changes=data).pk

    def delete_object(self, identifier: str) -> None:
        services.network_delete(network_id=identifier)


class _InNetwork(ResourceViewSet):
    """What belongs to the network in the path."""

    module = "networks"
    audited = True

    @property
    def network_id(self) -> str:
        """The id of the network in the path. Raises NotFound when there is none."""
        identifier = path_id(services.KIND, self.kwargs["networkId"])
        return services.network_get(identifier).pk


class NetworkResourceViewSet(_InNetwork):
    """Resources of a network."""

    kind = services.RESOURCE_KIND
    lookup_url_kwarg = "resourceId"
    serializer_class = bodies.NetworkResourceSerializer
    request_serializer_class = bodies.NetworkResourceRequestSerializer
    update_serializer_class = bodies.NetworkResourceUpdateSerializer

    def rows(self, ids: Sequence[str] | None = None) -> list[Row]:
        return resource_rows(self.network_id, ids)

    def create_object(self, data: dict[str, Any]) -> str:
        draft = ResourceDraft(**data)
        return services.resource_create(network_id=self.network_id, draft=draft).pk

    def update_object(self, identifier: str, data: dict[str, Any]) -> str:
        return services.resource_update(
            network_id=self.network_id, resource_id=identifier, changes=data
        ).pk

    def delete_object(self, identifier: str) -> None:
        services.resource_delete(network_id=self.network_id, resource_id=identifier)


class NetworkRouterViewSet(_InNetwork):
    """Routers of a network."""

    kind = services.ROUTER_KIND
    lookup_url_kwarg = "routerId"
    serializer_class = bodies.NetworkRouterSerializer
    request_serializer_class = bodies.NetworkRouterRequestSerializer
    update_serializer_class = bodies.NetworkRouterUpdateSerializer

    def rows(self, ids: Sequence[str] | None = None) -> list[Row]:
        return router_rows(self.network_id, ids)

    def create_object(self, data: dict[str, Any]) -> str:
        draft = RouterDraft(**data)
        return services.router_create(network_id=self.network_id, draft=draft).pk

    def update_object(self, identifier: str, data: dict[str, Any]) -> str:
        return services.router_update(
            network_id=self.network_id, router_id=identifier, changes=data
        ).pk

    def delete_object(self, identifier: str) -> None:
        services.router_delete(network_id=self.network_id, router_id=identifier)


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
