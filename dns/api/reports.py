"""Endpoints that answer questions: what a peer gets, how it resolves, what looks wrong."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from dns.api import report_schema
from dns.effective.result import to_json as config_json
from dns.lint.finding import to_json as finding_json
from dns.resolution.model import RECORD_TYPES
from dns.resolution.model import to_json as explanation_json
from dns.selectors.effective import account_findings, name_explanation, peer_dns
from meshmgmt.api.querystring import required_text
from meshmgmt.api.views import ApiView, path_id
from meshmgmt.core.transactions import read_snapshot
from observability.debug import capture

_EXPLAIN_PARAMETERS = [
    OpenApiParameter("peer", str, required=True, description="Id of the peer"),
    OpenApiParameter(
        "name", str, required=True, description="Name as typed; short ones are searched"
    ),
    OpenApiParameter("type", str, enum=RECORD_TYPES, description="Default: A"),
]


class PeerDnsView(ApiView):
    """The DNS configuration of a peer."""

    module = "dns"
    serializer_class = report_schema.PeerDnsSerializer

    @extend_schema(operation_id="peers_dns")
    def get(self, request: Request, **kwargs: Any) -> Response:
        """Return what the peer gets, why, and what it does not get and why not."""
        with read_snapshot():
            config = peer_dns(path_id("peer", kwargs["peerId"]))
        answer = config_json(config)
        capture.keep("effective-dns", config.peer_id, lambda: answer)
        return Response(answer)


class ExplainView(ApiView):
    """How a peer resolves a name."""

    module = "dns"
    serializer_class = report_schema.ExplanationSerializer

    @extend_schema(operation_id="dns_explain", parameters=_EXPLAIN_PARAMETERS)
    def get(self, request: Request) -> Response:
        """Return every query tried, each step with its reason, and the outcome."""
        peer_id = path_id("peer", required_text(request, "peer"))
        name = required_text(request, "name")
        record_type = request.query_params.get("type", "") or RECORD_TYPES[0]
        with read_snapshot():
            explanation = name_explanation(peer_id, name, record_type)
        return Response(explanation_json(explanation))


class LintView(ApiView):
    """Findings about the DNS configuration."""

    module = "dns"
    serializer_class = report_schema.FindingSerializer
    answers_list = True

    @extend_schema(operation_id="dns_lint")
    def get(self, request: Request) -> Response:
        """Return what is valid but unlikely to be meant, with a remedy for each."""
        with read_snapshot():
            findings = account_findings()
        return Response([finding_json(finding) for finding in findings])
