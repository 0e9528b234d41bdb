"""Bodies of policies and posture checks."""

from typing import Any

from rest_framework import serializers

from groups.rules import RESOURCE_TYPES
from meshmgmt.access.rules.policies import (
    ACTIONS,
    PROTOCOLS,
    PortRange,
    ResourceRef,
    RuleDraft,
)
from meshmgmt.access.rules.posture import ACTIONS as POSTURE_ACTIONS
from meshmgmt.api.fields import (
    AbsentKept,
    ArrayField,
    MapField,
    ObjectSerializer,
    Shown,
    TextField,
    TruthField,
    WholeNumberField,
    optional_references,
    texts,
)
from meshmgmt.inventory.api import ShortGroupSerializer


class ResourceRefSerializer(ObjectSerializer):
    """A peer or a resource of a network."""

    id = TextField()
    type = TextField(help_text=f"One of {', '.join(RESOURCE_TYPES)}")


class PortRangeSerializer(ObjectSerializer):
    """Ports from start to end, both included."""

    start = WholeNumberField(help_text="1 to 65535")
    end = WholeNumberField(help_text="At least `start`")


class RuleRequestSerializer(ObjectSerializer):
    """A rule as a client sends it."""

    id = TextField(required=False, help_text="Of a stored rule, to keep its identity")
    name = TextField()
    description = TextField(default="")
    enabled = TruthField(default=False, help_text="Off unless it is said to be on")
    action = TextField(help_text=f"One of {', '.join(ACTIONS)}")
    bidirectional = TruthField(default=False)
    protocol = TextField(help_text=f"One of {', '.join(PROTOCOLS)}")
    ports = texts(required=False, help_text="Numbers from 1 to 65535, as text")
    port_ranges = ArrayField(child=PortRangeSerializer(), required=False)
    sources = optional_references(help_text="Groups; none of them: nobody")
    destinations = optional_references(help_text="Groups; none of them: nobody")
    sourceResource = ResourceRefSerializer(  # noqa: N815 - the API's name
        required=False, help_text="Instead of sources"
    )
    destinationResource = ResourceRefSerializer(  # noqa: N815 - the API's name
        required=False, help_text="Instead of destinations"
    )
    authorized_groups = MapField(
        child=texts(),
        required=False,
        help_text="For netbird-ssh: group id to local users; none: any",
    )

    def to_internal_value(self, data: Any) -> RuleDraft:
        """Return the rule in the terms of our rules."""
        given = super().to_internal_value(data)
        for end in ("source", "destination"):
            resource = given.pop(f"{end}Resource", None)
            # Clients written in Go send an empty object where there is none.
            if resource is not None and (resource["id"] or resource["type"]):
                given[f"{end}_resource"] = ResourceRef(**resource)
        if "port_ranges" in given:
            given["port_ranges"] = [
                PortRange(**ports) for ports in given["port_ranges"]
            ]
        return RuleDraft(**given)


class PolicyRequestSerializer(ObjectSerializer):
    """A policy as a client creates it."""

    name = TextField(help_text="1 to 255 characters")
    description = TextField(default="")
    enabled = TruthField(default=False, help_text="Off unless it is said to be on")
    source_posture_checks = texts(required=False, help_text="Ids of posture checks")
    rules = ArrayField(child=RuleRequestSerializer(), help_text="At least one")


class PolicyUpdateSerializer(AbsentKept, PolicyRequestSerializer):
    """What a client changes of a policy; absent fields keep their value."""


class RuleSerializer(Shown, RuleRequestSerializer):
    """A rule of a policy."""

    action = serializers.ChoiceField(choices=ACTIONS)  # type: ignore[assignment]  # a text
    protocol = serializers.ChoiceField(choices=PROTOCOLS)  # type: ignore[assignment]  # a text
    ports = texts(required=False)
    port_ranges = ArrayField(child=PortRangeSerializer(), required=False)
    sources = ArrayField(
        child=ShortGroupSerializer(),
        allow_null=True,
        help_text="Null beside `sourceResource`",
    )
    destinations = ArrayField(
        child=ShortGroupSerializer(),
        allow_null=True,
        help_text="Null beside `destinationResource`",
    )
    sourceResource = ResourceRefSerializer(required=False)  # noqa: N815
    destinationResource = ResourceRefSerializer(required=False)  # noqa: N815
    authorized_groups = MapField(child=texts(), required=False)


class PolicySerializer(Shown, PolicyRequestSerializer):
    """A policy with its rules."""

    rules = ArrayField(child=RuleSerializer())


class MinVersionSerializer(ObjectSerializer):
    """The lowest version that is let in."""

    min_version = TextField()


class MinKernelVersionSerializer(ObjectSerializer):
    """The lowest version of the kernel that is let in."""

    min_kernel_version = TextField()


class SystemVersionsSerializer(ObjectSerializer):
    """Versions by system: of these five, those not named are kept out, no others."""

    android = MinVersionSerializer(required=False)
    ios = MinVersionSerializer(required=False)
    darwin = MinVersionSerializer(required=False)
    linux = MinKernelVersionSerializer(required=False)
    windows = MinKernelVersionSerializer(required=False)


class LocationSerializer(ObjectSerializer):
    """A country, or a city in it."""

    country_code = TextField(help_text="ISO 3166-1, two letters")
    city_name = TextField(required=False)


class LocationCheckSerializer(ObjectSerializer):
    """Where peers connect from."""

    locations = ArrayField(child=LocationSerializer())
    action = TextField(help_text=f"One of {', '.join(POSTURE_ACTIONS)}")


class NetworkRangeCheckSerializer(ObjectSerializer):
    """Which networks peers are in."""

    ranges = texts(help_text="CIDR networks")
    action = TextField(help_text=f"One of {', '.join(POSTURE_ACTIONS)}")


class ProcessSerializer(ObjectSerializer):
    """Where a program is, by operating system."""

    linux_path = TextField(required=False)
    mac_path = TextField(required=False)
    windows_path = TextField(required=False)


class ProcessCheckSerializer(ObjectSerializer):
    """Which programs have to run."""

    processes = ArrayField(child=ProcessSerializer())


class ChecksSerializer(ObjectSerializer):
    """What a peer must fulfil; at least one."""

    nb_version_check = MinVersionSerializer(required=False)
    os_version_check = SystemVersionsSerializer(required=False)
    geo_location_check = LocationCheckSerializer(required=False)
    peer_network_range_check = NetworkRangeCheckSerializer(required=False)
    process_check = ProcessCheckSerializer(required=False)


class PostureCheckRequestSerializer(ObjectSerializer):
    """A posture check as a client creates it."""

    name = TextField(help_text="1 to 255 characters, unique")
    description = TextField(required=False)
    checks = ChecksSerializer()


class PostureCheckUpdateSerializer(AbsentKept, PostureCheckRequestSerializer):
    """What a client changes; absent fields keep their value."""


class PostureCheckSerializer(Shown, PostureCheckRequestSerializer):
    """A posture check."""
