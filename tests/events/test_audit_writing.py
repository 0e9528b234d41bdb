"""The audit trail is written in the transaction of the change, on any way of writing."""

import datetime as dt
from typing import Any, Final

import pytest
from django.apps import apps
from django.core import checks
from django.db import IntegrityError, models, transaction

from events.activities import Activity
from events.audit.audited import AuditedModel, audited_bulk_create, audited_bulk_delete
from events.audit.emission import TOLERANCE, audit_record, insert_events, meta_text
from events.audit.specs import all_specs, spec_of
from events.models import AuditEvent, TrafficRollUp
from events.proof import heads
from groups.models import Group, GroupPeer
from groups.services import group_create
from meshmgmt.accounts.models import User
from meshmgmt.api.models import KeptAnswer, UsedPermits
from meshmgmt.control.models import MapChange
from meshmgmt.core import clock, context
from meshmgmt.core.orderedlinks import OrderedLink, all_links, set_members
from meshmgmt.core.queries import execute
from meshmgmt.core.transactions import account_write
from meshmgmt.inventory.models import Peer
from tests.factories import Trail, newest_event, peers

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def empty_trail(db: None) -> None:
    forget()


def codes() -> list[str]:
    rows = AuditEvent.objects.order_by("id")
    return list(rows.values_list("activity_code", flat=True))


def forget() -> None:
    """Begin with an empty trail."""
    AuditEvent.objects.all().prune()


def make_peers(count: int) -> list[Peer]:
    made = peers(count)
    forget()
    return made


def group_of(*members: Peer) -> Group:
    """Return a group with these members; the trail tells of it no more."""
    group = Group.objects.create(name="g")
    set_members(GroupPeer, group, [one.pk for one in members])
    forget()
    return group


def test_creating_changing_and_deleting_leave_one_event_each_with_the_values():
    group = Group.objects.create(name="one")
    group.name = "two"
    group.save()
    updated = newest_event()
    assert updated.changes == {"name": {"before": "one", "after": "two"}}
    assert updated.meta == {"old_name": "one", "new_name": "two"}
    assert updated.target_id == group.pk
    group.delete()
    assert codes() == ["group.add", "group.update", "group.delete"]


def test_saving_without_a_change_leaves_no_event():
    group = group_of()
    group.save()
    Group.objects.get(pk=group.pk).save()
    assert codes() == []


def test_what_ends_in_one_write_as_it_began_leaves_no_event():
    group = group_of()
    with account_write():
        for name in ("two", group.name):
            group.name = name
            group.save()
        Group.objects.create(name="other").delete()
    assert codes() == []


def test_several_saves_in_one_write_are_one_event():
    with account_write():
        group = Group.objects.create(name="one")
        group.name = "two"
        group.save()
    assert codes() == ["group.add"]
    assert newest_event().changes["name"] == {"before": None, "after": "two"}


def test_failed_write_leaves_neither_change_nor_event():
    with pytest.raises(RuntimeError), account_write():
        Group.objects.create(name="one")
        raise RuntimeError
    assert codes() == []
    assert not Group.objects.filter(name="one").exists()


def test_rolled_back_savepoint_leaves_no_event():
    with account_write():
        Group.objects.create(name="kept")
        with pytest.raises(RuntimeError), transaction.atomic():
            Group.objects.create(name="undone")
            raise RuntimeError
    assert codes() == ["group.add"]
    assert newest_event().meta == {"name": "kept"}


def test_what_was_rolled_back_and_is_saved_again_is_an_event():
    group = Group.objects.create(name="one")
    with account_write():
        group.name = "two"
        with pytest.raises(RuntimeError), account_write():
            group.save()
            raise RuntimeError
        group.save()
    assert newest_event().changes == {"name": {"before": "one", "after": "two"}}


def test_violated_constraint_leaves_no_event_of_its_object():
    with account_write():
        Group.objects.create(name="same")
        with pytest.raises(IntegrityError), transaction.atomic():
            Group.objects.create(name="same")
    assert codes() == ["group.add"]


def test_event_that_cannot_be_written_undoes_the_change():
    name = AuditEvent._meta.db_table
    with pytest.raises(Exception, match=name), account_write():
        Group.objects.create(name="one")
        execute(f"ALTER TABLE {name} RENAME TO elsewhere")
    assert not Group.objects.filter(name="one").exists()


@pytest.fixture
def stale() -> Group:
    """A group as it was loaded before it got its name "two"."""
    made = Group.objects.create(name="one")
    loaded = Group.objects.get(pk=made.pk)
    made.name = "two"
    made.save()
    return loaded


def test_values_before_are_those_under_the_lock_not_those_loaded_earlier(stale: Group):
    stale.name = "three"
    stale.save()
    assert newest_event().changes == {"name": {"before": "two", "after": "three"}}


