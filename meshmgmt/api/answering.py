"""Serializers that make answers from objects of the pure modules, and describe them."""

from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any, TypeAlias

from rest_framework import serializers

from meshmgmt.api.fields import ObjectSerializer

Maker: TypeAlias = Callable[[Any], Any]


class AnswerSerializer(ObjectSerializer):
    """The one declaration of an answer: its schema, and what is shown of an object."""

    @classmethod
    def plain(cls, value: Any) -> Any:
        """Return what fields read of an object (`source`), as deep as they go.

        `data` would do, in many times the time: a peer may get thousands of records.
        """
        return _maker(cls)(value)


@cache
def _maker(kind: type[serializers.Serializer[Any]]) -> Maker:
    """What makes an object of at least two fields plain, made once for a serializer."""
    fields = dict(kind().fields.items())
    # Read at once: one call for all fields of an object.
    read = attrgetter(*(str(field.source) for field in fields.values()))
    deeper = {name: make for name, field in fields.items() if (make := _making(field))}

    def made(value: Any) -> dict[str, Any]:
        found = dict(zip(fields, read(value), strict=True))
        for name, make in deeper.items():
            found[name] = make(found[name])
        return found

    return made


def _making(field: serializers.Field[Any, Any, Any, Any]) -> Maker | None:
    """What makes the value of a field plain; None: it is."""
    if isinstance(field, serializers.ListField):
        each = _making(field.child)
        return each and (lambda values: [each(value) for value in values])
    if isinstance(field, serializers.Serializer):
        kind = type(field)
        make = kind.plain if issubclass(kind, AnswerSerializer) else _maker(kind)
        return lambda value: None if value is None else make(value)
    return None
