"""Serializer fields that check JSON types strictly.

A value of the wrong JSON type is refused with the code `type` (answered 400); a missing
required field with `required` (422). `null` counts as empty for lists and texts and as
absent for anything else, unless the field may be null: clients written in Go send it.
"""

from collections.abc import Iterable, Mapping
from copy import copy
from typing import Any, ClassVar, Final

from django.conf import settings
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.fields import empty

from meshmgmt.core.errors import MOST_FAULTS

TYPE_CODE: Final = "type"
REQUIRED: Final = "this field is required"
INT64: Final = 2**63


class StrictMixin(serializers.Field[Any, Any, Any, Any]):
    """What strict fields share: nulls, omitted fields, type errors."""

    python_type: type[Any] = object
    zero: Any = None
    json_type = "value"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.error_messages["required"] = REQUIRED
        self.error_messages[TYPE_CODE] = f"must be a JSON {self.json_type}"

    def validate_empty_values(self, data: Any) -> tuple[bool, Any]:
        """Apply the rules on `null` and on omitted fields."""
        if data is None:
            if isinstance(self.zero, str | list | dict):
                # A copy: the list or dict itself would be shared by all requests.
                return True, copy(self.zero)
            if self.allow_null:  # it is a value, which a PUT sets
                return True, None
            data = empty
        if data is empty and self.required and settings.SVC.omitted_fields == "empty":
            return True, copy(self.zero)
        return super().validate_empty_values(data)

    def to_internal_value(self, data: Any) -> Any:
        """Return the value. Fails with `type` for anything else."""
        if not isinstance(data, self.python_type):
            self.fail(TYPE_CODE)
        return super().to_internal_value(data)


class TextField(StrictMixin, serializers.CharField):
    """A JSON string, kept exactly as sent; rules look at its content."""

    python_type = str
    json_type = "string"
    zero = ""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("allow_blank", True)
        kwargs.setdefault("trim_whitespace", False)
        super().__init__(**kwargs)


class WholeNumberField(StrictMixin, serializers.IntegerField):
    """A JSON integer of at most 64 bits; no strings, floats or booleans."""

    python_type = int
    json_type = "integer"
    zero = 0

    def to_internal_value(self, data: Any) -> Any:
        """Return the integer. Fails with `type` for anything else."""
        fits = not isinstance(data, int) or -INT64 <= data < INT64
        # To Python true is an int, too.
        if isinstance(data, bool) or not fits:
            self.fail(TYPE_CODE)
        return super().to_internal_value(data)


class TruthField(StrictMixin, serializers.BooleanField):
    """A JSON boolean; no numbers or strings."""

    python_type = bool
    json_type = "boolean"
    zero = False


class ArrayField(StrictMixin, serializers.ListField):
    """A JSON array; `null` is the empty one."""

    python_type = list
    json_type = "array"
    zero: Any = []

    def run_child_validation(self, data: list[Any]) -> list[Any]:
        """Return the entries. Raises ValidationError."""
        return [entry for _, entry in _checked(self.child, enumerate(data))]


class MapField(StrictMixin, serializers.DictField):
    """A JSON object with any keys; `null` is the empty one."""

    python_type = dict
    json_type = "object"
    zero = {}

    def run_child_validation(self, data: Mapping[str, Any]) -> dict[Any, Any]:
        """Return the entries. Raises ValidationError."""
        return dict(_checked(self.child, data.items()))


def _checked(
    child: serializers.Field[Any, Any, Any, Any], entries: Iterable[tuple[Any, Any]]
) -> list[tuple[Any, Any]]:
    """Return entries with their checked values; of wrong ones the first are told.

    Raises ValidationError.
    """
    found: list[tuple[Any, Any]] = []
    faults: Any = {}
    for key, entry in entries:
        try:
            found.append((key, child.run_validation(entry)))
        except serializers.ValidationError as error:
            faults[key] = error.detail
            if len(faults) == MOST_FAULTS:
                break
    if faults:
        raise serializers.ValidationError(faults)
    return found


