"""The one statement that inserts events stores what the model would store."""

import datetime as dt

import pytest

from events.audit.emission import insert_events
from events.models import AuditEvent

pytestmark = pytest.mark.django_db

FACTS = {
    "timestamp": dt.datetime(2026, 3, 4, 5, 6, 7, 89, tzinfo=dt.UTC),
    "activity_code": "group.add",
    "initiator_id": "someone",
    "initiator_name": "Zoë 💡 'quoted' %s",
    "initiator_email": "zoe@mesh.dev",
    "target_id": "something",
    "target_type": "group",
    "meta": {"name": "ünïcode", "empty": ""},
    "changes": {"name": {"before": None, "after": "x"}, "peers": {"added": [["a", 1]]}},
    "request_id": "r",
    "source_address": "::1",
    "token_id": "t",
}


def test_events_are_stored_as_the_model_stores_them():
    by_model = AuditEvent(**FACTS)
    by_model.save()
    insert_events([AuditEvent(**FACTS)])
    stored = AuditEvent.objects.filter(target_id="something").order_by("id")
    columns = [c.name for c in AuditEvent._meta.concrete_fields if not c.primary_key]
    first, second = stored.values_list(*columns)
    assert first == second


def test_ids_grow_in_the_order_given_over_several_statements():
    insert_events(
        [AuditEvent(**{**FACTS, "token_id": f"{n:04d}"}) for n in range(1201)]
    )
    stored = AuditEvent.objects.filter(target_id="something").order_by("id")
    assert list(stored.values_list("token_id", flat=True)) == [
        f"{n:04d}" for n in range(1201)
    ]
