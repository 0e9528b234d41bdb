"""Reverting: every change can be taken back exactly, or says why it cannot."""

from random import Random
from typing import Any

import pytest
from django.db import connection
from django.db.models.signals import post_init

from dns.services.zones import records
from events.activities import Activity
from events.audit.emission import audit_record
from events.models import AuditEvent
from groups.models import Group
from groups.services import group_create, group_update
from meshmgmt.access.models import Policy, SetupKey
from meshmgmt.access.services.enrolment import setup_key_rotate
from meshmgmt.accounts.services.users import user_approve, user_create, user_rename
from meshmgmt.core import context
from meshmgmt.core.context import account_id
from meshmgmt.core.ids import new_id
from meshmgmt.core.orderedlinks import all_links, link_rows
from meshmgmt.core.queries import MOST_PARAMETERS
from meshmgmt.core.transactions import write_beginning
from meshmgmt.history import reverting
from meshmgmt.inventory.models import Peer
from meshmgmt.inventory.services.peers import peer_update
from tests.api_client import Answer, Api
from tests.dns import bodies
from tests.factories import Trail, group, newest_event, peer, peers, rule, setup_key
from tests.history.writes import AddressWriter, check_at_random
from tests.people import api_as, person, robot
from tests.resource_contract import Body, ok, stored

pytestmark = pytest.mark.django_db

TRACES = {
    "events_auditevent",
    "control_mapchange",
    "api_keptanswer",
    "dns_dnssettings",  # a row without columns
}


def state() -> dict[str, list[Any]]:
    """Everything that is stored; of lists the members in their order."""
    lists = {
        link._meta.db_table: sorted(
            link_rows(link, None, *link.member_fields), key=lambda row: str(row[0])
        )
        for link in all_links()
    }
    found = stored().items()
    return {name: sorted(rows) for name, rows in found if name not in TRACES} | lists


def newest() -> int:
    return newest_event().pk


def revert(
    api: Api, event: int, query: str = "", *, whole: bool = True, **headers: str
) -> Answer:
    path = f"/api/events/audit/{event}/revert{query}"
    return api.post(path, {"whole_request": whole}, **headers)


def refused(api: Api, event: int, words: str, *, whole: bool = True) -> None:
    """Check that a change is not taken back, says why, and nothing is written."""
    before = stored()
    body = {"whole_request": True} if whole else None
    answer = api.post(f"/api/events/audit/{event}/revert", body)
    assert answer.status == 409, answer.json
    assert words in answer.json["message"]
    assert stored() == before


def of_code(code: str) -> int:
    """Return the newest event with this code."""
    return AuditEvent.objects.filter(activity_code=code).latest("id").pk


