"""Endpoints of policies."""

from collections.abc import Sequence
from typing import Any

from meshmgmt.access.api.serializers.policies import (
    PolicyRequestSerializer,
    PolicySerializer,
    PolicyUpdateSerializer,
    policy_changes,
    policy_draft,
)
from meshmgmt.access.selectors.policies import policy_rows
from meshmgmt.access.services.policies import (
    KIND,
    policy_create,
    policy_delete,
    policy_update,
)
from meshmgmt.api.views import ResourceViewSet, Row


class PolicyViewSet(ResourceViewSet):
    """Policies: which groups may talk to which."""

    module = "policies"
    audited = True
    kind = KIND
    lookup_url_kwarg = "policyId"
    serializer_class = PolicySerializer
    request_serializer_class = PolicyRequestSerializer
    update_serializer_class = PolicyUpdateSerializer

    def rows(self, ids: Sequence[str] | None = None) -> list[Row]:
        return policy_rows(ids)

    def create_object(self, data: dict[str, Any]) -> str:
        return policy_create(draft=policy_draft(data)).pk

    def update_object(self, identifier: str, data: dict[str, Any]) -> str:
        return policy_update(policy_id=identifier, changes=policy_changes(data)).pk

    def delete_object(self, identifier: str) -> None:
        policy_delete(policy_id=identifier)
