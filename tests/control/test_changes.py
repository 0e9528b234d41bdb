"""The serial grows with what maps depend on, and never goes back."""

import time
from typing import Any

import pytest

from meshmgmt.access.models import SetupKey
from meshmgmt.accounts.services.users import user_set_blocked
from meshmgmt.control import changes
from meshmgmt.control.maps import MapStore
from meshmgmt.control.models import MapChange
from meshmgmt.control.protocol import management_pb2 as pb
from meshmgmt.core import clock
from meshmgmt.core.errors import NotFound
from meshmgmt.core.transactions import account_write
from meshmgmt.inventory.models import Peer
from tests.control.recordings import fresh_store
from tests.control.wholemessages import check_sync
from tests.factories import group, peer, rule
from tests.people import api_as, person

pytestmark = pytest.mark.django_db


@pytest.fixture
def store() -> MapStore:
    return fresh_store()


def same_as_new(store: MapStore) -> bool:
    """Whether a store that followed the changes knows what a new one reads."""
    new = fresh_store()
    store.refresh()
    ids = list(Peer.objects.values_list("pk", flat=True))

    def shown(of: MapStore) -> list[dict[str, Any]]:
        messages = [of.as_dict(id_) for id_ in ids]
        for message in messages:
            del message["NetworkMap"]["Serial"]
        return messages

    return shown(store) == shown(new)


def test_serial_is_the_time_and_grows_with_every_write(store):
    before = store.serial
    assert abs(before / 1000 - time.time()) < 60
    one = peer()
    first = store.refresh()
    one.ssh_enabled = True
    one.save()
    assert before < first.serial < store.refresh().serial


def test_refresh_without_a_change_is_one_query(store, django_assert_num_queries):
    with django_assert_num_queries(1):
        assert store.refresh().affected == frozenset()


def test_number_of_queries_does_not_depend_on_the_size(django_assert_max_num_queries):
    for number in range(20):
        rule([group(f"from {number}", peer())], [group(f"to {number}", peer())])
    changes.begin()
    with django_assert_max_num_queries(20):
        MapStore(serving=False).refresh()


def test_what_no_map_shows_leaves_the_serial(store):
    before = store.serial
    one = peer()
    after = store.refresh().serial
    api_as("owner").post("/api/setup-keys", {"name": "k", "type": "reusable"})
    SetupKey(name="k", key_hash="x", key_prefix="x").save()
    Peer.objects.filter(pk=one.pk).unaudited_update(last_seen=clock.now())
    assert before < after
    assert not MapChange.objects.filter(serial__gt=after).exclude(touched="{}").exists()


def test_undone_writes_leave_no_trace(store):
    one = peer()
    serial = store.refresh().serial
    with pytest.raises(ZeroDivisionError), account_write():
        one.ssh_enabled = True
        one.save()
        raise ZeroDivisionError
    assert store.refresh().serial == serial


def test_columns_that_nobody_audits_are_followed_too(store):
    one = peer(user=person(), login_expiration_enabled=True)
    store.refresh()
    assert store.mesh.network_map(one.pk).login_ends is not None
    before = store.mesh.network_map(one.pk).login_ends
    one.last_login = clock.now()
    one.save(update_fields=["last_login"])
    store.refresh()
    assert store.mesh.network_map(one.pk).login_ends > before


def test_store_that_follows_knows_what_a_new_one_reads(store):
    owner = person("user")
    one, two, three = peer(), peer(user=owner), peer()
    left, right = group("left", one), group("right", two, three)
    made = rule([left], [right])
    assert same_as_new(store)
    made.delete()
    assert same_as_new(store)
    rule([right], [right])
    assert same_as_new(store)
    user_set_blocked(user_id=owner.pk, blocked=True)
    assert same_as_new(store)
    three.delete()
    assert same_as_new(store)


def test_refresh_that_fails_half_way_is_made_again(store):
    one, two = peer(), peer()
    both = group("both", one, two)
    rule([both], [both])
    store.refresh()
    two.approval_required = True
    with account_write():
        two.save()
    before = store.mesh, store.serial

    def fails():
        raise OSError("the database went away")

    with pytest.raises(OSError, match="went away"):
        store.refresh(beside=fails)
    assert (store.mesh, store.serial) == before
    assert {one.pk, two.pk} <= set(store.refresh().chosen_from([one.pk, two.pk]))


def test_deleted_peers_are_told_of_and_get_the_closing_message(store):
    one = peer()
    store.refresh()
    peer_id = one.pk
    one.delete()
    refresh = store.refresh()
    assert refresh.deleted == {peer_id}
    with pytest.raises(NotFound):
        store.message(peer_id)
    closing = pb.SyncResponse.FromString(store.closing_message())
    check_sync(closing, after_serial=store.serial)
    assert not closing.NetworkMap.DNSConfig.ServiceEnable


def test_serial_rises_when_the_database_is_put_back(store):
    one = peer()
    served = store.refresh().serial
    MapChange.objects.filter(serial=served).delete()
    Peer.objects.filter(pk=one.pk)._raw_delete("default")
    refresh = store.refresh()
    assert refresh.serial > served
    with pytest.raises(NotFound):
        store.message(one.pk)


def test_serial_rises_above_one_of_the_future(store):
    changes.begin(above=store.serial + 10_000_000)
    future = store.refresh().serial
    peer()
    assert store.refresh().serial == future + 1


def test_store_that_missed_too_much_reads_everything(store):
    one = peer()
    MapChange.objects.exclude(serial=MapChange.objects.latest("serial").serial).delete()
    store.refresh()
    assert store.message(one.pk)


def test_change_of_very_many_objects_touches_everything(store, monkeypatch):
    monkeypatch.setattr(changes, "AT_MOST", 2)
    with account_write():
        made = [peer() for _ in range(3)]
    assert MapChange.objects.latest("serial").touched == changes.EVERYTHING
    store.refresh()
    assert all(store.message(one.pk) for one in made)


def test_old_rows_go_and_the_newest_stays():
    now = time.time_ns() // 1_000_000
    for age in (9_000_000, 8_000_000):
        MapChange.objects.create(serial=now - age, touched="{}")
    MapChange.objects.filter(serial__gt=now - 8_000_000).delete()
    assert changes.forget_old() == 1
    assert [change.serial for change in MapChange.objects.all()] == [now - 8_000_000]


def test_looking_leaves_the_serial_alone():
    one = peer()
    before = MapChange.objects.count()
    looking = MapStore(serving=False)
    looking.refresh()
    assert looking.as_dict(one.pk)["NetworkMap"]
    assert MapChange.objects.count() == before