class TestWhatComesBack:
    def test_a_deleted_group_with_all_that_went_along(self, api: Api, web: Group):
        before = state()
        ok(api.delete(f"/api/groups/{web.pk}"))
        assert not Policy.objects.exclude(name="Default").get().enabled
        ok(revert(api, newest()))
        assert state() == before

    def test_one_event_of_several(self, api: Api, web: Group):
        ok(api.put(f"/api/groups/{web.pk}", {"name": "other", "peers": []}))
        renamed = AuditEvent.objects.get(activity_code="group.update")
        ok(api.post(f"/api/events/audit/{renamed.pk}/revert"))
        found = ok(api.get(f"/api/groups/{web.pk}"))
        assert (found["name"], found["peers"]) == ("web", [])

    def test_who_may_sign_in_by_ssh(self, api: Api, web: Group):
        rule = {
            "name": "ssh",
            "enabled": True,
            "action": "accept",
            "bidirectional": True,
            "protocol": "netbird-ssh",
            "sources": [web.pk],
            "destinations": [web.pk],
        }

        def body(*logins: str) -> Body:
            signing_in = {web.pk: list(logins)} if logins else {}
            rules = [rule | {"authorized_groups": signing_in}]
            return {"name": "ssh", "enabled": True, "rules": rules}

        made = ok(api.post("/api/policies", body("root", "bob")))["id"]
        path = f"/api/policies/{made}"
        before = state()
        for deed in (
            lambda: api.put(path, body()),
            lambda: api.put(path, body("eve")),
            lambda: api.delete(path),
            lambda: api.delete(f"/api/groups/{web.pk}"),
        ):
            ok(deed())
            event = newest()
            ok(revert(api, event, "?dry_run=true"))
            ok(revert(api, event))
            assert state() == before

    def test_settings_of_the_account_and_of_dns(self, api: Api, web: Group):
        before = state()
        path = f"/api/accounts/{account_id()}"
        shown = ok(api.get(path))["settings"]
        ok(api.put(path, {"settings": shown | {"dns_domain": "other.example"}}))
        first = newest()
        body = {"disabled_management_groups": [web.pk]}
        ok(api.put("/api/dns/settings", body))
        ok(revert(api, newest()))
        ok(revert(api, first))
        assert state() == before

    def test_a_role(self, api: Api):
        user = person("user")
        before = state()
        body = {"role": "admin", "auto_groups": [], "is_blocked": False}
        ok(api.put(f"/api/users/{user.pk}", body))
        ok(revert(api, newest()))
        assert state() == before

    @pytest.mark.usefixtures("wide_range")
    def test_a_peer_with_its_address_and_groups(self, api: Api, web: Group):
        before = {name: rows for name, rows in state().items() if "peer" in name}
        alpha = ok(api.get(f"/api/groups/{web.pk}"))["peers"][0]["id"]
        ok(api.delete(f"/api/peers/{alpha}"))
        ok(revert(api, newest()))
        after = state()
        assert {name: after[name] for name in before} == before

    def test_a_switch_of_a_peer_that_its_event_names_by_address(self, api: Api):
        one = peer("alpha", ssh_enabled=False)
        ok(api.put(f"/api/peers/{one.pk}", {"name": "alpha", "ssh_enabled": True}))
        event = AuditEvent.objects.get(pk=newest())
        assert event.target_id == one.ip
        ok(revert(api, event.pk))
        one.refresh_from_db()
        assert not one.ssh_enabled

    @pytest.mark.usefixtures("wide_range")
    def test_a_switch_of_the_peer_that_had_the_address_then(self, api: Api):
        first = peer(ip="100.64.9.1", ssh_enabled=False)
        second = peer(ip="100.64.9.2", ssh_enabled=True)
        peer_update(peer_id=first.pk, ssh_enabled=True)
        event = newest()
        peer_update(peer_id=first.pk, ip="100.64.9.3")
        peer_update(peer_id=second.pk, ip="100.64.9.1")
        ok(revert(api, event))
        switched = Peer.objects.filter(ssh_enabled=True)
        assert list(switched.values_list("pk", flat=True)) == [second.pk]

    def test_what_several_writes_of_one_request_did(self, api: Api):
        with context.scope(request_id="r"):
            made = group("web", peer())
            group_update(group_id=made.pk, name="web", peers=[], resources=[])
        ok(revert(api, newest()))
        assert not Group.objects.filter(pk=made.pk).exists()

    @pytest.mark.usefixtures("few_parameters")
    @pytest.mark.sqlite
    def test_a_group_of_more_than_a_statement_can_name(self, api: Api):
        made = group("web", *peers(MOST_PARAMETERS + 1))
        ok(api.delete(f"/api/groups/{made.pk}"))
        ok(revert(api, newest()))
        assert made.peer_links.count() == MOST_PARAMETERS + 1

    def test_it_is_a_change_of_its_own(self, api: Api, web: Group):
        ok(api.put(f"/api/groups/{web.pk}", {"name": "other", "peers": []}))
        event = newest()
        trail = Trail()
        ok(revert(api, event))
        assert trail.codes
        assert {str(event) in e.meta["reason"] for e in trail.events} == {True}


