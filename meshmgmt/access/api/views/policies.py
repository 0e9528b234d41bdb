"""Endpoints of policies."""

from collections.abc import Sequence
from typing import Any

from meshmgmt.access.api.serializers.policies import (
    PolicyRequestSerializer,
    PolicySerializer,
    PolicyUpdateSerializer,
    policy_changes,
)
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
    serializer_class = PolicySerializer
    request_serializer_class = PolicyRequestSerializer
    update_serializer_class = PolicyUpdateSerializer

    def rows(self, ids: Sequence[str] | None = None) -> list[Row]:
        return policy_rows(ids)

    def create_object(self, data: dict[str, Any]) -> str:
        return super().create_object(policy_changes(data))

    def update_object(self, identifier: str, data: dict[str, Any]) -> str:
        return super().update_object(identifier, policy_changes(data))
