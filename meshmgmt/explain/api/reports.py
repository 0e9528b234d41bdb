"""Endpoints that answer questions: what a peer gets, how it resolves, what looks wrong."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from dns.content import RECORD_TYPES
from meshmgmt.accounts.authority import viewer_of
from meshmgmt.api.permissions import READING
from meshmgmt.api.requests import choice, required_text
from meshmgmt.api.views import ApiView, path_id
from meshmgmt.core import history
from meshmgmt.core.transactions import read_snapshot
from meshmgmt.explain.answers import (
    accessible_peer_rows,
    account_findings,
    name_explanation,
    peer_dns,
)
from meshmgmt.explain.api.serializers import (
    ExplanationSerializer,
    FindingSerializer,
    GraphSerializer,
    PeerDnsSerializer,
    ReachSerializer,
)
from meshmgmt.explain.graphing import FOCUS, access_graph
from meshmgmt.explain.reaching import Question, traffic_of
from meshmgmt.inventory.api import AccessiblePeerSerializer
from meshmgmt.inventory.services.peers import KIND
from meshmgmt.mesh.reach import PROTOCOLS
from observability.debug import capture

_EXPLAIN_PARAMETERS = [
    OpenApiParameter("peer", str, required=True, description="Id of the peer"),
    OpenApiParameter(
        "name", str, required=True, description="Name as typed; short ones are searched"
    ),
    OpenApiParameter("type", str, enum=RECORD_TYPES, description="Default: A"),
]
_REACH_PARAMETERS = [
    OpenApiParameter("source", str, required=True, description="Id of the peer"),
    OpenApiParameter(
        "destination",
        str,
        required=True,
        description="Id of a peer or resource, address or domain",
    ),
    OpenApiParameter("protocol", str, enum=PROTOCOLS, description="Default: all"),
    OpenApiParameter("port", int, description="Of tcp or udp; default: all"),
]
_GRAPH_PARAMETERS = [
    OpenApiParameter(
        "focus",
        str,
        description="Id of a group, peer, resource or policy; default: all",
    )
]


class PeerDnsView(ApiView):
    """The DNS configuration of a peer."""

    module = "dns"
    serializer_class = PeerDnsSerializer

    @extend_schema(operation_id="peers_dns")
    def get(self, request: Request, **kwargs: Any) -> Response:
        """Return what the peer gets, why, and what it does not get and why not."""
        with read_snapshot():
            config = peer_dns(path_id("peer", kwargs["peerId"]))
        answer = PeerDnsSerializer.plain(config)
        # For the bundle of a debug run, which holds what peers' DNS was said to be.
        capture.keep("effective-dns", config.peer_id, lambda: answer)
        return Response(answer)


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


class ExplainView(ApiView):
    """How a peer resolves a name."""

    module = "dns"
    serializer_class = ExplanationSerializer

    @extend_schema(operation_id="dns_explain", parameters=_EXPLAIN_PARAMETERS)
    def get(self, request: Request) -> Response:
        """Return every query tried, each step with its reason, and the outcome."""
        peer_id = path_id("peer", required_text(request, "peer"))
        name = required_text(request, "name")
        record_type = request.query_params.get("type", "") or RECORD_TYPES[0]
        with read_snapshot():
            explanation = name_explanation(peer_id, name, record_type)
        return Response(ExplanationSerializer.plain(explanation))


def reach_question(request: Request) -> Question:
    """Read what is asked from the query. Raises BadRequest, InvalidArgument, NotFound."""
    source = path_id("peer", required_text(request, "source"))
    text = required_text(request, "destination")
    port = request.query_params.get("port")
    traffic = traffic_of(choice(request, "protocol", PROTOCOLS), port)
    return Question(source, text, traffic)


class ReachView(ApiView):
    """Whether a peer reaches something."""

    module = "policies"
    tells_past = True
    serializer_class = ReachSerializer

    @extend_schema(operation_id="access_explain", parameters=_REACH_PARAMETERS)
    def get(self, request: Request) -> Response:
        """Return whether it is let through, by which rules, and what is in the way."""
        question = reach_question(request)
        with read_snapshot():
            past = history.PARAMETER in request.query_params
            return Response(ReachSerializer.plain(question.answered(past=past)))


class AccessGraphView(ApiView):
    """Who may begin what with whom, by which rule."""

    module = "policies"
    tells_past = True
    serializer_class = GraphSerializer

    @extend_schema(operation_id="access_graph", parameters=_GRAPH_PARAMETERS)
    def get(self, request: Request) -> Response:
        """Return all groups, resources and rules, or those about a focus."""
        focus = request.query_params.get("focus", "")
        with read_snapshot():
            drawn = access_graph(path_id(FOCUS, focus) if focus else "")
        return Response(GraphSerializer.plain(drawn))


class LintView(ApiView):
    """Findings about the DNS configuration."""

    module = "dns"
    serializer_class = FindingSerializer
    answers_list = True

    @extend_schema(operation_id="dns_lint")
    def get(self, request: Request) -> Response:
        """Return what is valid but unlikely to be meant, with a remedy for each."""
        with read_snapshot():
            findings = account_findings()
        return Response(list(map(FindingSerializer.plain, findings)))