class OptionalArrayField(ArrayField):
    """A JSON array that may be missing; `null` is missing, `[]` is not."""

    zero = None

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, **kwargs)


def texts(**kwargs: Any) -> ArrayField:
    """Return a field for an array of strings."""
    return ArrayField(child=TextField(), **kwargs)


_REFERENCE_SCHEMA: Final = {
    "oneOf": [
        {"type": "string"},
        {
            "type": "object",
            "required": ["id"],
            "properties": {"id": {"type": "string"}},
        },
    ]
}


@extend_schema_field(_REFERENCE_SCHEMA)
class ReferenceField(StrictMixin, serializers.Field[Any, Any, Any, Any]):
    """The id of another object, as a string or as an object with `id`.

    Clients send back what they read, and answers show the objects themselves. `null` is
    the empty id, which no object has.
    """

    json_type = "string, or object with an id"
    zero = ""

    def to_internal_value(self, data: Any) -> str:
        """Return the id. Fails with `type` for anything else."""
        identifier = data.get("id") if isinstance(data, dict) else data
        if not isinstance(identifier, str):
            self.fail(TYPE_CODE)
        return str(identifier)


def references(**kwargs: Any) -> ArrayField:
    """Return a field for an array of ids (or of objects with an id)."""
    return ArrayField(child=ReferenceField(), **kwargs)


def optional_references(**kwargs: Any) -> ArrayField:
    """Return a field for ids that tells a missing array from an empty one."""
    return OptionalArrayField(child=ReferenceField(), **kwargs)


def checked(serializer_class: type[serializers.BaseSerializer[Any]], body: Any) -> Any:
    """Return the data of a checked body. Raises ValidationError (400 or 422)."""
    serializer = serializer_class(data=body)
    serializer.is_valid(raise_exception=True)
    return serializer.validated_data


class AbsentKept(serializers.Serializer[Any]):
    """Makes every field optional: what a PUT leaves out keeps its value.

    But an `enabled` that is off by default is off for clients that leave out what is
    false: otherwise they could not switch anything off.
    """

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Return the fields, none of them required or with a default."""
        fields = super().get_fields()
        omits_false = settings.SVC.omitted_fields == "empty"
        for name, field in fields.items():
            field.required = False
            if not (omits_false and name == "enabled" and field.default is False):
                field.default = empty
        return fields


class AlwaysThere(serializers.Serializer[Any]):
    """Makes every field required: an answer has what a request may leave out."""

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Return the fields, all of them required and none with a default."""
        fields = super().get_fields()
        for field in fields.values():
            field.required, field.default = True, empty
        return fields


class Shown(AlwaysThere):
    """An answer that has the fields of its request, after the `id`.

    They come without what is said to writers. Fields that the answer declares itself stay
    as they are: lists of ids come back as strings, some with the objects themselves.
    """

    _taken_over: ClassVar[set[str]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        theirs = [vars(base).get("_declared_fields", {}) for base in cls.__bases__]
        cls._taken_over = {
            name
            for name, field in cls._declared_fields.items()
            if any(fields.get(name) is field for fields in theirs)
        }

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Return the fields of the request, required, and those of the answer."""
        own = serializers.Serializer.get_fields(self)
        for name in self._taken_over:
            own[name].required, own[name].default = True, empty
            own[name].help_text = None
        return {"id": serializers.CharField(), **own}


class ObjectSerializer(serializers.Serializer[Any]):
    """A JSON object; `null` counts as absent, other types fail with `type`."""

    default_error_messages = {
        "invalid": "must be a JSON object",
        "required": "this object is required",  # there is no empty one to read it as
    }

    def validate_empty_values(self, data: Any) -> tuple[bool, Any]:
        """Read `null` as an omitted field."""
        return super().validate_empty_values(empty if data is None else data)