class TestWhatStandsInTheWay:
    def test_twice(self, api: Api, web: Group):
        ok(api.delete(f"/api/groups/{web.pk}"))
        event = newest()
        ok(revert(api, event))
        refused(api, event, "is there already")

    def test_a_later_change_of_the_same_field(self, api: Api, web: Group):
        path = f"/api/groups/{web.pk}"
        kept = {"peers": [p["id"] for p in ok(api.get(path))["peers"]]}
        ok(api.put(path, {"name": "second", **kept}))
        event = newest()
        ok(api.put(path, {"name": "third", **kept}))
        refused(api, event, "name was changed since")

    @pytest.mark.parametrize("member", [False, True])
    def test_what_was_made_is_not_deleted_with_what_changed_since(
        self, api: Api, member: bool
    ):
        made = ok(api.post("/api/groups", {"name": "new"}))
        event = newest()
        peers = [peer().pk] if member else []
        name = "new" if member else "renamed"
        ok(api.put(f"/api/groups/{made['id']}", {"name": name, "peers": peers}))
        refused(api, event, "was changed since")

    def test_use_by_others_since(self, api: Api, web: Group):
        made = ok(api.post("/api/groups", {"name": "new"}))
        event = newest()
        rule([Group.objects.get(pk=made["id"])], [web])
        refused(api, event, "would change others, too")

    def test_a_name_that_was_given_away(self, api: Api, web: Group):
        ok(api.delete(f"/api/groups/{web.pk}"))
        event = newest()
        ok(api.post("/api/groups", {"name": "web"}))
        refused(api, event, "")

    def test_a_secret(self, api: Api):
        body = {"name": "k", "type": "one-off", "expires_in": 86400, "usage_limit": 1}
        made = ok(api.post("/api/setup-keys", body))
        ok(api.delete(f"/api/setup-keys/{made['id']}"))
        refused(api, newest(), "secret")

    def test_what_is_no_object_of_the_account(self, api: Api):
        path = f"/api/users/{robot().pk}/tokens"
        ok(api.post(path, {"name": "t", "expires_in": 9}))
        refused(api, newest(), "not brought back")

    def test_what_is_no_change(self, api: Api):
        with context.scope():
            audit_record(Activity.DASHBOARD_LOGIN, target_id="x", meta={})
        refused(api, newest(), "is not a change")

    def test_wrong_bodies_are_400(self, api: Api, web: Group):
        path = f"/api/events/audit/{newest()}/revert"
        assert api.post(path, {"whole_request": "yes"}).status == 400

    def test_who_may_not_change_the_object(self, api: Api, web: Group):
        ok(api.delete(f"/api/groups/{web.pk}"))
        event = newest()
        assert revert(api_as("auditor"), event).status == 403
        assert revert(api_as("user"), event).status == 403
        assert revert(api_as("network_admin"), event).status == 200

    @pytest.mark.parametrize("change", ["email", "pending_approval"])
    def test_what_the_api_does_not_change(self, api: Api, change: str):
        email = "ada@mesh.dev"
        user = user_create(role="user", name="Ada", email=email, pending=True)
        user_approve(user_id=user.pk)
        if change == "email":
            user_rename(user_id=user.pk, name="Ada", email="other@mesh.dev")
        refused(api, newest(), f"{change} cannot be changed back")

    def test_an_admin_gives_no_ownership(self, api: Api):
        second = person("owner")
        body = {"role": "admin", "auto_groups": [], "is_blocked": False}
        ok(api.put(f"/api/users/{second.pk}", body))
        assert revert(api_as("admin"), newest()).status in (403, 409)
        second.refresh_from_db()
        assert second.role == "admin"


def test_somebody_who_had_no_name_has_none_again(api: Api):
    user = person("user", name="")
    ok(api.put(f"/api/users/{user.pk}", {"name": "Ada"}))
    ok(revert(api, newest()))
    user.refresh_from_db()
    assert user.name == ""


