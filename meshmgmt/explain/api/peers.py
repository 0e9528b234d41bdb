"""What a peer can reach."""

from rest_framework.request import Request
from rest_framework.response import Response

from meshmgmt.accounts.api.views import viewer_of
from meshmgmt.api.permissions import READING
from meshmgmt.api.views import ApiView, path_id
from meshmgmt.core.transactions import read_snapshot
from meshmgmt.explain.answers import accessible_peer_rows
from meshmgmt.inventory.api.serializers import AccessiblePeerSerializer
from meshmgmt.inventory.services.peers import KIND


class AccessiblePeersView(ApiView):
    """The peers that one peer can reach."""

    module = "peers"
    open_methods = READING
    serializer_class = AccessiblePeerSerializer
    answers_list = True

    def get(self, request: Request, peerId: str) -> Response:  # noqa: N803 - seed
        """Return peers that the caller may see, in the order of their creation."""
        identifier = path_id(KIND, peerId)
        with read_snapshot():
            return Response(accessible_peer_rows(viewer_of(request), identifier))
