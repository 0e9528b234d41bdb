"""Logins that end by themselves."""

import datetime as dt
from typing import Any

import pytest

from meshmgmt.control.models import StreamProcess
from meshmgmt.core import clock
from meshmgmt.core.jobs import registered_jobs
from meshmgmt.inventory.models import Peer
from meshmgmt.inventory.services.expiry import AWAY, TOO_OLD, expire_logins
from tests.factories import Trail, account_settings, peer
from tests.people import person

pytestmark = pytest.mark.django_db

HOUR = dt.timedelta(hours=1)


def owned(*kinds: str) -> dict[str, Any]:
    """Return what a peer of somebody has whose login ends for these reasons."""
    switches = [f"{kind}_expiration_enabled" for kind in kinds]
    return {"user": person("user"), **dict.fromkeys(switches, True)}


def test_login_ends_after_the_period():
    account_settings(peer_login_expiration=7200)
    now, facts = clock.now(), owned("login")
    old = peer("old", last_login=now - 2 * HOUR, **facts)
    peer("fresh", last_login=now - HOUR, **facts)
    peer("exempt", user=facts["user"], last_login=now - 9 * HOUR)
    never = peer("never", created_at=now - 3 * HOUR, **facts)
    trail = Trail()
    assert expire_logins() == 2
    assert expired() == {"old", "never"}
    assert trail.targets == [("peer.login.expire", one.pk) for one in (old, never)]
    told = {(event.meta["reason"], event.initiator_id) for event in trail.events}
    assert told == {(TOO_OLD, "system")}
    assert expire_logins() == 0


def reachable_for(span: dt.timedelta) -> None:
    """Let a process take streams of peers for so long already."""
    StreamProcess.objects.all().delete()
    StreamProcess.objects.create(started_at=clock.now() - span)


def absence_counts() -> None:
    """Let peers be logged out that are away for an hour."""
    account_settings(
        peer_inactivity_expiration_enabled=True, peer_inactivity_expiration=3600
    )


def test_absent_peer_is_logged_out():
    reachable_for(2 * HOUR)
    absence_counts()
    now, facts = clock.now(), owned("inactivity")
    peer("away", last_seen=now - HOUR, **facts)
    peer("there", last_seen=now - 9 * HOUR, connected=True, **facts)
    peer("just gone", last_seen=now - HOUR / 2, **facts)
    trail = Trail()
    assert expire_logins() == 1
    assert expired() == {"away"}
    assert trail.events[0].meta["reason"] == AWAY


def test_who_could_not_connect_is_not_logged_out():
    absence_counts()
    peer("away", last_seen=clock.now() - 9 * HOUR, **owned("inactivity"))
    assert expire_logins() == 0
    reachable_for(HOUR / 2)
    assert expire_logins() == 0
    reachable_for(HOUR)
    assert expire_logins() == 1


def test_settings_switch_it_off():
    account_settings(peer_login_expiration_enabled=False)
    long_ago = clock.now() - 999 * HOUR
    peer("old", last_login=long_ago, last_seen=long_ago, **owned("login", "inactivity"))
    assert expire_logins() == 0


def test_peer_that_nobody_owns_has_no_login():
    long_ago = clock.now() - 999 * HOUR
    peer("server", login_expiration_enabled=True, last_login=long_ago)
    assert expire_logins() == 0


def test_housekeeping_runs_it():
    assert "expire_logins" in {job.name for job in registered_jobs()}


def expired() -> set[str]:
    return set(Peer.objects.filter(login_expired=True).values_list("name", flat=True))
