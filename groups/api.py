"""HTTP API of groups: bodies of JSON types only, for rules are elsewhere, and endpoints."""

from collections.abc import Sequence
from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from groups.models import Issued
from groups.rules import RESOURCE_TYPES, ResourceKey
from groups.selectors import KIND, group_rows, group_usage
from groups.services import group_create, group_delete, group_update
from meshmgmt.api.fields import ArrayField, ObjectSerializer, TextField, references
from meshmgmt.api.views import ApiView, ResourceViewSet, path_id
from meshmgmt.core.resources import Row
from meshmgmt.core.transactions import read_snapshot


class ShortPeerSerializer(ObjectSerializer):
    """A peer inside a group."""

    id = serializers.CharField()
    name = serializers.CharField()


class ResourceSerializer(ObjectSerializer):
    """A resource inside a group."""

    id = TextField()
    type = TextField(help_text=f"One of {', '.join(RESOURCE_TYPES)}.")

    def to_internal_value(self, data: Any) -> ResourceKey:
        entry = super().to_internal_value(data)
        return entry["id"], entry["type"]


class GroupSerializer(ObjectSerializer):
    """A group as it is returned."""

    id = serializers.CharField()
    name = serializers.CharField()
    peers_count = serializers.IntegerField()
    resources_count = serializers.IntegerField()
    issued = serializers.ChoiceField(Issued.choices)
    peers = ShortPeerSerializer(many=True)
    resources = ResourceSerializer(many=True)


class GroupRequestSerializer(ObjectSerializer):
    """A group as it is sent: the lists replace what the group holds."""

    name = TextField(help_text="1 to 255 characters, unique among groups of the API.")
    peers = references(default=list, help_text="Ids of peers; absent: none.")
    resources = ArrayField(
        child=ResourceSerializer(),
        default=list,
        help_text="Resources of networks, or peers; absent: none.",
    )


class UsageEntrySerializer(ObjectSerializer):
    """One place where an object refers to the group."""

    kind = serializers.CharField(
        help_text="What refers: policy_rule, route, network_router, user, invite,"
        " setup_key, nameserver_group, zone, dns_settings, account_setting."
    )
    id = serializers.CharField()
    name = serializers.CharField()
    field = serializers.CharField(
        help_text="The list of the object that has the group."
    )
    disabled_by_deletion = serializers.BooleanField(
        help_text="Deleting the group leaves this list empty and disables the object."
    )


class UsageSerializer(ObjectSerializer):
    """All that refers to a group."""

    id = serializers.CharField()
    name = serializers.CharField()
    deletable = serializers.BooleanField()
    peers_count = serializers.IntegerField()
    resources_count = serializers.IntegerField()
    unknown_resources = ResourceSerializer(
        many=True, help_text="Members whose id names no resource and no peer."
    )
    references = UsageEntrySerializer(many=True)


@extend_schema_view(
    list=extend_schema(
        parameters=[
            OpenApiParameter(
                "name", str, description="Only the groups with exactly this name."
            )
        ]
    )
)
class GroupViewSet(ResourceViewSet):
    """Groups of peers and resources."""

    module = "groups"
    audited = True
    kind = KIND
    lookup_url_kwarg = "groupId"
    serializer_class = GroupSerializer
    request_serializer_class = GroupRequestSerializer

    def rows(self, ids: Sequence[str] | None = None) -> list[Row]:
        """Return groups; the whole list may be narrowed by `?name=`."""
        if ids is not None:
            return [row for pk in ids for row in group_rows(pk)]
        return group_rows(name=self.request.query_params.get("name", ""))

    def create_object(self, data: dict[str, Any]) -> str:
        return str(group_create(**data).pk)

    def update_object(self, identifier: str, data: dict[str, Any]) -> str:
        return str(group_update(group_id=identifier, **data).pk)

    def delete_object(self, identifier: str) -> None:
        """Delete a group and every reference to it."""
        group_delete(group_id=identifier)


class GroupUsageView(ApiView):
    """What refers to one group, and what deleting it would disable."""

    module = "groups"
    audited = True
    serializer_class = UsageSerializer

    def get(self, request: Request, groupId: str) -> Response:  # noqa: N803 - seed
        """Return the usage of a group."""
        with read_snapshot():
            return Response(group_usage(path_id(KIND, groupId)))
