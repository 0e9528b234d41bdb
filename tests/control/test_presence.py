"""Which peers are shown as connected."""

import datetime as dt
import os
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from meshmgmt.access.models import Router
from meshmgmt.control.models import StreamProcess
from meshmgmt.control.protocol.management_pb2 import PeerSystemMeta
from meshmgmt.control.server import figures
from meshmgmt.control.server.streams import Streams
from meshmgmt.control.services import presence
from meshmgmt.control.services.presence import (
    Connected,
    Disconnected,
    beat,
    forget_lost_processes,
    leave,
    remove_ephemeral_peers,
    write_presence,
)
from meshmgmt.control.services.sessions import open_sync
from meshmgmt.core import clock, runtime
from meshmgmt.core.transactions import lock_held
from meshmgmt.inventory.models import Network, Peer
from meshmgmt.inventory.services.peers import peer_update
from tests.factories import Trail, peer, peers
from tests.people import api_as
from tests.races import race

pytestmark = pytest.mark.django_db
ONE, TWO = "process-1", "process-2"


def connected(known: Peer) -> bool:
    known.refresh_from_db()
    return known.connected


def later(**span: float) -> Any:
    return clock.set_to(clock.now() + dt.timedelta(**span))


def test_api_shows_who_is_connected_and_when_they_were_seen():
    known = peer()
    trail = Trail()
    began = clock.now()
    write_presence(ONE, [Connected(known.pk, 10)])
    shown = api_as("owner").get(f"/api/peers/{known.pk}").json
    assert shown["connected"] is True
    assert dt.datetime.fromisoformat(shown["last_seen"]) >= began
    with later(minutes=3):
        write_presence(ONE, [Disconnected(known.pk, 10)])
    assert not connected(known)
    assert known.last_seen is not None
    assert known.last_seen - began >= dt.timedelta(minutes=3)
    assert "peer.update" not in trail.codes


def test_late_end_of_an_old_stream_leaves_the_new_one():
    known = peer()
    write_presence(ONE, [Connected(known.pk, 10)])
    write_presence(TWO, [Connected(known.pk, 20)])
    write_presence(ONE, [Disconnected(known.pk, 10)])
    assert connected(known)
    write_presence(ONE, [Connected(known.pk, 15)])
    assert known.stream_started == 20
    write_presence(TWO, [Disconnected(known.pk, 20)])
    assert not connected(known)


def test_a_peer_that_comes_from_a_host_whose_clock_is_ahead_is_connected():
    known = peer()
    ahead = time.time_ns() + 10**12
    write_presence(ONE, [Connected(known.pk, ahead), Disconnected(known.pk, ahead)])
    session = open_sync(known.wg_public_key, PeerSystemMeta(), "192.0.2.1")
    streams = Streams()
    streams.open(session, cast("Any", None), cast("Any", None))
    write_presence(TWO, streams.changes)
    assert connected(known)


changes = st.lists(
    st.tuples(st.sampled_from([Connected, Disconnected]), st.integers(1, 4)), max_size=8
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes, st.integers(0, 8))
@example([(Connected, 4), (Disconnected, 4), (Connected, 2)], 1)
def test_batches_mean_the_same_as_single_changes(drawn: Any, cut: int):
    """Streams of one process: each begins once, and ends after that, if it does."""
    events, seen = [], set()
    for kind, started in drawn:
        began = kind is Connected or (Connected, started) in seen
        if began and (kind, started) not in seen:
            seen.add((kind, started))
            events.append((kind, started))
    one, other = peers(2)
    for kind, started in events:
        write_presence(ONE, [kind(one.pk, started)])
    write_presence(ONE, [kind(other.pk, s) for kind, s in events[:cut]])
    write_presence(ONE, [kind(other.pk, s) for kind, s in events[cut:]])
    assert connected(one) == connected(other)
    newest = max((s for kind, s in seen if kind is Connected), default=0)
    assert connected(one) == (newest > 0 and (Disconnected, newest) not in seen)


def test_thousands_are_written_without_the_lock_of_writers():
    held = []
    lock_held.connect(lambda **_: held.append(1), weak=False, dispatch_uid="held")
    many = peers(300)
    held.clear()
    with CaptureQueriesContext(connection) as queries:
        write_presence(ONE, [Connected(known.pk, 10) for known in many])
    lock_held.disconnect(dispatch_uid="held")
    assert Peer.objects.filter(connected=True).count() == 300
    assert held == []
    assert len(queries) <= 5


def test_peers_of_a_process_that_died_are_not_connected_for_ever():
    lost, kept, imported = peer(), peer(), peer(connected=True)
    assert not beat(ONE, 0)
    assert not beat(TWO, 0)
    write_presence(ONE, [Connected(lost.pk, 10)])
    write_presence(TWO, [Connected(kept.pk, 10)])
    assert forget_lost_processes() == 0
    with later(seconds=presence.LOST_SECONDS + 1):
        assert beat(TWO, 0)
        assert forget_lost_processes() == 1
    assert list(map(connected, (lost, kept, imported))) == [False, True, True]


