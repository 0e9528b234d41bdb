"""What machines and time do refuses nothing: tests fail, and say so."""

import asyncio
import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connections

from meshmgmt.access.models import PostureCheck
from meshmgmt.accesstests.models import AccessTest
from meshmgmt.accesstests.selectors import counts
from meshmgmt.accesstests.standing import PromiseBroken
from meshmgmt.control.server.threads import Threads
from meshmgmt.control.services.sessions import logout, open_sync
from meshmgmt.core import clock
from meshmgmt.core.jobs import registered_jobs
from meshmgmt.explain.answers import account_findings
from meshmgmt.inventory.models import Peer
from meshmgmt.serving.housekeeping import run_job
from tests.accesstests.world import World, state
from tests.api_client import Api
from tests.control.machines import SOURCE, enrolled, meta
from tests.factories import (
    Trail,
    account_settings,
    changed,
    group,
    network,
    peer,
    resource,
    rule,
)
from tests.people import person
from tests.resource_contract import ok

pytestmark = pytest.mark.django_db(transaction=True)


def on_the_wire(work: Callable[..., Any], *args: Any) -> Any:
    """Do work as the process that serves peers does it."""
    threads = Threads(1, "peers")

    async def done() -> Any:
        try:
            return await threads.run(work, *args)
        finally:
            await threads.run(connections.close_all)

    try:
        return asyncio.run(done())
    finally:
        threads.close()


def job(name: str) -> None:
    [found] = [job for job in registered_jobs() if job.name == name]
    assert run_job(found)


class Guarded(World):
    """A world with one promise."""

    work: AccessTest


@pytest.fixture
def world(api: Api) -> Guarded:
    """The laptop reaches the server only while its client is new enough."""
    made = Guarded()
    checks = {"nb_version_check": {"min_version": "0.50.0"}}
    body = {"name": "new", "checks": checks}
    check = ok(api.post("/api/posture-checks", body))["id"]
    path = f"/api/policies/{made.policy.pk}"
    Peer.objects.unaudited_update(version="0.77.1")
    ok(api.put(path, {"source_posture_checks": [check]}))
    assert PostureCheck.objects.exists()
    made.work = made.reach()
    return made


def test_report_that_breaks_a_promise_is_taken_and_told(api: Api, world: Guarded):
    assert state(world.work) == "passing"
    key = world.laptop.wg_public_key
    on_the_wire(open_sync, key, meta(netbirdVersion="0.1.0"), SOURCE)
    assert Peer.objects.get(pk=world.laptop.pk).version == "0.1.0"
    trail = Trail()
    job("look_after_access_tests")
    [event] = trail.events
    assert (event.activity_code, event.initiator_id) == ("access_test.fail", "system")
    assert event.target_id == world.work.pk
    assert "0.1.0" in event.meta["because"]
    assert counts()["failing", "true"] == 1
    [told] = [f for f in account_findings() if f.code == "access_test_failing"]
    assert "work" in told.text
    on_the_wire(open_sync, key, meta(netbirdVersion="0.77.1"), SOURCE)
    job("look_after_access_tests")
    assert trail.codes == ["access_test.fail", "access_test.pass"]
    job("look_after_access_tests")
    assert len(trail.codes) == 2


def test_what_a_machine_broke_is_not_laid_to_the_next_write(api: Api, world: Guarded):
    key = world.laptop.wg_public_key
    on_the_wire(open_sync, key, meta(netbirdVersion="0.1.0"), SOURCE)
    assert state(world.work) == "passing"  # nobody has looked yet
    trail = Trail()
    ok(api.put(f"/api/policies/{world.policy.pk}", {"description": "more"}))
    assert trail.codes == ["access_test.fail", "policy.update"]
    assert trail.events[0].initiator_id == "system"
    # Failing, it refuses nothing until it passes again.
    ok(api.put(f"/api/policies/{world.policy.pk}", {"enabled": False}))
    on_the_wire(open_sync, key, meta(netbirdVersion="0.77.1"), SOURCE)
    ok(api.put(f"/api/policies/{world.policy.pk}", {"enabled": True}))
    assert state(world.work) == "passing"
    answer = api.put(f"/api/policies/{world.policy.pk}", {"enabled": False})
    assert answer.status == 409


def test_router_that_leaves_breaks_a_promise_without_refusing(api: Api):
    world, gateway = World(), peer("gateway")
    printer = resource("printer", network=network())
    path = f"/api/networks/{network().pk}/routers"
    ok(api.post(path, {"peer": gateway.pk, "metric": 9, "enabled": True}))
    rule([world.staff], [], destination_resource_id=printer.pk)
    test = world.promise("print", world.staff, printer, "reach")
    assert state(test) == "passing"
    on_the_wire(logout, gateway.wg_public_key, b"sealed")
    job("look_after_access_tests")
    assert state(test) == "failing"
    ok(api.post("/api/groups", {"name": "of no test"}))


def test_login_that_ends_breaks_a_promise_without_refusing(
    api: Api, world: Guarded, monkeypatch: pytest.MonkeyPatch
):
    laptop = Peer.objects.get(pk=world.laptop.pk)
    when = AccessTest.objects.get().checked_at
    login = {"login_expiration_enabled": True, "last_login": when}
    changed(laptop, user=person("user"), **login)
    account_settings(peer_login_expiration_enabled=True, peer_login_expiration=3600)
    assert state(world.work) == "passing"
    later = clock.now() + dt.timedelta(hours=2)
    monkeypatch.setattr(clock, "now", lambda: later)
    # The time alone did it, so who writes next is not refused.
    account_settings(auto_update_version="latest")
    assert state(world.work) == "failing"
    job("expire_logins")
    job("look_after_access_tests")
    assert state(world.work) == "failing"


def test_machine_that_joins_is_let_in(world: Guarded):
    made = world.never()
    joining = group("Joining", world.guest)
    everybody = world.promise("nobody", joining, world.servers, "never")
    assert state(made) == state(everybody) == "passing"
    joined = on_the_wire(enrolled)
    assert Peer.objects.filter(pk=joined.pk).exists()
    with pytest.raises(PromiseBroken):
        world.policy.delete()