def test_deletion_shows_what_was_stored_not_what_was_loaded_earlier(stale: Group):
    stale.delete()
    event = newest_event()
    assert event.activity_code == "group.delete"
    assert event.meta == {"name": "two"}
    assert event.changes["name"] == {"before": "two", "after": None}


def test_deleting_what_is_gone_already_leaves_no_event(stale: Group):
    Group.objects.get(pk=stale.pk).delete()
    forget()
    stale.delete()
    assert codes() == []


def test_each_changed_field_that_is_saved_gets_the_event_of_its_code():
    [peer] = make_peers(1)
    peer.name = "other"
    peer.ssh_enabled = not peer.ssh_enabled
    peer.save(update_fields=["name"])
    assert codes() == ["peer.rename"]
    peer.save()
    assert codes() == ["peer.rename", "peer.ssh.enable"]


def test_members_give_one_event_each():
    made = make_peers(3)
    group = group_of(*made[:2])
    set_members(GroupPeer, group, [made[1].pk, made[2].pk])
    assert codes() == ["peer.group.delete", "peer.group.add"]
    removed, added = AuditEvent.objects.order_by("id")
    assert (removed.target_id, added.target_id) == (made[0].pk, made[2].pk)
    assert added.meta["peer_ip"] == made[2].ip
    assert added.meta["group"] == "g"


@pytest.mark.parametrize("between", [[1, 0], [1], []])
def test_an_order_that_is_the_old_one_at_the_end_of_a_write_is_no_event(
    between: list[int],
):
    made = make_peers(2)
    ids, group = [one.pk for one in made], group_of(*made)
    with account_write():
        set_members(GroupPeer, group, [ids[number] for number in between])
        set_members(GroupPeer, group, ids)
    assert codes() == []


def test_order_of_members_is_kept_and_its_change_is_an_event():
    made = make_peers(3)
    ids, group = [one.pk for one in made], group_of(*made)
    turned = [ids[2], ids[0], ids[1]]
    set_members(GroupPeer, group, turned)
    rows = GroupPeer.objects.filter(group=group).order_by("position")
    assert [row.peer_id for row in rows] == turned
    assert codes() == ["group.order.update"]
    assert newest_event().changes["peers"]["order"] == turned


def test_same_members_again_leave_no_event_and_repeats_are_folded():
    made = make_peers(2)
    ids, group = [one.pk for one in made], group_of(*made)
    set_members(GroupPeer, group, [ids[0], ids[1], ids[0]])
    assert codes() == []
    assert GroupPeer.objects.count() == 2


def test_member_that_goes_by_a_cascade_is_reported():
    [peer] = make_peers(1)
    group_of(peer)
    peer.delete()
    assert sorted(codes()) == ["peer.group.delete", "user.peer.delete"]


def test_bulk_creation_and_both_ways_of_deletion_write_one_event_each():
    groups = [Group(name=f"g{n}") for n in range(6)]
    audited_bulk_create(groups)
    assert codes() == ["group.add"] * 6
    forget()
    audited_bulk_delete(groups[:3])
    assert codes() == ["group.delete"] * 3
    Group.objects.filter(name__startswith="g").delete()
    assert codes() == ["group.delete"] * 6


@pytest.mark.parametrize(
    "write",
    [
        lambda: Group.objects.update(name="x"),
        lambda: Group.objects.bulk_create([Group(name="x")]),
        lambda: Group.objects.bulk_update(Group.objects.all(), ["name"]),
        lambda: GroupPeer.objects.update(position=1),
        lambda: GroupPeer.objects.bulk_create([]),
        lambda: GroupPeer.objects.bulk_update([], ["position"]),
        lambda: AuditEvent.objects.update(meta={}),
        lambda: AuditEvent.objects.all().delete(),
    ],
)
def test_writes_that_would_leave_no_event_are_refused(write):
    with pytest.raises(TypeError):
        write()


def test_a_single_audit_event_cannot_be_deleted():
    Group.objects.create(name="g")
    with pytest.raises(TypeError, match="retention"):
        newest_event().delete()


def test_only_unaudited_columns_can_be_updated_silently():
    with pytest.raises(TypeError, match="name of Peer is audited"):
        Peer.objects.unaudited_update(name="x")


def test_initiator_request_and_reason_come_from_the_context_and_outlive_the_user():
    Group.objects.create(name="outside of requests")
    assert newest_event().initiator_id == "system"
    user = User.objects.create(email="ada@mesh.internal", name="Ada", role="admin")
    actor = context.Actor(id=user.pk, name=user.name, email=user.email)
    request: dict[str, Any] = {"request_id": "r1", "source_address": "10.0.0.9"}
    request["token_id"] = "t1"
    with context.scope(actor=actor, reason="because", **request):
        Group.objects.create(name="g")
    event = newest_event()
    user.delete()
    event.refresh_from_db()
    who = event.initiator_id, event.initiator_name, event.initiator_email
    assert who == (actor.id, "Ada", "ada@mesh.internal")
    assert {name: getattr(event, name) for name in request} == request
    assert event.meta["reason"] == "because"


