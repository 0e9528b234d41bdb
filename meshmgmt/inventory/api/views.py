"""Endpoints of the inventory."""

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from meshmgmt.accounts.authority import viewer_of
from meshmgmt.api.permissions import READING
from meshmgmt.api.views import ApiView, path_id, replaced
from meshmgmt.core.transactions import read_snapshot
from meshmgmt.inventory.api.serializers import (
    PeerInListSerializer,
    PeerSerializer,
    PeerUpdateSerializer,
)
from meshmgmt.inventory.selectors import peer_row, peer_rows
from meshmgmt.inventory.services.peers import KIND, peer_delete, peer_update


class PeersView(ApiView):
    """The peers that the caller may see."""

    tags = ("peers",)
    serializer_class = PeerInListSerializer
    answers_list = True

    @extend_schema(
        parameters=[
            OpenApiParameter("name", str, description="Part of the name, any case."),
            OpenApiParameter("ip", str, description="Part of an address."),
        ]
    )
    def get(self, request: Request) -> Response:
        """Return peers, in the order of their creation."""
        with read_snapshot():
            rows = peer_rows(
                viewer_of(request),
                name=request.query_params.get("name", ""),
                ip=request.query_params.get("ip", ""),
            )
        for row in rows:
            row["accessible_peers_count"] = 0
        return Response(rows)


class PeerView(ApiView):
    """One peer."""

    module = "peers"
    plannable = True
    open_methods = READING
    serializer_class = PeerSerializer
    request_serializer_class = PeerUpdateSerializer

    def get(self, request: Request, peerId: str) -> Response:  # noqa: N803 - seed
        """Return a peer; one that the caller may not see is not found."""
        with read_snapshot():
            return Response(peer_row(viewer_of(request), path_id(KIND, peerId)))

    def put(self, request: Request, peerId: str) -> Response:  # noqa: N803 - seed
        """Change a peer and return it."""
        identifier = path_id(KIND, peerId)
        data = self.validated(PeerUpdateSerializer)
        peer_update(peer_id=identifier, **data)
        return replaced(peer_row(viewer_of(request), identifier))

    @extend_schema(responses={200: {"type": "object"}})
    def delete(self, request: Request, peerId: str) -> Response:  # noqa: N803 - seed
        """Delete a peer and take it out of everything that names it."""
        peer_delete(peer_id=path_id(KIND, peerId))
        return Response({})
