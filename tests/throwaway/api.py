from meshmgmt.api.fields import (
    AbsentKept,
    AlwaysThere,
    ObjectSerializer,
    TextField,
    TruthField,
    texts,
)
from meshmgmt.api.views import ResourceViewSet
from tests.throwaway.services import things


class ThingRequestSerializer(ObjectSerializer):
    """A thing as a client creates it."""

    name = TextField()
    enabled = TruthField()
    notes = TextField(required=False)
    groups = texts(required=False)


class ThingUpdateSerializer(AbsentKept, ThingRequestSerializer):
    """What a client changes of a thing."""


class ThingSerializer(AlwaysThere, ThingRequestSerializer):
    """A thing."""

    id = TextField()


class ThingViewSet(ResourceViewSet):
    """Things."""

    module = "dns"
    audited = True
    resource = things
    lookup_url_kwarg = "thingId"
    serializer_class = ThingSerializer
    request_serializer_class = ThingRequestSerializer
    update_serializer_class = ThingUpdateSerializer