def test_secrets_are_kept_as_changed_only():
    user = User(email="a@mesh.internal", name="A", role="admin")
    user.set_password("correct horse battery")
    user.save()
    text = str(AuditEvent.objects.values_list("changes", "meta"))
    assert user.password not in text
    assert newest_event().changes["password"] == {"before": None, "after": "changed"}


def test_activities_without_a_row_are_recorded_explicitly():
    audit_record(Activity.DASHBOARD_LOGIN, target_id="u1", meta={"n": 3600})
    assert newest_event().meta == {"n": "3600"}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *[(True, "true"), (False, "false"), (None, ""), ("x", "x")],
        *[(1_000_000, "1000000"), (["a", 2], "a, 2")],
    ],
)
def test_meta_values_are_plain_texts(value, text: str):
    assert meta_text(value) == text


def audited_models() -> list[type[models.Model]]:
    return [m for m in apps.get_models() if issubclass(m, AuditedModel)]


@pytest.mark.parametrize("model", audited_models(), ids=lambda m: m.__name__)
def test_every_column_of_an_audited_model_has_a_code(model):
    spec = spec_of(model)
    assert spec is not None
    silent = [c for c in spec.columns if spec.activity_for(c) is None]
    assert silent == []
    known = {column.attname for column in model._meta.concrete_fields}
    assert spec.unaudited <= known
    assert spec.secret <= known


@pytest.mark.parametrize("link", all_links(), ids=lambda m: m.__name__)
def test_every_list_of_an_audited_owner_has_a_rule(link: type[OrderedLink]):
    owner: Any = link._meta.get_field(link.owner_field).related_model
    spec = spec_of(owner)
    assert spec is not None, f"{owner.__name__} is not audited"
    rule = spec.members.get(link.relation)
    assert rule is not None
    assert rule.owner or (rule.added and rule.removed and rule.reordered)


@pytest.mark.parametrize("model", [KeptAnswer, MapChange, UsedPermits, TrafficRollUp])
def test_rows_of_no_audited_model_are_deleted_without_reading_them(
    model, django_assert_num_queries
):
    with django_assert_num_queries(1) as queries:
        model._default_manager.all().delete()
    assert queries[0]["sql"].startswith("DELETE")


def test_the_system_checks_find_no_gap():
    assert [c for c in checks.run_checks() if (c.id or "").startswith("events.")] == []


def test_each_model_is_registered_once():
    kinds = [spec.model for spec in all_specs()]
    assert len(kinds) == len(set(kinds))


FACTS: Final = {
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


def test_the_one_statement_that_inserts_stores_what_the_model_would_store():
    AuditEvent(**FACTS).save()
    insert_events([AuditEvent(**FACTS)])
    columns = [c.name for c in AuditEvent._meta.concrete_fields if not c.primary_key]
    first, second = AuditEvent.objects.order_by("id").values_list(*columns)
    assert first == second


def test_ids_grow_in_the_order_given_over_several_statements():
    tokens = [f"{number:04d}" for number in range(1201)]
    insert_events([AuditEvent(**{**FACTS, "token_id": token}) for token in tokens])
    stored = AuditEvent.objects.order_by("id").values_list("token_id", flat=True)
    assert list(stored) == tokens


# A write behind one of a later time says that the clock was set back.

BACK: Final = "audit.clock.back"
HOUR: Final = dt.timedelta(hours=1)


def written_with_the_clock_off(by: dt.timedelta) -> AuditEvent:
    """Return the event of a write that was made while the clock was wrong by so much."""
    with clock.set_to(clock.now() + by):
        group_create(name="at another time")
    return newest_event()


def test_the_trail_tells_of_a_clock_that_was_set_back_before_what_it_stamped():
    key = heads.begin()
    last, trail = written_with_the_clock_off(HOUR), Trail()
    group_create(name="right")
    group_create(name="right again")
    assert trail.codes == [BACK, "group.add", "group.add"]
    told, first, _ = trail.events
    assert told.meta == {
        "from": clock.rfc3339(last.timestamp),
        "to": clock.rfc3339(first.timestamp),
    }
    assert (told.initiator_id, told.timestamp) == ("system", first.timestamp)
    assert key.valid_from < last.timestamp


def test_what_is_recorded_without_a_change_tells_of_the_clock_too():
    heads.begin()
    written_with_the_clock_off(HOUR)
    trail = Trail()
    audit_record(Activity.DASHBOARD_LOGIN, target_id="u", meta={})
    assert trail.codes == [BACK, "dashboard.login"]


def test_small_differences_between_the_clocks_of_hosts_are_not_told():
    heads.begin()
    written_with_the_clock_off(TOLERANCE - dt.timedelta(seconds=30))
    group_create(name="right")
    assert BACK not in codes()


def test_history_made_before_the_first_key_is_not_told():
    group_create(name="now")
    written_with_the_clock_off(-HOUR)
    assert BACK not in codes()
