"""Access tests over HTTP."""

from collections.abc import Sequence
from typing import Any

from rest_framework import serializers

from dns.content import RECORD_TYPES
from meshmgmt.accesstests.rules import (
    DESTINATIONS,
    EXPECTATIONS,
    KINDS,
    SOURCES,
    VALUES,
)
from meshmgmt.accesstests.selectors import access_test_rows
from meshmgmt.accesstests.services import access_tests
from meshmgmt.api.fields import (
    AbsentKept,
    ArrayField,
    ObjectSerializer,
    Shown,
    TextField,
    TruthField,
    WholeNumberField,
    texts,
)
from meshmgmt.api.views import ResourceViewSet
from meshmgmt.core.resources import Row
from meshmgmt.explain.api.serializers import ObjectNameSerializer
from meshmgmt.mesh.reach import PROTOCOLS


def _one_of(names: tuple[str, ...], **kwargs: object) -> TextField:
    return TextField(help_text=f"One of {', '.join(names)}", **kwargs)


class _End(ObjectSerializer):
    """One end of a test, read as the columns that keep it."""

    def to_internal_value(self, data: Any) -> dict[str, str]:
        end = super().to_internal_value(data)
        ref = end.get("value" if end["kind"] in VALUES else "id", "")
        return {f"{self.field_name}_kind": end["kind"], f"{self.field_name}_ref": ref}

    def get_attribute(self, instance: Any) -> Any:
        return instance[self.field_name]


class AccessTestSourceSerializer(_End):
    """Who begins something: one peer, those of a group, or those of a user."""

    kind = _one_of(SOURCES)
    id = TextField()


class AccessTestDestinationSerializer(_End):
    """What is reached: an object by its id, an address or a domain by its value."""

    kind = _one_of(DESTINATIONS)
    id = TextField(required=False)
    value = TextField(required=False)


class AccessTestRequestSerializer(ObjectSerializer):
    """A test as a client creates it."""

    name = TextField(help_text="1 to 255 characters, unique")
    description = TextField(required=False)
    enabled = TruthField(required=False, default=True)
    enforce = TruthField(
        required=False,
        default=False,
        help_text="Writes that would make it fail are refused",
    )
    kind = _one_of(KINDS, required=False, default=KINDS[0])
    source = AccessTestSourceSerializer(source="*")  # type: ignore[assignment]  # no field's option
    destination = AccessTestDestinationSerializer(source="*")
    protocol = _one_of(PROTOCOLS, required=False, default=PROTOCOLS[0])
    port = WholeNumberField(
        required=False, allow_null=True, help_text="Of tcp or udp; none, null or 0: all"
    )
    expect = _one_of(EXPECTATIONS)
    record_type = _one_of(RECORD_TYPES, required=False, default=RECORD_TYPES[0])
    contents = texts(
        required=False,
        help_text="Of kind dns: exactly what the name resolves to; empty: anything",
    )


class AccessTestUpdateSerializer(AbsentKept, AccessTestRequestSerializer):
    """What a client changes; absent fields keep their value."""


class AccessTestFailureSerializer(serializers.Serializer[object]):
    """Who does not keep the promise, and why."""

    source = ObjectNameSerializer()  # type: ignore[assignment]  # no field's option
    destination = ObjectNameSerializer()
    because = TextField()


class AccessTestSerializer(Shown, AccessTestRequestSerializer):
    """A test, and how it went when it was last looked at."""

    state = TextField(help_text="passing, failing or empty: it is about nobody")
    failures = ArrayField(child=AccessTestFailureSerializer(), help_text="At most ten")
    checked_at = serializers.DateTimeField(allow_null=True)
    emptied_by = TextField(help_text="The event in which it lost what it names")


class AccessTestViewSet(ResourceViewSet):
    """Access tests: what must be reached or resolved, or never."""

    module = "policies"
    tells_past = True
    tags = ("access-tests",)
    resource = access_tests
    lookup_url_kwarg = "accessTestId"
    serializer_class = AccessTestSerializer
    request_serializer_class = AccessTestRequestSerializer
    update_serializer_class = AccessTestUpdateSerializer

    def rows(self, ids: Sequence[str] | None = None) -> list[Row]:
        return access_test_rows(ids)
