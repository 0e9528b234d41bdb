"""Looking back over a long trail: by indexes, and only what is asked."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from random import Random

import pytest
from django.db import connection, models
from django.test.utils import CaptureQueriesContext

from events.activities import Activity
from events.audit.histories import (
    ONE_BY_ONE,
    events_by_id,
    firsts_after,
    ids_of,
    lasts_before,
)
from events.audit.reading import events_of_request, last_id_at
from events.audit.specs import history_key
from events.models import AuditEvent
from groups.models import Group, GroupPeer
from meshmgmt.accounts.models import User
from meshmgmt.core import clock
from meshmgmt.core.orderedlinks import (
    append_members,
    drop_members,
    ids_by_owner,
    member_keys,
    set_members,
)
from meshmgmt.core.queries import MOST_PARAMETERS
from meshmgmt.history.lists import LISTS_READ, orders_before
from meshmgmt.history.past import account_at
from meshmgmt.history.reverting import MOST_EVENTS
from meshmgmt.inventory.models import Peer
from tests.api_client import Api
from tests.dns.bodies import nameserver_group
from tests.factories import group, newest_event, peer, peers
from tests.people import person
from tests.resource_contract import ok

pytestmark = pytest.mark.django_db

SERVERS = "/api/dns/nameservers"


@contextmanager
def statements() -> Iterator[list[str]]:
    found: list[str] = []
    with CaptureQueriesContext(connection) as captured:
        yield found
    found += [query["sql"] or "" for query in captured.captured_queries]


def changeable() -> "models.QuerySet[AuditEvent]":
    """Return the trail as only who writes past the service can change it."""
    return models.QuerySet(AuditEvent)


@pytest.fixture
def busy(db: None) -> Group:
    """A group with a long trail of members that come and go."""
    made, members = group("busy"), [one.pk for one in peers(4)]
    for _ in range(40):
        append_members(GroupPeer, made, members)
        drop_members(GroupPeer, made, members[1:])
    return made


def lengthen(by: int) -> None:
    """Add events of a year about others to the trail, each of a request of its own."""
    now, between = clock.now(), timedelta(days=365) / by
    changeable().bulk_create(
        AuditEvent(
            activity_code=Activity.PEER_GROUP_ADD,
            target_id=f"peer{number}",
            target_type="peer",
            history_key=f"grouppeer/others/peer{number}/+",
            timestamp=now - number * between,
            request_id=f"request{number}",
        )
        for number in range(by)
    )


def plans(found: list[str], dear: tuple[str, ...] = ()) -> list[str]:
    """Return how statements are carried out, on PostgreSQL without what is `dear`."""
    told = []
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("ANALYZE events_auditevent")
            for each in dear:
                cursor.execute(f"SET LOCAL enable_{each} = off")
        for sql in found:
            words = "" if connection.vendor == "postgresql" else "QUERY PLAN"
            cursor.execute(f"EXPLAIN {words} {sql}".replace("%", "%%"))
            told.append(str(cursor.fetchall()))
    return told


def test_histories_are_read_from_their_index_alone(busy: Group):
    lengthen(3000)
    with statements() as found:
        firsts_after("grouppeer/", 0, 9)
        lasts_before(f"grouppeer/{busy.pk}/", 10**9)
    assert ["audit_history" in plan for plan in plans(found)] == [True, True]
    with statements() as found:
        lasts_before("grouppeer/", 10**9)
    # All of a kind is all that is here, and no VACUUM has said what an index may answer:
    # the planner is right to read the table then.
    [plan] = plans(found, dear=("seqscan", "bitmapscan", "sort", "hashagg"))
    assert "audit_history" in plan


def test_what_a_revert_looks_for_is_found_by_indexes(busy: Group):
    lengthen(20_000)
    event = AuditEvent.objects.get(request_id="request7")
    keys = [f"grouppeer/{busy.pk}/{pk}/+" for pk in member_keys(GroupPeer, busy)]
    with statements() as found:
        assert [*events_of_request(event)[: MOST_EVENTS + 1]] == [event]
        assert len(ids_of(keys, LISTS_READ, id__lt=event.pk)) == 1
        assert len([*events_by_id(range(event.pk, event.pk + 40))]) == 40
    by_time, by_key, by_id = plans(found)
    assert "audit_timestamp" in by_time
    assert "audit_history" in by_key
    assert "events_auditevent_pkey" in by_id or "USING INTEGER PRIMARY KEY" in by_id
    assert not any("SCAN events" in plan for plan in (by_time, by_key, by_id))
    assert not any("Seq Scan" in plan for plan in (by_time, by_key, by_id))


def test_each_member_is_looked_up_in_the_index_for_its_place(busy: Group):
    came = {"activity_code": Activity.PEER_GROUP_ADD, "meta": {"group_id": "others"}}
    AuditEvent.objects.bulk_create(
        AuditEvent(target_id=f"peer{number}", target_type="peer", **came)
        for number in range(3000)
    )
    everybody = list(Peer.objects.order_by("pk").values_list("pk", flat=True))
    append_members(GroupPeer, busy, everybody)
    lists = {busy.pk: member_keys(GroupPeer, busy)}
    with statements() as found:
        assert orders_before(GroupPeer, lists, 10**9) == lists
    [plan] = plans([sql for sql in found if "asked.key COLLATE" in sql])
    assert "audit_history" in plan


def test_a_member_that_came_and_went_often_has_one_history(busy: Group):
    first = AuditEvent.objects.order_by("id")[0].pk
    found = firsts_after(f"grouppeer/{busy.pk}/", first, 100)
    assert len(found) == 4 + 3  # three went, too
    assert firsts_after(f"grouppeer/{busy.pk}/", first, 2) == found[:2]


Deeds = Sequence[Callable[..., object]]
"""What changes a list; one of them tells of whole lists in its events."""


def all_lists() -> dict[str, list[str]]:
    return {made.pk: member_keys(GroupPeer, made) for made in Group.objects.all()}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "deeds",
    [(append_members, drop_members, set_members), (append_members, drop_members)],
    ids=["with events of whole lists", "without any"],
)
def test_lists_have_who_was_in_them_in_the_order_of_then(seed: int, deeds: Deeds):
    random, moments = Random(seed), []
    groups, members = [group(name) for name in "abc"], [one.pk for one in peers(5)]
    for _ in range(30):
        some = random.sample(members, random.randint(0, len(members)))
        random.choice(deeds)(GroupPeer, random.choice(groups), some)
        moments.append((clock.now(), all_lists()))
    for moment, lists in moments:
        with account_at(moment):
            assert all_lists() == lists, "one by one"
        with account_at(moment):
            whole = ids_by_owner(GroupPeer)
            assert whole == {owner: keys for owner, keys in lists.items() if keys}


def test_who_came_before_the_trail_began_stood_before_all_others():
    made, (first, second) = group("a"), [one.pk for one in peers(2)]
    append_members(GroupPeer, made, [first])
    AuditEvent.objects.all().prune()
    append_members(GroupPeer, made, [second])
    moment = clock.now()
    drop_members(GroupPeer, made, [first])
    with account_at(moment):
        assert member_keys(GroupPeer, made) == [first, second]


def test_only_lists_that_are_asked_for_are_brought_back(busy: Group, api: Api):
    other = group("other", peer("alpha"))
    moment = clock.now()
    append_members(GroupPeer, other, [peer("beta").pk])
    drop_members(GroupPeer, busy, member_keys(GroupPeer, busy))
    with statements() as found, account_at(moment):
        assert len(member_keys(GroupPeer, other)) == 1
        assert len(member_keys(GroupPeer, busy)) == 1
        assert GroupPeer.objects.count() == 2
    copies = [sql for sql in found if sql.startswith("CREATE TEMPORARY")]
    assert len(copies) == 1
    with statements() as found, account_at(moment):
        assert Group.objects.filter(name="busy").exists()
    assert not any("CREATE TEMPORARY" in sql for sql in found)


def test_an_object_deleted_and_made_again_is_what_it_was(api: Api):
    made = ok(api.post("/api/networks", {"name": "office", "description": "a"}))
    path = f"/api/networks/{made['id']}"
    moment = between = clock.rfc3339(clock.now())
    for description in "bc":
        ok(api.put(path, {"name": "office", "description": description}))
        ok(api.delete(path))
        gone = api.get("/api/events/audit?page_size=1").json[0]["id"]
        ok(api.post(f"/api/events/audit/{gone}/revert", {"whole_request": True}))
        assert ok(api.get(f"{path}?at={moment}"))["description"] == "a"
        between = clock.rfc3339(clock.now())
    ok(api.delete(path))
    assert ok(api.get(f"{path}?at={moment}"))["description"] == "a"
    assert ok(api.get(f"{path}?at={between}"))["description"] == "c"


def test_a_secret_is_what_it_is_now():
    one, moment = person("owner"), clock.now()
    one.set_password("another")
    one.save()
    assert "password" in AuditEvent.objects.latest("id").changes
    with account_at(moment):
        assert User.objects.get(pk=one.pk).password == one.password


def test_what_the_version_before_wrote_is_taken_back_too(busy: Group, api: Api):
    moment = clock.rfc3339(clock.now())
    path = f"/api/groups/{busy.pk}"
    before = api.get(path).body
    ok(api.put(path, {"name": "renamed", "peers": [peer("alpha").pk]}))
    newer = changeable().filter(timestamp__gt=moment)
    assert newer.update(history_key=None) > 1
    assert api.get(f"{path}?at={moment}").body == before


def test_clocks_a_few_hours_apart_do_no_harm(busy: Group):
    newest = newest_event()
    rows = changeable()
    rows.filter(pk=newest.pk).update(timestamp=newest.timestamp - timedelta(hours=9))
    moment = AuditEvent.objects.order_by("-timestamp")[0].timestamp
    assert last_id_at(moment) == newest.pk
    assert last_id_at(newest.timestamp - timedelta(days=99)) is None


def test_too_many_changes_are_refused_at_once(
    busy: Group, api: Api, monkeypatch: pytest.MonkeyPatch
):
    came = AuditEvent.objects.filter(activity_code=Activity.PEER_GROUP_ADD)
    moment = came.order_by("id")[0].timestamp
    monkeypatch.setattr("meshmgmt.history.past.MOST", 3)
    with statements() as found:
        answer = api.get(f"/api/groups/{busy.pk}?at={clock.rfc3339(moment)}")
    assert answer.status == 422
    assert "more than 3 things were changed" in answer.json["message"]
    assert not any("CREATE TEMPORARY" in sql for sql in found)


class TestListsBesideOneThatChangesOften:
    @pytest.fixture(autouse=True)
    def lists(self, api: Api):
        """Two lists of the same groups, of which one is set again and again."""
        self.groups = [group(name).pk for name in "abc"]
        self.quiet, self.busy = (
            ok(api.post(SERVERS, nameserver_group(name=name, groups=self.groups)))["id"]
            for name in ("quiet", "busy")
        )
        self.edit(api)

    def edit(self, api: Api) -> None:
        for count in (1, 2, 1, 2, 3):
            body = nameserver_group(name="busy", groups=self.groups[:count])
            ok(api.put(f"{SERVERS}/{self.busy}", body))

    def test_they_keep_their_order(self, api: Api, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr("meshmgmt.history.lists.LISTS_READ", 3)
        moment, [before, _] = clock.rfc3339(clock.now()), ok(api.get(SERVERS))
        body = nameserver_group(name="quiet", groups=self.groups[1:])
        ok(api.put(f"{SERVERS}/{self.quiet}", body))
        self.edit(api)
        assert ok(api.get(f"{SERVERS}?at={moment}"))[0] == before

    def test_what_is_too_much_to_read_for_it_is_refused(
        self, api: Api, monkeypatch: pytest.MonkeyPatch
    ):
        moment = clock.rfc3339(clock.now())
        self.edit(api)
        assert api.get(f"{SERVERS}?at={moment}").status == 200
        monkeypatch.setattr("meshmgmt.history.lists.MOST", 3)
        answer = api.get(f"{SERVERS}?at={moment}")
        assert answer.status == 422
        assert "for the order of lists" in answer.json["message"]

    def test_they_are_looked_at_alone(self, api: Api, monkeypatch: pytest.MonkeyPatch):
        moment, path = clock.rfc3339(clock.now()), f"{SERVERS}/{self.quiet}"
        before = ok(api.get(path))
        self.edit(api)
        monkeypatch.setattr("meshmgmt.history.past.MOST", 3)
        assert ok(api.get(f"{path}?at={moment}")) == before
        assert api.get(f"{SERVERS}?at={moment}").status == 422


@pytest.mark.usefixtures("few_parameters")
@pytest.mark.sqlite
def test_more_lists_are_looked_at_than_a_statement_can_name():
    one, made = peer(), group("web")
    moment, before = clock.now(), AuditEvent.objects.latest("id").pk
    told = {"peers": {"added": [one.pk], "removed": []}}
    facts = {"activity_code": "group.add", "target_type": "group", "changes": told}
    AuditEvent.objects.bulk_create(
        AuditEvent(target_id=f"gone {number}", **facts)
        for number in range(MOST_PARAMETERS + 1)
    )
    append_members(GroupPeer, made, [one.pk])
    with account_at(moment):
        assert not GroupPeer.objects.exists()
    lists = {f"gone {number}": [one.pk] for number in range(ONE_BY_ONE + 1)}
    assert orders_before(GroupPeer, lists, 10**9) == lists
    assert not any(orders_before(GroupPeer, lists, before).values())


def test_members_of_several_columns_have_histories():
    event = AuditEvent(
        activity_code=Activity.RESOURCE_GROUP_ADD,
        target_id="g",
        target_type="group",
        meta={"id": "g", "resource_id": "a/b", "resource_type": "host"},
    )
    assert history_key(event) == "groupresource/g/a/b/host/+"


def test_who_came_with_a_new_order_keeps_its_place_in_it(api: Api):
    a, b, c = (group(name).pk for name in "abc")
    path = "/api/dns/settings"
    before = []
    for ids in ([a], [b, a], [c, b, a], [a, c], [b, a, c], [c]):
        ok(api.put(path, {"disabled_management_groups": ids}))
        before.append((clock.rfc3339(clock.now()), ids))
    for moment, ids in before:
        shown = ok(api.get(f"{path}?at={moment}"))
        assert shown["disabled_management_groups"] == ids