def test_a_revert_can_be_planned_and_guarded(api: Api, web: Group):
    ok(api.delete(f"/api/groups/{web.pk}"))
    event = newest()
    before = stored()
    planned: Body = ok(revert(api, event, "?dry_run=true"))
    assert stored() == before
    done = {(o["action"], o["type"]) for o in planned["plan"]["objects"]}
    assert ("created", "group") in done
    assert planned["plan"]["peers"]["maps"]["count"] == 3
    ok(revert(api, event, **{"X-Plan-Hash": planned["plan_hash"]}))


@pytest.mark.parametrize("bound", ["MOST_OBJECTS", "MOST_EVENTS"])
def test_too_much_is_refused_without_reading_what_it_was(
    api: Api, monkeypatch: pytest.MonkeyPatch, bound: str
):
    with context.scope(request_id=new_id()):
        for number in range(9):
            group_create(name=f"group {number}")
    event = newest()
    monkeypatch.setattr(reverting, bound, 8)
    read: list[int] = []

    def note(instance: AuditEvent, **kwargs: Any) -> None:
        read.append(instance.pk)

    post_init.connect(note, sender=AuditEvent)
    answer = revert(api, event)
    post_init.disconnect(note, sender=AuditEvent)
    assert answer.status == 409
    assert "too many to take back at once" in answer.json["message"]
    assert read == [event]


def test_what_was_is_looked_for_before_anybody_waits(api: Api, web: Group):
    ok(api.delete(f"/api/groups/{web.pk}"))
    event = newest()
    before: list[str] = []
    under: list[str] = []
    statements = before

    def note(execute: Any, sql: str, *rest: Any) -> Any:
        if sql.startswith("SELECT") and ('"changes"' in sql or "history_key" in sql):
            statements.append(sql)
        return execute(sql, *rest)

    def taken(**kwargs: Any) -> None:
        nonlocal statements
        statements = under

    write_beginning.connect(taken)
    with connection.execute_wrapper(note):
        ok(revert(api, event))
    assert statements is under
    assert any("history_key = " in sql for sql in before)  # the places in lists
    assert under == []


@pytest.mark.usefixtures("wide_range")
@pytest.mark.parametrize(
    ("examples", "writes"), [(3, 12), pytest.param(2, 40, marks=pytest.mark.slow)]
)
def test_histories_are_taken_back_to_their_beginning(examples: int, writes: int):
    for number in (3, 4, 2, 7, 9, 5):  # with gaps between them
        peer(ip=f"100.64.0.{number}")
    caller = api_as()

    def taken_back(random: Random) -> None:
        writer = AddressWriter(caller, random)
        steps = []
        for _ in range(writes):
            before, newest_before = state(), Trail().start
            writer.write()
            if newest() > newest_before:
                steps.append((newest(), before))
        assert steps
        for event, before in reversed(steps):
            ok(revert(caller, event))
            assert state() == before

    check_at_random(taken_back, examples)


class TestRulesThatHoldForRevertsToo:
    """What the API refuses is not done by going back either."""

    def test_a_revoked_setup_key_stays_revoked(self, api: Api):
        body = {"name": "k", "type": "reusable", "expires_in": 0, "usage_limit": 0}
        path = f"/api/setup-keys/{ok(api.post('/api/setup-keys', body))['id']}"
        ok(api.put(path, {"revoked": True, "auto_groups": []}))
        refused(api, newest(), "stays revoked")

    def test_a_rotated_setup_key_gets_its_end_back(self, api: Api):
        old = setup_key(expires_in=10 * 24 * 60 * 60)
        setup_key_rotate(key_id=old.pk, at_once=False)
        ended = AuditEvent.objects.filter(activity_code="setupkey.update").get()
        ok(revert(api, ended.pk))
        assert SetupKey.objects.get(pk=old.pk).expires_at == old.expires_at

    def test_an_admin_deletes_no_owner(self, api: Api):
        owner = person("owner")
        event = newest()
        assert revert(api_as("admin"), event).status == 403
        assert owner.pk in {user["id"] for user in ok(api.get("/api/users"))}

    def test_an_admin_changes_no_groups_of_an_owner(self, api: Api, web: Group):
        path = f"/api/users/{person('owner').pk}"
        body = {"role": "owner", "is_blocked": False}
        ok(api.put(path, {**body, "auto_groups": [web.pk]}))
        event = newest()
        assert revert(api_as("admin"), event).status == 403
        ok(revert(api, event))

    def test_what_every_account_has_stays(self, api: Api):
        ok(api.get("/api/accounts"))
        for code in ("account.create", "group.add"):
            made = AuditEvent.objects.filter(activity_code=code).order_by("id")[0]
            refused(api, made.pk, "cannot be deleted", whole=False)

    def test_a_policy_keeps_a_rule(self, api: Api, web: Group):
        refused(api, of_code("rule.add"), "at least one rule", whole=False)


