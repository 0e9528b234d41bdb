"""A write behind one of a later time says that the clock was set back."""

from datetime import timedelta

import pytest

from events.activities import Activity
from events.audit.emission import TOLERANCE, audit_record
from events.models import AuditEvent
from events.proof import heads
from groups.services import group_create
from meshmgmt.core import clock

pytestmark = pytest.mark.django_db

BACK = "audit.clock.back"
HOUR = timedelta(hours=1)


def codes_since(number: int) -> list[str]:
    later = AuditEvent.objects.filter(pk__gt=number).order_by("pk")
    return list(later.values_list("activity_code", flat=True))


def test_the_trail_tells_of_a_clock_that_was_set_back_before_what_it_stamped():
    key = heads.begin()
    with clock.set_to(clock.now() + HOUR):
        ahead = group_create(name="ahead")
    last = AuditEvent.objects.get(target_id=ahead.pk)
    group_create(name="right")
    group_create(name="right again")
    assert codes_since(last.pk) == [BACK, "group.add", "group.add"]
    told, first, _ = AuditEvent.objects.filter(pk__gt=last.pk).order_by("pk")
    assert told.meta == {
        "from": clock.rfc3339(last.timestamp),
        "to": clock.rfc3339(first.timestamp),
    }
    assert (told.initiator_id, told.timestamp) == ("system", first.timestamp)
    assert key.valid_from < last.timestamp


def test_what_is_recorded_without_a_change_tells_it_too():
    heads.begin()
    with clock.set_to(clock.now() + HOUR):
        group_create(name="ahead")
    last = AuditEvent.objects.latest("pk")
    audit_record(Activity.DASHBOARD_LOGIN, target_id="u", meta={})
    assert codes_since(last.pk) == [BACK, "dashboard.login"]


def test_small_differences_between_hosts_are_not_told():
    heads.begin()
    with clock.set_to(clock.now() + TOLERANCE - timedelta(seconds=30)):
        group_create(name="ahead")
    group_create(name="right")
    assert not AuditEvent.objects.filter(activity_code=BACK).exists()


def test_history_made_before_the_first_key_is_not_told():
    group_create(name="now")
    with clock.set_to(clock.now() - HOUR):
        group_create(name="demo data")
    assert not AuditEvent.objects.filter(activity_code=BACK).exists()
