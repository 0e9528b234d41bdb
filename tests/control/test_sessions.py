"""What a peer may do after its login."""

import datetime as dt
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from meshmgmt.access.models import PostureCheck
from meshmgmt.accounts.services.users import user_set_blocked
from meshmgmt.control.protocol import management_pb2 as pb
from meshmgmt.control.services.refusals import SENT_BEFORE, Code
from meshmgmt.control.services.reporting import facts_of
from meshmgmt.control.services.sessions import extend_session, logout, open_sync
from meshmgmt.core.transactions import lock_held
from meshmgmt.inventory.models import Peer
from meshmgmt.inventory.reports import peer_report
from meshmgmt.inventory.standing import Standing, standings
from observability.metrics import instruments
from tests.control.machines import SOURCE, enrolled, meta, public_key, refusal_of
from tests.control.recordings import fresh_store
from tests.factories import Trail, changed, peer
from tests.people import person

pytestmark = pytest.mark.django_db
LONG_AGO = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


class Locks:
    """Counts how often the account write lock was held."""

    def __init__(self) -> None:
        self.number = 0
        lock_held.connect(self._held)

    def _held(self, **_: Any) -> None:
        self.number += 1


def written(call: Any, *args: Any) -> list[str]:
    """Return the statements of a call that write peers."""
    with CaptureQueriesContext(connection) as queries:
        call(*args)
    return [q["sql"] for q in queries if q["sql"].startswith('UPDATE "inventory_peer"')]


def test_peer_that_was_never_seen_logging_in_may_synchronise():
    known = peer(wg_public_key=public_key())
    found = open_sync(known.wg_public_key, meta("new"), SOURCE)
    assert (found.peer_id, found.session_expires_at) == (known.pk, None)
    known.refresh_from_db()
    assert (known.hostname, known.version) == ("new", "0.77.1")


def test_unknown_peer_may_not_synchronise():
    refusal = refusal_of(open_sync, public_key(), meta(), SOURCE)
    assert refusal.code == Code.PERMISSION_DENIED


def test_blocked_or_expired_peer_may_not_synchronise():
    owner = person("user")
    expired = peer(user=owner, login_expiration_enabled=True, last_login=LONG_AGO)
    for told in ("peer login has expired", "blocked"):
        refusal = refusal_of(open_sync, expired.wg_public_key, meta(), SOURCE)
        assert refusal.code == Code.PERMISSION_DENIED
        assert told in refusal.text
        user_set_blocked(user_id=owner.pk, blocked=True)


def test_report_that_says_nothing_new_writes_nothing():
    known = enrolled()
    open_sync(known.wg_public_key, meta(), SOURCE)
    assert written(open_sync, known.wg_public_key, meta(), SOURCE) == []


def test_report_without_content_changes_nothing():
    known = enrolled()
    open_sync(known.wg_public_key, pb.PeerSystemMeta(), SOURCE)
    known.refresh_from_db()
    assert known.hostname == "web"


def test_client_whose_window_is_closed_keeps_its_version():
    known = enrolled(meta=meta(uiVersion="0.9"))
    open_sync(known.wg_public_key, meta(uiVersion=""), SOURCE)
    known.refresh_from_db()
    assert known.ui_version == "0.9"


@pytest.mark.parametrize(
    ("facts", "locks"),
    [
        ({"hostname": "other"}, 0),
        ({"kernel": "Other"}, 0),
        ({"sysSerialNumber": "S"}, 0),
        ({"netbirdVersion": "0.80.0"}, 1),
        ({"flags": {"serverSSHAllowed": True}}, 1),
        ({"capabilities": []}, 1),
        ({"networkAddresses": []}, 0),
        ({"files": [{"path": "/a", "exist": True}]}, 0),
    ],
)
def test_only_what_maps_depend_on_takes_the_lock_of_writers(
    facts: dict[str, Any], locks: int
):
    known = enrolled()
    counted, trail = Locks(), Trail()
    assert len(written(open_sync, known.wg_public_key, meta(**facts), SOURCE)) == 1
    assert counted.number == locks
    assert trail.codes == []


@pytest.mark.parametrize(
    "facts",
    [{"networkAddresses": []}, {"files": [{"path": "/a"}]}, {"OSVersion": "13"}],
)
def test_posture_checks_make_maps_depend_on_more(facts: dict[str, Any]):
    PostureCheck(name="any", checks={}).save()
    known = enrolled()
    counted = Locks()
    open_sync(known.wg_public_key, meta(**facts), SOURCE)
    assert counted.number == 1


