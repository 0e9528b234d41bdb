"""Shapes of the two big streams: the schema of what the fast path joins from texts.

Pages are not made by these (docs/decisions, 9).
"""

from typing import Any

from rest_framework import serializers

from events.api.shapes import Shape
from events.streams.proxy import OPTIONAL, Entry
from events.streams.traffic import Traffic

Data = dict[str, Any]


class TrafficEventSerializer(Shape):
    """One network traffic event."""

    kind = Traffic


class SentTrafficEventSerializer(Shape):
    """A network traffic event as reporters send it.

    Without an `id` it needs a time: `window_end`, or `events`.
    """

    kind = Traffic
    sent = True


class ProxyEntrySerializer(Shape):
    """One proxy access log entry; fields that are unknown are left out."""

    kind = Entry
    optional = OPTIONAL

    metadata = serializers.DictField(child=serializers.CharField(), required=False)


class SentProxyEntrySerializer(ProxyEntrySerializer):
    """An access log entry as proxies send it.

    It has at least one of `service_id`, `host`, `path` and `source_ip`; without an `id` it
    needs a `timestamp`.
    """

    sent = True


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
