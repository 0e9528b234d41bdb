"""Shapes of the two big streams: the schema of what the fast path joins from texts.

Pages are not made by these (docs/decisions, 9); a test holds both equal.
"""

from typing import Any, ClassVar

from rest_framework import serializers

from events.vocabulary import CONNECTIONS, DIRECTIONS, ENDPOINT_TYPES, TYPES

Data = dict[str, Any]


class GeoLocationSerializer(serializers.Serializer[Data]):
    """Where an address is; empty where unknown."""

    city_name = serializers.CharField()
    country_code = serializers.CharField()


class EndpointSerializer(serializers.Serializer[Data]):
    """One end of a flow."""

    id = serializers.CharField()
    type = serializers.ChoiceField(choices=ENDPOINT_TYPES)
    name = serializers.CharField()
    geo_location = GeoLocationSerializer()
    os = serializers.CharField(allow_null=True)
    address = serializers.CharField(help_text="May end in a port")
    dns_label = serializers.CharField(allow_null=True)


class TrafficUserSerializer(serializers.Serializer[Data]):
    """The user of a flow; empty where unknown."""

    id = serializers.CharField()
    email = serializers.CharField()
    name = serializers.CharField()


class TrafficPolicySerializer(serializers.Serializer[Data]):
    """The policy that let a flow pass or dropped it."""

    id = serializers.CharField()
    name = serializers.CharField()


class IcmpSerializer(serializers.Serializer[Data]):
    """ICMP type and code; zeros for other protocols."""

    type = serializers.IntegerField()
    code = serializers.IntegerField()


class FlowEventSerializer(serializers.Serializer[Data]):
    """Start, end or drop inside a flow."""

    type = serializers.ChoiceField(choices=TYPES)
    timestamp = serializers.CharField(help_text="RFC 3339")


class TrafficEventSerializer(serializers.Serializer[Data]):
    """One network traffic event."""

    id = serializers.CharField()
    flow_id = serializers.CharField()
    reporter_id = serializers.CharField()
    receive_timestamp = serializers.CharField(help_text="RFC 3339")
    source = EndpointSerializer()  # type: ignore[assignment]  # the wire's name
    destination = EndpointSerializer()
    user = TrafficUserSerializer()
    policy = TrafficPolicySerializer()
    icmp = IcmpSerializer()
    protocol = serializers.IntegerField()
    direction = serializers.ChoiceField(choices=DIRECTIONS)
    connection_type = serializers.ChoiceField(choices=CONNECTIONS)
    rx_bytes = serializers.IntegerField()
    rx_packets = serializers.IntegerField()
    tx_bytes = serializers.IntegerField()
    tx_packets = serializers.IntegerField()
    num_of_starts = serializers.IntegerField()
    num_of_ends = serializers.IntegerField()
    num_of_drops = serializers.IntegerField()
    window_start = serializers.CharField(help_text="RFC 3339")
    window_end = serializers.CharField(help_text="RFC 3339")
    events = FlowEventSerializer(many=True)


class ProxyEntrySerializer(serializers.Serializer[Data]):
    """One proxy access log entry; fields that are unknown are left out."""

    id = serializers.CharField()
    service_id = serializers.CharField()
    timestamp = serializers.CharField(help_text="RFC 3339")
    method = serializers.CharField()
    host = serializers.CharField()
    path = serializers.CharField()
    duration_ms = serializers.IntegerField()
    status_code = serializers.IntegerField(help_text="0 for TCP and UDP")
    bytes_upload = serializers.IntegerField()
    bytes_download = serializers.IntegerField()
    source_ip = serializers.CharField(required=False)
    reason = serializers.CharField(required=False)
    user_id = serializers.CharField(required=False)
    auth_method_used = serializers.CharField(required=False)
    country_code = serializers.CharField(required=False)
    city_name = serializers.CharField(required=False)
    subdivision_code = serializers.CharField(required=False)
    protocol = serializers.CharField(required=False)
    metadata = serializers.DictField(child=serializers.CharField(), required=False)


