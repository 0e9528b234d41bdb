"""What a login is told: what the map will say, read without the account's map."""

import datetime as dt

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from meshmgmt.control.protocol import management_pb2 as pb
from meshmgmt.control.server.messages import login_responses
from meshmgmt.control.services.logins import Session
from meshmgmt.control.services.refusals import Code, Refused
from tests.control.recordings import Playback, fresh_store, recording
from tests.factories import account_settings, group, peer, peers, rule

pytestmark = pytest.mark.django_db


def told(*peer_ids: str) -> list[pb.LoginResponse]:
    logged_in = [Session(peer_id, None) for peer_id in peer_ids]
    found = login_responses(settings.SVC, logged_in)
    return [one for one in found if isinstance(one, pb.LoginResponse)]


@pytest.mark.parametrize(
    "name",
    [
        *("13-netbird_ssh", "20-posture_process", "29-exit_node_v6"),
        *("33-network_all_kinds", "49-login_expired_peer"),
    ],
)
def test_a_login_is_told_what_the_map_says_of_the_peer(name: str):
    playback, store = Playback.of(name), fresh_store()
    ids = [playback.symbols[f"$peer.{label}"] for label in recording(name)["maps"]]

    responses = told(*ids)

    maps = [pb.SyncResponse.FromString(store.message(peer_id)) for peer_id in ids]
    assert [one.peerConfig for one in responses] == [one.peerConfig for one in maps]
    assert [one.Checks for one in responses] == [one.Checks for one in maps]


def test_a_login_is_told_of_a_change_just_made():
    one = peer()
    assert told(one.pk)[0].peerConfig.LazyConnectionEnabled
    account_settings(lazy_connection_enabled=False)
    assert not told(one.pk)[0].peerConfig.LazyConnectionEnabled


def test_many_logins_at_once_ask_as_often_as_one_whatever_the_account_holds():
    ids = [one.pk for one in peers(30)]
    with CaptureQueriesContext(connection) as of_one:
        told(ids[0])
    rule([group("left", *peers(20))], [group("right", *peers(20))])
    with CaptureQueriesContext(connection) as of_many:
        assert len(told(*ids)) == len(ids)
    assert len(of_many) == len(of_one)


def test_a_peer_deleted_meanwhile_costs_the_other_logins_nothing():
    one, gone = peer(), peer()
    gone.delete()
    ends = dt.datetime(2030, 1, 1, tzinfo=dt.UTC)

    kept, refused = login_responses(
        settings.SVC, [Session(one.pk, ends), Session(gone.pk or "gone", None)]
    )

    assert isinstance(kept, pb.LoginResponse)
    assert kept.peerConfig.address.startswith(one.ip)
    assert kept.sessionExpiresAt.ToDatetime(dt.UTC) == ends
    assert isinstance(refused, Refused)
    assert refused.code is Code.UNAVAILABLE
