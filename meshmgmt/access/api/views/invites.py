"""Endpoints of invites: made by those who manage users, used without credentials."""

from collections.abc import Sequence
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from meshmgmt.access.api.serializers import invites as bodies
from meshmgmt.access.selectors.invites import invite_facts, invite_rows, open_invite
from meshmgmt.access.services.invites import (
    invite_accept,
    invite_create,
    invite_regenerate,
    invites,
)
from meshmgmt.accounts.authority import viewer_of
from meshmgmt.api.limits import check_guess
from meshmgmt.api.requests import OptionalJSONParser
from meshmgmt.api.views import ApiView, ResourceViewSet, path_id
from meshmgmt.core.resources import Row
from meshmgmt.core.roles import Operation


class InviteViewSet(ResourceViewSet):
    """Invites that wait to be accepted."""

    module = "users"
    resource = invites
    lookup_url_kwarg = "inviteId"
    serializer_class = bodies.InviteSerializer
    request_serializer_class = bodies.InviteRequestSerializer

    def rows(self, ids: Sequence[str] | None = None) -> list[Row]:
        return invite_rows(ids)

    @extend_schema(responses={200: bodies.NewInviteSerializer})
    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Create an invite and show the secret of its link, this once."""
        made = invite_create(by=viewer_of(request), **self.checked(request.data))
        return Response({**self.row(made.pk), "invite_token": made.token})


class InviteView(ApiView):
    """One invite: by its secret for the invited, by its id for others."""

    module = "users"
    public_methods = ("GET",)
    plannable = True
    serializer_class = bodies.InviteFactsSerializer

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
    serializer_class = bodies.NewInviteLinkSerializer
    request_serializer_class = bodies.InviteRegenerationSerializer
    parser_classes = [OptionalJSONParser]

    def post(self, request: Request, inviteId: str) -> Response:  # noqa: N803 - path
        """Make the link and show its secret, this once; the old one ends."""
        identifier = path_id(invites.kind, inviteId)
        data = self.validated(bodies.InviteRegenerationSerializer)
        made = invite_regenerate(invite_id=identifier, **data)
        return Response(
            {"invite_token": made.token, "invite_expires_at": made.expires_at}
        )


class InviteAcceptanceView(ApiView):
    """The invited person becomes a user."""

    public_methods = ("POST",)
    tags = ("users",)
    serializer_class = bodies.SuccessSerializer
    request_serializer_class = bodies.InviteAcceptanceSerializer

    def post(self, request: Request, inviteToken: str) -> Response:  # noqa: N803 - path
        """Accept the invite with a password of one's own."""
        check_guess(invites.kind)
        data = self.validated(bodies.InviteAcceptanceSerializer)
        invite_accept(token=inviteToken, password=data["password"])
        return Response({"success": True})