class _Sent(serializers.Serializer[Data]):
    """A shape as reporters send it: everything but `needed` may be left out."""

    needed: ClassVar[frozenset[str]] = frozenset()

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        fields = super().get_fields()
        for name, field in fields.items():
            field.required = name in self.needed
            # As decoding has it: an empty text is one that was left out.
            if isinstance(field, serializers.CharField):
                field.allow_blank = not field.required
        return fields


class SentGeoLocationSerializer(_Sent, GeoLocationSerializer):
    """Where an address is."""


class SentEndpointSerializer(_Sent, EndpointSerializer):
    """One end of a flow; it has an id or an address."""

    geo_location = SentGeoLocationSerializer()


class SentTrafficUserSerializer(_Sent, TrafficUserSerializer):
    """The user of a flow."""


class SentTrafficPolicySerializer(_Sent, TrafficPolicySerializer):
    """The policy that let a flow pass or dropped it."""


class SentIcmpSerializer(_Sent, IcmpSerializer):
    """ICMP type and code."""


class SentFlowEventSerializer(_Sent, FlowEventSerializer):
    """Start, end or drop inside a flow."""

    needed = frozenset({"timestamp"})


class SentTrafficEventSerializer(_Sent, TrafficEventSerializer):
    """A network traffic event as reporters send it.

    Without an `id` it needs a time: `window_end`, or `events`.
    """

    needed = frozenset({"reporter_id", "source", "destination"})

    source = SentEndpointSerializer()
    destination = SentEndpointSerializer()
    user = SentTrafficUserSerializer()
    policy = SentTrafficPolicySerializer()
    icmp = SentIcmpSerializer()
    events = SentFlowEventSerializer(many=True)


class SentProxyEntrySerializer(_Sent, ProxyEntrySerializer):
    """An access log entry as proxies send it.

    It has at least one of `service_id`, `host`, `path` and `source_ip`; without an `id` it
    needs a `timestamp`.
    """


class EnvelopeSerializer(serializers.Serializer[Data]):
    """What surrounds the events of a page."""

    page = serializers.IntegerField()
    page_size = serializers.IntegerField()
    total_records = serializers.IntegerField()
    total_pages = serializers.IntegerField()


class TrafficPageSerializer(EnvelopeSerializer):
    """A page of network traffic events."""

    data = TrafficEventSerializer(many=True)  # type: ignore[assignment]  # the wire's name


class ProxyPageSerializer(EnvelopeSerializer):
    """A page of proxy access log entries."""

    data = ProxyEntrySerializer(many=True)  # type: ignore[assignment]  # the wire's name


class StoredSerializer(serializers.Serializer[Data]):
    """What became of a batch."""

    accepted = serializers.IntegerField(help_text="Events stored")
    duplicates = serializers.IntegerField(help_text="Events that were stored already")
    ignored = serializers.IntegerField(
        required=False,
        help_text="Events that the account's settings do not keep; absent when none",
    )


class SummaryPointSerializer(serializers.Serializer[Data]):
    """One bucket of a time series."""

    time = serializers.CharField(help_text="RFC 3339, start of the bucket")
    value = serializers.IntegerField()


class SummaryRowSerializer(serializers.Serializer[Data]):
    """One group: its key by field, its name if known, its value and time series."""

    key = serializers.DictField(child=serializers.CharField())
    name = serializers.CharField()
    value = serializers.IntegerField()
    events = serializers.IntegerField(help_text="Events of the group")
    first = serializers.CharField(help_text="RFC 3339, oldest event of the group")
    last = serializers.CharField(help_text="RFC 3339, newest event of the group")
    series = SummaryPointSerializer(many=True)


class SummarySerializer(serializers.Serializer[Data]):
    """The biggest groups of a stream in a span of time."""

    group_by = serializers.ListField(child=serializers.CharField())
    metric = serializers.CharField()
    bucket_seconds = serializers.IntegerField()
    start_date = serializers.CharField()
    end_date = serializers.CharField()
    total = serializers.IntegerField(help_text="Value over all groups")
    groups = SummaryRowSerializer(many=True)
