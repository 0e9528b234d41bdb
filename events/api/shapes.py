"""Serializers made of a type: the schema of what is checked and rendered without one."""

from collections.abc import Collection
from functools import cache
from typing import Any, ClassVar

from msgspec import inspect
from rest_framework import serializers

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