def test_process_that_was_given_up_is_told_to_write_its_streams_again():
    known = peer()
    beat(ONE, 0)
    write_presence(ONE, [Connected(known.pk, 10)])
    with later(seconds=presence.LOST_SECONDS + 1):
        forget_lost_processes()
        assert not connected(known)
        assert not beat(ONE, 0)
        write_presence(ONE, [Connected(known.pk, 10)])
    assert connected(known)


def test_peers_of_a_process_that_died_while_the_clock_was_ahead_are_not_connected():
    known = peer()
    with later(days=1):
        beat(ONE, 0)
        write_presence(ONE, [Connected(known.pk, 10)])
    assert forget_lost_processes() == 1
    assert not connected(known)


def test_process_that_ends_leaves_nobody_connected():
    known, other = peer(), peer()
    beat(ONE, 0)
    write_presence(ONE, [Connected(known.pk, 10)])
    write_presence(TWO, [Connected(other.pk, 10)])
    leave(ONE)
    assert not connected(known)
    assert connected(other)
    assert not StreamProcess.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgresql
def test_change_by_the_api_does_not_undo_what_happened_meanwhile():
    known = peer()
    renaming: Any = partial(peer_update, peer_id=known.pk, name="new")
    for started in range(1, 20):
        race([renaming, partial(write_presence, ONE, [Connected(known.pk, started)])])
        known.refresh_from_db()
        assert known.stream_started == started


def running_for(**span: float) -> None:
    now = clock.now()
    StreamProcess.objects.create(
        id=ONE, started_at=now - dt.timedelta(**span), seen_at=now
    )


def ephemeral(minutes_ago: float, **facts: Any) -> Peer:
    seen = clock.now() - dt.timedelta(minutes=minutes_ago)
    return peer(ephemeral=True, last_seen=seen, **facts)


def test_ephemeral_peers_go_ten_minutes_after_their_stream_ended():
    running_for(hours=1)
    away, never = ephemeral(11), ephemeral(11, created_at=clock.now())
    kept = [ephemeral(9), ephemeral(11, connected=True), peer(ephemeral=True)]
    ordinary = peer(last_seen=clock.now() - dt.timedelta(days=9))
    trail = Trail()
    assert remove_ephemeral_peers() == 2
    left = set(Peer.objects.values_list("pk", flat=True))
    assert left == {ordinary.pk, *(known.pk for known in kept)}
    gone = [("user.peer.delete", known.pk) for known in (away, never)]
    assert trail.targets == gone
    assert trail.events[0].initiator_id == "system"
    assert "ten minutes" in trail.events[0].meta["reason"]


def test_ephemeral_peers_stay_while_nobody_could_connect():
    ephemeral(60)
    assert remove_ephemeral_peers() == 0
    running_for(minutes=5)
    assert remove_ephemeral_peers() == 0


def test_ephemeral_peers_stay_when_the_clock_was_behind_as_peers_could_connect():
    running_for(seconds=25)
    with later(hours=1):
        ephemeral(60)
        for _ in range(2):
            assert remove_ephemeral_peers() == 0
            assert beat(ONE, 25)


def test_ephemeral_peer_that_must_stay_does_not_keep_the_others():
    running_for(hours=1)
    router, away = ephemeral(11), ephemeral(12)
    network = Network(name="n")
    network.save()
    Router(network=network, peer=router).save()
    remove_ephemeral_peers()
    assert not Peer.objects.filter(pk=away.pk).exists()


def test_server_is_fit_for_requests_when_some_host_serves_peers(
    settings: Any, tmp_path: Path
):
    folder = tmp_path / "run"
    settings.SVC = replace(settings.SVC, grpc_bind="127.0.0.1:1", runtime_dir=folder)
    assert "no process serves peers" in figures.unserved()
    presence.beat("elsewhere", 0)
    assert figures.unserved() == ""
    held = runtime.lock(folder, "peers.lock", "a test")
    assert "is starting" in figures.unserved()
    os.close(held)
    long_ago = clock.now() - dt.timedelta(seconds=presence.LOST_SECONDS + 1)
    StreamProcess.objects.update(seen_at=long_ago)
    assert "no process serves peers" in figures.unserved()
    settings.SVC = replace(settings.SVC, grpc_bind="")
    assert figures.unserved() == ""


def test_a_server_stays_ready_while_one_of_the_processes_for_peers_is_killed(
    settings: Any, tmp_path: Path
):
    folder = tmp_path / "run"
    settings.SVC = replace(settings.SVC, grpc_bind="127.0.0.1:1", runtime_dir=folder)
    held = [runtime.lock(folder, f"peers{end}.lock", "a test") for end in ("", "-1")]
    for number, streams in ((0, 3), (1, 4)):
        shown = figures.Figures(number, time.time(), "b", streams, 0, 0.0, 1)
        figures.write(folder, shown, number)
    assert {each.connected for each in figures.current()} == {3, 4}

    os.close(held[0])
    assert figures.unserved() == ""
    assert [each.connected for each in figures.current()] == [4]

    os.close(held[1])
    assert "has died" in figures.unserved()
    assert figures.current() == []
