"""Serializers made of a type: the schema of what is checked and rendered without one.

Pages of the two big streams, which the fast path joins from texts, are not made by these
(docs/decisions, 9).
"""

from collections.abc import Collection
from functools import cache
from typing import Any, ClassVar

from msgspec import inspect
from rest_framework import serializers

from events.streams.proxy import OPTIONAL, Entry
from events.streams.traffic import Traffic

Data = dict[str, Any]
Field = serializers.Field[Any, Any, Any, Any]


class Shape(serializers.Serializer[Any]):
    """Has the fields of `kind`, or only the `names`, beside those declared by hand.

    Answers have all but the `optional`; what is `sent` has those without a default.
    """

    kind: ClassVar[type[Any]]
    names: ClassVar[Collection[str]] = ()
    optional: ClassVar[Collection[str]] = ()
    sent: ClassVar[bool] = False

    def get_fields(self) -> dict[str, Field]:
        """Return a field for each of the type, in its order."""
        told: Any = inspect.type_info(self.kind)
        found = {field.name: field for field in told.fields}
        made = {
            name: _field(found[name].type, self.sent, required=self._needs(found[name]))
            for name in self.names or self.kind.__annotations__
        }
        return {**made, **super().get_fields()}

    def _needs(self, field: inspect.Field) -> bool:
        return field.required if self.sent else field.name not in self.optional


def _field(kind: inspect.Type, sent: bool, **options: Any) -> Field:
    match kind:
        case inspect.Metadata(type=inner, extra_json_schema=schema):
            return _described(inner, schema or {}, sent, **options)
        case inspect.UnionType(types=types):
            [inner] = [each for each in types if not isinstance(each, inspect.NoneType)]
            return _field(inner, sent, allow_null=True, **options)
        case inspect.StructType(cls=cls):
            return _inner(cls, sent)(**options)
        case inspect.ListType(item_type=inspect.StructType(cls=cls)):
            return _inner(cls, sent)(many=True, **options)
        case inspect.DictType(value_type=value):
            return serializers.DictField(child=_field(value, sent), **options)
    return _plain(kind, sent, **options)


def _described(
    kind: inspect.Type, schema: dict[str, Any], sent: bool, **options: Any
) -> Field:
    """Return a field with what its annotation says beside the type."""
    if "description" in schema:
        options["help_text"] = schema["description"]
    if "enum" in schema:
        return serializers.ChoiceField(choices=schema["enum"], **options)
    if schema.get("format") == "date-time":
        return serializers.DateTimeField(**options)
    return _field(kind, sent, **options)


def _plain(kind: inspect.Type, sent: bool, **options: Any) -> Field:
    if isinstance(kind, inspect.StrType):
        # What is sent empty counts as left out.
        blank = sent and not options.get("required")
        return serializers.CharField(allow_blank=blank, **options)
    if isinstance(kind, inspect.IntType):
        return serializers.IntegerField(**options)
    return serializers.JSONField(**options)


@cache
def _inner(kind: type[Any], sent: bool) -> type[Shape]:
    """Return the shape of an object inside another."""
    name = f"{'Sent' * sent}{kind.__name__}Serializer"
    return type(name, (Shape,), {"__doc__": kind.__doc__, "kind": kind, "sent": sent})


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
