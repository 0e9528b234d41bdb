"""Endpoints of policies, routes, networks, setup keys and invites."""

from collections.abc import Sequence
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from meshmgmt.access.api.serializers import enrolment as enrolment_bodies
from meshmgmt.access.api.serializers import networks as network_bodies
from meshmgmt.access.api.serializers import policies as policy_bodies
from meshmgmt.access.selectors.enrolment import (
    invite_facts,
    invite_rows,
    open_invite,
    setup_key_rows,
)
from meshmgmt.access.selectors.networks import (
    network_rows,
    resource_rows,
    route_rows,
    router_rows,
)
from meshmgmt.access.selectors.policies import policy_rows
from meshmgmt.access.services.enrolment import (
    invite_accept,
    invite_create,
    invite_regenerate,
    invites,
    setup_keys,
)
from meshmgmt.access.services.networks import (
    network_resources,
    networks,
    routers,
    routes,
)
from meshmgmt.access.services.policies import policies, posture_checks
from meshmgmt.accounts.authority import viewer_of
from meshmgmt.api.limits import check_guess
from meshmgmt.api.requests import OptionalJSONParser
from meshmgmt.api.views import ApiView, ResourceViewSet, path_id
from meshmgmt.core.resources import Row
from meshmgmt.core.roles import Operation
from meshmgmt.core.transactions import read_snapshot


class PolicyViewSet(ResourceViewSet):
    """Policies: which groups may talk to which."""

    module = "policies"
    audited = True
    resource = policies
    lookup_url_kwarg = "policyId"
    serializer_class = policy_bodies.PolicySerializer
    request_serializer_class = policy_bodies.PolicyRequestSerializer
    update_serializer_class = policy_bodies.PolicyUpdateSerializer

    def rows(self, ids: Sequence[str] | None = None) -> list[Row]:
        return policy_rows(ids)


class PostureCheckViewSet(ResourceViewSet):
    """Posture checks: what peers must fulfil before a policy lets them in."""

    module = "policies"
    audited = True
    tags = ("posture-checks",)
    resource = posture_checks
    lookup_url_kwarg = "postureCheckId"
    serializer_class = policy_bodies.PostureCheckSerializer
    request_serializer_class = policy_bodies.PostureCheckRequestSerializer
    update_serializer_class = policy_bodies.PostureCheckUpdateSerializer


class RouteViewSet(ResourceViewSet):
    """Routes: networks and domains that peers forward to."""

    module = "routes"
    audited = True
    resource = routes
    lookup_url_kwarg = "routeId"
    serializer_class = network_bodies.RouteSerializer
    request_serializer_class = network_bodies.RouteRequestSerializer
    update_serializer_class = network_bodies.RouteUpdateSerializer

    def rows(self, ids: Sequence[str] | None = None) -> list[Row]:
        return route_rows(ids)


class NetworkViewSet(ResourceViewSet):
    """Networks behind routing peers."""

    module = "networks"
    audited = True
    resource = networks
    lookup_url_kwarg = "networkId"
    serializer_class = network_bodies.NetworkSerializer
    request_serializer_class = network_bodies.NetworkRequestSerializer
    update_serializer_class = network_bodies.NetworkUpdateSerializer

    def rows(self, ids: Sequence[str] | None = None) -> list[Row]:
        return network_rows(ids)


class NetworkResourceViewSet(ResourceViewSet):
    """Resources of a network."""

    module = "networks"
    audited = True
    resource = network_resources
    lookup_url_kwarg = "resourceId"
    whole_url_kwarg = "networkId"
    serializer_class = network_bodies.NetworkResourceSerializer
    request_serializer_class = network_bodies.NetworkResourceRequestSerializer
    update_serializer_class = network_bodies.NetworkResourceUpdateSerializer

    def rows(self, ids: Sequence[str] | None = None) -> list[Row]:
        return resource_rows(self.within, ids)


class NetworkRouterViewSet(ResourceViewSet):
    """Routers of a network."""

    module = "networks"
    audited = True
    resource = routers
    lookup_url_kwarg = "routerId"
    whole_url_kwarg = "networkId"
    serializer_class = network_bodies.NetworkRouterSerializer
    request_serializer_class = network_bodies.NetworkRouterRequestSerializer
    update_serializer_class = network_bodies.NetworkRouterUpdateSerializer

    def rows(self, ids: Sequence[str] | None = None) -> list[Row]:
        return router_rows(self.within, ids)