class TestPartsOfWhatWasDone:
    def test_what_belongs_to_something_that_is_gone(self, api: Api, web: Group):
        policy = Policy.objects.exclude(name="Default").get()
        ok(api.delete(f"/api/policies/{policy.pk}"))
        gone = of_code("rule.delete")
        refused(api, gone, "its policy was deleted since", whole=False)

    def test_records_that_cannot_stand_at_one_name(self, api: Api):
        zone = ok(api.post("/api/dns/zones", bodies.zone(domain="z.internal")))
        address = bodies.record(name="a.z.internal", type="A", content="10.0.0.1")
        alias = {**address, "type": "CNAME", "content": "b.z.internal"}
        for body in (address, alias):
            path = f"/api/dns/zones/{zone['id']}/records"
            made = ok(api.post(path, body))
            with context.scope(request_id="both"):
                records.delete(made["id"])
        refused(api, newest(), "must be alone")

    def test_one_member_twice(self, api: Api, web: Group):
        ok(api.put(f"/api/groups/{web.pk}", {"name": "web", "peers": []}))
        event = newest()
        ok(api.post(f"/api/events/audit/{event}/revert"))
        refused(api, event, "peers was changed since", whole=False)

    def test_the_order_of_a_list_comes_back_unless_it_is_another_since(
        self, api: Api, web: Group
    ):
        path = f"/api/groups/{web.pk}"
        old, two = [p["id"] for p in ok(api.get(path))["peers"]], peer().pk
        events = []
        for members in (old[::-1], [*old[::-1], two], [two, *old[::-1]]):
            ok(api.put(path, {"name": "web", "peers": members}))
            events.append(newest())
        ok(revert(api, events[2]))
        assert [p["id"] for p in ok(api.get(path))["peers"]] == [*old[::-1], two]
        ok(revert(api, events[0]))
        assert [p["id"] for p in ok(api.get(path))["peers"]] == [*old, two]
        refused(api, events[0], "peers was changed since")

    def test_a_member_comes_back_to_its_old_place(self, api: Api, web: Group):
        path = f"/api/groups/{web.pk}"
        old = [p["id"] for p in ok(api.get(path))["peers"]]
        ok(api.put(path, {"name": "web", "peers": old[1:]}))
        ok(revert(api, newest()))
        assert [p["id"] for p in ok(api.get(path))["peers"]] == old

    def test_a_member_that_is_gone_does_not_come_back(self, api: Api):
        network = ok(api.post("/api/networks", {"name": "n"}))
        made = group("web")
        path = f"/api/networks/{network['id']}/resources"
        body = {"name": "r", "address": "10.0.0.1", "groups": [made.pk]}
        ok(api.post(path, {**body, "enabled": True}))
        ok(api.delete(f"/api/networks/{network['id']}"))
        gone = of_code("resource.group.delete")
        refused(api, gone, "resources is gone", whole=False)
        ok(revert(api, gone))

    def test_what_depends_on_it_is_named(self, api: Api, web: Group):
        network = ok(api.post("/api/networks", {"name": "n"}))
        event = newest()
        router = {"peer_groups": [web.pk], "metric": 9, "masquerade": True}
        path = f"/api/networks/{network['id']}/routers"
        made = ok(api.post(path, {**router, "enabled": True}))
        refused(api, event, f"router '{made['id']}'")
