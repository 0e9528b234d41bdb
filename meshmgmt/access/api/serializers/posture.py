"""Bodies of posture checks."""

from meshmgmt.access.rules.posture import ACTIONS
from meshmgmt.api.fields import (
    AbsentKept,
    ArrayField,
    ObjectSerializer,
    Shown,
    TextField,
    texts,
)


class MinVersionSerializer(ObjectSerializer):
    """The lowest version that is let in."""

    min_version = TextField()


class MinKernelVersionSerializer(ObjectSerializer):
    """The lowest version of the kernel that is let in."""

    min_kernel_version = TextField()


class SystemVersionsSerializer(ObjectSerializer):
    """Versions by operating system; those not named are let in."""

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
    action = TextField(help_text=f"One of {', '.join(ACTIONS)}")


class NetworkRangeCheckSerializer(ObjectSerializer):
    """Which networks peers are in."""

    ranges = texts(help_text="CIDR networks")
    action = TextField(help_text=f"One of {', '.join(ACTIONS)}")


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
