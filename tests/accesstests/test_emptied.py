"""An empty access test names the event that took from it what it lacks now."""

import pytest

from events.audit.reading import last_id
from meshmgmt.core import clock
from tests.accesstests.world import World
from tests.api_client import Api
from tests.resource_contract import ok

pytestmark = pytest.mark.django_db


def test_it_is_the_one_of_the_end_that_is_gone_then_and_now(api: Api):
    world = World()
    path = f"/api/access-tests/{world.never().pk}"
    ok(api.delete(f"/api/groups/{world.servers.pk}"))
    first = ok(api.get(path))["emptied_by"]
    between = clock.rfc3339(clock.now())
    ok(api.delete(f"/api/groups/{world.guests.pk}"))
    assert ok(api.get(path))["emptied_by"] != first
    assert ok(api.get(f"{path}?at={between}"))["emptied_by"] == first

    ok(api.post(f"/api/events/audit/{last_id()}/revert", {"whole_request": True}))

    assert ok(api.get(path))["emptied_by"] == first
