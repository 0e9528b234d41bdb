"""Bodies of the groups' endpoints: JSON types only, rules are elsewhere."""

from typing import Any

from rest_framework import serializers

from groups.models import Issued
from groups.rules import RESOURCE_TYPES, ResourceKey
from meshmgmt.api.fields import ArrayField, ObjectSerializer, TextField, references


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