def test_changes_of_meta_are_counted_but_not_those_of_the_address():
    known = enrolled()
    counter = instruments.counter("management.account.peer.meta.update.counter")
    before = counter._value.get()
    open_sync(known.wg_public_key, meta(), "198.51.100.9")
    assert counter._value.get() == before
    open_sync(known.wg_public_key, meta("new"), "198.51.100.9")
    assert counter._value.get() == before + 1
    known.refresh_from_db()
    assert known.connection_ip == "198.51.100.9"


def test_peer_leaves_for_good():
    known = enrolled()
    trail = Trail()
    assert logout(known.wg_public_key, b"sealed") == known.pk
    assert not Peer.objects.exists()
    assert trail.targets == [("user.peer.delete", known.pk)]
    refusal = refusal_of(logout, known.wg_public_key, b"sealed")
    assert refusal.code == Code.NOT_FOUND
    assert "not found" in refusal.text


def test_a_farewell_counts_once_also_for_other_processes():
    key = enrolled().wg_public_key
    logout(key, b"recorded")
    back = peer(wg_public_key=key)
    refusal = refusal_of(logout, key, b"recorded")
    assert (refusal.code, refusal.text) == (Code.INVALID_ARGUMENT, SENT_BEFORE)
    assert Peer.objects.get() == back
    assert logout(key, b"another one") == back.pk


def test_owner_of_the_least_role_may_remove_their_own_peer():
    owner = person("user")
    known = peer(user=owner)
    trail = Trail()
    logout(known.wg_public_key, b"sealed")
    assert trail.events[-1].initiator_id == owner.pk


def test_session_is_prolonged_only_with_a_token():
    refusal = refusal_of(extend_session, enrolled().wg_public_key, "", meta())
    assert refusal.code == Code.INVALID_ARGUMENT


def test_standing_of_many_peers_at_once():
    owner = person("user")
    blocked = changed(person("user"), is_blocked=True)
    waiting = changed(person("user"), pending_approval=True)
    fine = peer()
    soon = peer(user=owner, login_expiration_enabled=True)
    late = peer(user=owner, login_expiration_enabled=True, last_login=LONG_AGO)
    flagged = peer(login_expired=True)
    of_blocked, of_waiting = peer(user=blocked), peer(user=waiting)
    ids = [p.pk for p in (fine, soon, late, flagged, of_blocked, of_waiting)]
    found = standings([*ids, "0" * 20])

    assert found[fine.pk] == Standing()
    assert found[soon.pk].allowed
    assert found[soon.pk].until == soon.created_at + dt.timedelta(days=1)
    assert "expired" in found[late.pk].reason
    assert "expired" in found[flagged.pk].reason
    assert "blocked" in found[of_blocked.pk].reason
    assert "pending" in found[of_waiting.pk].reason
    assert not found["0" * 20].allowed


texts = st.text(max_size=40)


@given(
    st.builds(
        pb.PeerSystemMeta,
        hostname=texts | st.just("x" * 9999),
        goOS=texts,
        OS=texts | st.just("y" * 255),
        OSVersion=texts | st.just("z" * 255),
        netbirdVersion=texts | st.just("1" * 99),
        sysSerialNumber=texts,
        syncMessageVersion=st.integers(-(2**31), 2**31 - 1),
        networkAddresses=st.lists(
            st.builds(pb.NetworkAddress, netIP=texts, mac=texts), max_size=3
        ),
        files=st.lists(st.builds(pb.File, path=texts, exist=st.booleans()), max_size=3),
        environment=st.builds(pb.Environment, cloud=texts),
    )
)
def test_whatever_a_machine_says_fits_into_its_columns(said: pb.PeerSystemMeta):
    facts = facts_of(said)
    for name, value in facts.items():
        column: Any = Peer._meta.get_field(name)
        column.clean(value, Peer(**{name: value}))
        if isinstance(value, str):
            assert value.isprintable()


def test_first_posture_check_sees_what_was_reported_quietly():
    known = enrolled()
    store = fresh_store()
    open_sync(known.wg_public_key, meta(networkAddresses=[]), SOURCE)
    assert store.refresh().affected == frozenset()
    PostureCheck(name="any", checks={}).save()
    assert store.refresh().affected is None


def test_report_that_crosses_the_first_posture_check_is_followed():
    known = enrolled()
    store = fresh_store()
    answers = iter([False, True])
    peer_report(
        known, {"network_addresses": []}, posture_checks_exist=lambda: next(answers)
    )
    affected = store.refresh().affected
    assert affected is None or known.pk in affected
