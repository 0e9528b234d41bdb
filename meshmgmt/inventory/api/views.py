"""Endpoints of the inventory."""

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from meshmgmt.accounts.api.views import viewer_of
from meshmgmt.api.views import ApiView, path_id
from meshmgmt.core.errors import NotFound
from meshmgmt.core.transactions import read_snapshot
from meshmgmt.inventory.api.serializers import PeerInListSerializer, PeerSerializer
from meshmgmt.inventory.selectors import peer_rows
from meshmgmt.inventory.services import KIND


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

    tags = ("peers",)
    serializer_class = PeerSerializer

    def get(self, request: Request, peerId: str) -> Response:  # noqa: N803 - seed
        """Return a peer; one that the caller may not see is not found."""
        identifier = path_id(KIND, peerId)
        with read_snapshot():
            rows = peer_rows(viewer_of(request), [identifier])
        if not rows:
            raise NotFound.of(KIND, identifier)
        return Response(rows[0])