class AllResourcesView(ApiView):
    """The resources of all networks."""

    module = "networks"
    audited = True
    serializer_class = network_bodies.NetworkResourceSerializer
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
    serializer_class = network_bodies.NetworkRouterSerializer
    answers_list = True

    @extend_schema(operation_id="networks_routers_all")
    def get(self, request: Request) -> Response:
        """Return routers in the order of their creation."""
        with read_snapshot():
            return Response(router_rows())


class SetupKeyViewSet(ResourceViewSet):
    """Setup keys: they enrol peers without a user."""

    module = "setup_keys"
    resource = setup_keys
    lookup_url_kwarg = "keyId"
    serializer_class = enrolment_bodies.SetupKeySerializer
    request_serializer_class = enrolment_bodies.SetupKeyRequestSerializer
    update_serializer_class = enrolment_bodies.SetupKeyUpdateSerializer

    def rows(self, ids: Sequence[str] | None = None) -> list[Row]:
        return setup_key_rows(ids)

    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Create a setup key and show it, this once."""
        made = setup_keys.create(self.checked(request.data))
        return Response({**self.row(made.pk), "key": made.plain})


class InviteViewSet(ResourceViewSet):
    """Invites that wait to be accepted."""

    module = "users"
    resource = invites
    lookup_url_kwarg = "inviteId"
    serializer_class = enrolment_bodies.InviteSerializer
    request_serializer_class = enrolment_bodies.InviteRequestSerializer

    def rows(self, ids: Sequence[str] | None = None) -> list[Row]:
        return invite_rows(ids)

    @extend_schema(responses={200: enrolment_bodies.NewInviteSerializer})
    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Create an invite and show the secret of its link, this once."""
        made = invite_create(by=viewer_of(request), **self.checked(request.data))
        return Response({**self.row(made.pk), "invite_token": made.token})


class InviteView(ApiView):
    """One invite: by its secret for the invited, by its id for others."""

    reads_itself = False
    module = "users"
    public_methods = ("GET",)
    plannable = True
    serializer_class = enrolment_bodies.InviteFactsSerializer

    def get(self, request: Request, inviteId: str) -> Response:  # noqa: N803 - path
        """Return what the link is for; `inviteId` is its secret."""
        check_guess(invites.kind)
        return Response(invite_facts(open_invite(inviteId)))

    @extend_schema(responses={200: OpenApiTypes.OBJECT})
    def delete(self, request: Request, inviteId: str) -> Response:  # noqa: N803 - path
        """Take the invite back."""
        invites.delete(path_id(invites.kind, inviteId))
        return Response({})


class InviteRegenerationView(ApiView):
    """Another link for an invite."""

    module = "users"
    operation = Operation.UPDATE
    serializer_class = enrolment_bodies.NewInviteLinkSerializer
    request_serializer_class = enrolment_bodies.InviteRegenerationSerializer
    parser_classes = [OptionalJSONParser]

    def post(self, request: Request, inviteId: str) -> Response:  # noqa: N803 - path
        """Make the link and show its secret, this once; the old one ends."""
        identifier = path_id(invites.kind, inviteId)
        data = self.validated(enrolment_bodies.InviteRegenerationSerializer)
        made = invite_regenerate(invite_id=identifier, **data)
        return Response(
            {"invite_token": made.token, "invite_expires_at": made.expires_at}
        )


class InviteAcceptanceView(ApiView):
    """The invited person becomes a user."""

    public_methods = ("POST",)
    tags = ("users",)
    serializer_class = enrolment_bodies.SuccessSerializer
    request_serializer_class = enrolment_bodies.InviteAcceptanceSerializer

    def post(self, request: Request, inviteToken: str) -> Response:  # noqa: N803 - path
        """Accept the invite with a password of one's own."""
        check_guess(invites.kind)
        data = self.validated(enrolment_bodies.InviteAcceptanceSerializer)
        invite_accept(token=inviteToken, password=data["password"])
        return Response({"success": True})
