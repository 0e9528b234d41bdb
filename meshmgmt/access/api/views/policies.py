"""Endpoints of policies."""

from collections.abc import Sequence

from meshmgmt.access.api.serializers import policies as bodies
from meshmgmt.access.selectors.policies import policy_rows
from meshmgmt.access.services.policies import policies
from meshmgmt.api.views import ResourceViewSet
from meshmgmt.core.resources import Row


class PolicyViewSet(ResourceViewSet):
    """Policies: which groups may talk to which."""

    module = "policies"
    audited = True
    resource = policies
    lookup_url_kwarg = "policyId"
    serializer_class = bodies.PolicySerializer
    request_serializer_class = bodies.PolicyRequestSerializer
    update_serializer_class = bodies.PolicyUpdateSerializer

    def rows(self, ids: Sequence[str] | None = None) -> list[Row]:
        return policy_rows(ids)
