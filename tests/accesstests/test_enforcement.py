"""A write that would break an enforced promise is refused, whatever its way."""

import io
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from dns.models import Record
from events.models import AuditEvent
from groups.models import Group
from groups.services import change_groups_of_peers
from meshmgmt.access.models import PostureCheck
from meshmgmt.accesstests.models import AccessTest
from meshmgmt.accesstests.standing import PromiseBroken, outcomes
from meshmgmt.accounts.models import User
from meshmgmt.inventory.models import Peer
from tests.accesstests.world import World, promise, state
from tests.admin.signed_in import client_of, form_data
from tests.api_client import Answer, Api
from tests.databases import undone
from tests.factories import Trail, changed, group, peers
from tests.history.writes import Writer
from tests.people import person
from tests.resource_contract import Body, ok, stored

pytestmark = pytest.mark.django_db

Way = Callable[[Api, World], Answer]


def rule_body(sources: list[str], destinations: list[str], **more: Any) -> Body:
    rule = {"name": "r", "enabled": True, "action": "accept", "protocol": "all",
            "bidirectional": True, "sources": sources,
            "destinations": destinations}  # fmt: skip
    return {"name": "more", "enabled": True, "rules": [rule | more]}


def policy_made(api: Api, world: World) -> Answer:
    return api.post("/api/policies", rule_body([world.guests.pk], [world.servers.pk]))


def posture_check_added(api: Api, world: World) -> Answer:
    newer = PostureCheck.objects.get(name="new").pk
    path = f"/api/policies/{world.policy.pk}"
    return api.put(path, {"source_posture_checks": [newer]})


def deed_reverted(api: Api, world: World) -> Answer:
    made = AuditEvent.objects.filter(activity_code="policy.add").latest("id")
    request = AuditEvent.objects.filter(request_id=made.request_id)
    newest = request.order_by("-id")[0]
    return api.post(f"/api/events/audit/{newest.pk}/revert", {"whole_request": True})


def with_members(api: Api, world: World, *members: Peer) -> Answer:
    body = {"name": "Staff", "peers": [one.pk for one in members]}
    return api.put(f"/api/groups/{world.staff.pk}", body)


NEWER = {"nb_version_check": {"min_version": "9.9.9"}}
WAYS: dict[str, Way] = {
    "policy made": policy_made,
    "policy switched off": lambda api, world: api.put(
        f"/api/policies/{world.policy.pk}", {"enabled": False}
    ),
    "policy deleted": lambda api, world: api.delete(f"/api/policies/{world.policy.pk}"),
    "rule that drops": lambda api, world: api.post(
        "/api/policies", rule_body([world.staff.pk], [world.servers.pk], action="drop")
    ),
    "group deleted": lambda api, world: api.delete(f"/api/groups/{world.staff.pk}"),
    "guest joins staff": lambda api, world: with_members(
        api, world, world.laptop, world.guest
    ),
    "laptop leaves staff": with_members,
    "server waits for approval": lambda api, world: api.put(
        f"/api/peers/{world.server.pk}", {"approval_required": True}
    ),
    "posture check added": posture_check_added,
    "posture check tightened": lambda api, world: api.put(
        f"/api/posture-checks/{PostureCheck.objects.get(name='old').pk}",
        {"checks": NEWER},
    ),
    "owner blocked": lambda api, world: api.put(
        f"/api/users/{world.laptop.user_id}", {"is_blocked": True}
    ),
    "deed reverted": deed_reverted,
}
LETS_GUESTS_IN = {"policy made", "guest joins staff"}


@pytest.fixture
def world(api: Api) -> World:
    """Promises that hold, by a policy that was made over HTTP."""
    made = World()
    made.policy.delete()
    ok(api.post("/api/posture-checks", {"name": "new", "checks": NEWER}))
    check = {"name": "old", "checks": {"nb_version_check": {"min_version": "0.1.0"}}}
    posture = ok(api.post("/api/posture-checks", check))
    Peer.objects.unaudited_update(version="1.0.0")
    made.laptop = changed(Peer.objects.get(pk=made.laptop.pk), user=person("user"))
    body = rule_body([made.staff.pk], [made.servers.pk])
    body |= {"name": "work", "source_posture_checks": [posture["id"]]}
    identifier = ok(api.post("/api/policies", body))["id"]
    made.policy = type(made.policy).objects.get(pk=identifier)
    assert state(made.reach()) == "passing"
    assert state(made.never()) == "passing"
    return made


def test_write_that_breaks_a_promise_is_refused_and_changes_nothing(
    api: Api, world: World
):
    found, expected = {}, {}
    before = stored()
    for name, way in WAYS.items():
        with undone():
            answer = way(api, world)
            told = [test["name"] for test in answer.json.get("tests", [])]
            because = [test["failures"][0]["because"] for test in answer.json["tests"]]
            words = answer.json["message"].partition(" would fail")[0]
            found[name] = answer.status, told, words, all(because), stored() == before
        broken = "apart" if name in LETS_GUESTS_IN else "work"
        expected[name] = 409, [broken], f"access test '{broken}'", True, True
    assert found == expected


def states() -> set[str]:
    return set(AccessTest.objects.values_list("state", flat=True))


def no_longer_enforced(api: Api) -> None:
    for test in AccessTest.objects.all():
        ok(api.put(f"/api/access-tests/{test.pk}", {"enforce": False}))


def test_test_that_is_not_enforced_refuses_nothing_and_says_that_it_fails(
    api: Api, world: World
):
    no_longer_enforced(api)
    found = {}
    for name, way in WAYS.items():
        with undone():
            trail = Trail()
            ok(way(api, world))
            failing = AccessTest.objects.filter(state="failing").count()
            found[name] = trail.codes.count("access_test.fail"), failing
    assert found == dict.fromkeys(WAYS, (1, 1))


def configured(deed: str, document: Body, folder: Path) -> None:
    """Plan or apply a document by the command."""
    file = folder / "wanted.json"
    file.write_bytes(orjson.dumps(document))
    call_command("config", deed, str(file), stdout=io.StringIO())


def test_document_that_breaks_a_promise_is_refused_as_a_whole(
    api: Api, world: World, tmp_path: Path
):
    document = ok(api.get("/api/config"))
    document["policies"] = []
    document["groups"] += [{"name": "new"}]
    before = stored()
    for deed in ("plan", "apply"):
        with pytest.raises(CommandError, match="access test 'work' would fail"):
            configured(deed, document, tmp_path)
    assert stored() == before


def test_document_may_change_a_promise_together_with_what_it_is_about(
    api: Api, world: World, tmp_path: Path
):
    """What counts is what a write leaves behind, not its steps."""
    document = ok(api.get("/api/config"))
    for policy in document["policies"]:
        policy["name"] = f"{policy['name']} anew"
    configured("apply", document, tmp_path)
    assert states() == {"passing"}
    document["policies"] = []
    [work] = [t for t in document["access_tests"] if t["name"] == "work"]
    assert work["source"] == {"kind": "peer", "id": world.laptop.dns_label}
    work["expect"] = "never"
    configured("apply", document, tmp_path)
    assert ok(api.get("/api/config"))["access_tests"] == document["access_tests"]
    assert states() == {"passing"}


def test_bulk_change_of_members_is_refused(world: World):
    before = stored()
    with pytest.raises(PromiseBroken, match=r"access test '.*' would fail") as told:
        change_groups_of_peers([world.guest.pk], join=[world.staff.pk])
    assert told.value.details["tests"]
    assert stored() == before


def test_command_that_breaks_a_promise_is_refused(world: World):
    owner = world.laptop.user
    assert owner is not None
    before = stored()
    with pytest.raises(CommandError, match="access test 'work' would fail"):
        call_command("users", "block", owner.email, stdout=io.StringIO())
    assert stored() == before


@pytest.fixture
def client(world: World) -> Client:
    return client_of(User.objects.get(role="owner", email__startswith="owner-"))


def test_admin_forms_show_why_they_refuse(world: World, client: Client):
    policy = f"/admin/access/policy/{world.policy.pk}/change/"
    disabled = form_data(client, policy)
    del disabled["enabled"]
    members = f"/admin/groups/group/{world.staff.pk}/members/paste/"
    guest = {"peers": world.guest.name, "add": "1"}
    before = stored()
    for path, sent, who in ((policy, disabled, "laptop"), (members, guest, "guest")):
        page = client.post(path, sent)
        assert page.status_code == 200
        assert f"would fail: {who} to db-01" in page.content.decode()
        assert stored() == before


def test_admin_switch_of_a_policy_is_refused_on_the_list(world: World, client: Client):
    path = f"/admin/access/policy/{world.policy.pk}/switch/"
    page = client.post(path, {"enabled": ""}, follow=True, headers={"Referer": "x?q=p"})
    assert page.redirect_chain == [("/admin/access/policy/?q=p", 302)]
    assert "would fail: laptop to db-01" in page.content.decode()
    world.policy.refresh_from_db()
    assert world.policy.enabled


def test_admin_deletion_tells_before_and_refuses(world: World, client: Client):
    path = f"/admin/groups/group/{world.staff.pk}/delete/"
    asked = client.get(path).content.decode()
    assert "access test &#x27;work&#x27; would fail" in asked
    before = stored()
    assert client.post(path, {"post": "yes"}).status_code in (302, 409)
    assert stored() == before


def test_write_that_repairs_or_leaves_a_failing_test_passes(api: Api, world: World):
    broken = world.promise("guests in", world.guests, world.servers, "reach")
    assert state(broken) == "failing"
    ok(api.post("/api/policies", rule_body([world.guests.pk], [group("x").pk])))
    assert state(broken) == "failing"
    apart = AccessTest.objects.get(name="apart")
    ok(api.put(f"/api/access-tests/{apart.pk}", {"enabled": False}))
    trail = Trail()
    ok(policy_made(api, world))
    assert state(broken) == "passing"
    assert trail.codes == ["policy.add", "rule.add", "access_test.pass"]
    assert trail.events[-1].meta["name"] == "guests in"


def test_plan_tells_which_tests_would_go_another_way(api: Api, world: World):
    ends = world.guests, world.servers
    loose = world.promise("loose", *ends, "never", enforce=False, protocol="icmp")
    apart = AccessTest.objects.get(name="apart")
    ok(api.put(f"/api/access-tests/{apart.pk}", {"protocol": "udp"}))
    body = rule_body([world.guests.pk], [world.servers.pk], protocol="icmp")
    plan = ok(api.post("/api/policies?dry_run=true", body))["plan"]
    [told] = plan["tests"]
    went = told["id"], told["before"], told["after"]
    assert went == (loose.pk, "passing", "failing")
    assert told["failures"][0]["source"]["name"] == "guest"
    assert state(loose) == "passing"
    keeps = rule_body([world.guests.pk], [group("x").pk])
    assert ok(api.post("/api/policies?dry_run=true", keeps))["plan"]["tests"] == []


def test_dry_run_of_what_is_refused_is_refused_alike(api: Api, world: World):
    answer = api.delete(f"/api/policies/{world.policy.pk}?dry_run=true")
    assert answer.status == 409
    assert [test["name"] for test in answer.json["tests"]] == ["work"]


def test_revert_takes_back_a_write_after_which_a_test_failed(api: Api, world: World):
    no_longer_enforced(api)
    trail = Trail()
    ok(policy_made(api, world))
    assert trail.codes[-1] == "access_test.fail"
    newest = trail.events[-1].pk
    ok(api.post(f"/api/events/audit/{newest}/revert", {"whole_request": True}))
    assert states() == {"passing"}


def test_deleted_test_comes_back_and_is_judged(api: Api, world: World):
    apart = AccessTest.objects.get(name="apart")
    trail = Trail()
    ok(api.delete(f"/api/access-tests/{apart.pk}"))
    ok(policy_made(api, world))
    [gone] = [e for e in trail.events if e.activity_code == "access_test.delete"]
    ok(api.post(f"/api/events/audit/{gone.pk}/revert"))
    assert state(apart) == "failing"


def test_test_was_what_it_was(api: Api, world: World):
    apart = AccessTest.objects.get(name="apart")
    moment = ok(api.get("/api/events/audit?page_size=1"))[0]["timestamp"]
    path = f"/api/access-tests/{apart.pk}"
    ok(api.put(path, {"expect": "reach", "enforce": False}))
    before, now = ok(api.get(f"{path}?at={moment}")), ok(api.get(path))
    assert (before["expect"], before["state"]) == ("never", "passing")
    assert (now["expect"], now["state"]) == ("reach", "failing")


class Mover(Writer):
    """Writes, and more often moves peers between groups."""

    def move(self) -> None:
        groups = self._ids("groups")
        if groups:
            peers = self._random.sample(list(self._peers), 2)
            chosen = self._some(groups)
            change_groups_of_peers(peers, join=chosen[::2], leave=chosen[1::2])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_states_on_record_are_those_of_judging_everything_anew(api: Api, seed: int):
    """What a write cannot have touched is not looked at: nothing else may be left out."""
    chance = Random(seed)
    machines = peers(5)
    writer = Mover(api, chance, [one.pk for one in machines])
    for _ in range(24):
        writer.write()
    owners = [person("user", email=f"{n}@mesh.test") for n in range(2)]
    for one, owner in zip(machines, owners, strict=False):
        changed(one, user=owner)
    groups = list(Group.objects.all())
    names = [each.canonical_name for each in Record.objects.all()]
    for number in range(24):
        ends: list[Any] = [chance.choice(groups), chance.choice([*machines, *owners])]
        facts: dict[str, Any] = {"protocol": "tcp", "port": chance.randint(1, 99)}
        if number % 2:
            facts = {"kind": "dns"}
            ends = [chance.choice(ends), chance.choice([*names, "a.z9.example"])]
        elif ends[1] in owners:
            ends.reverse()
        else:
            chance.shuffle(ends)
        source, target = ends
        expect = chance.choice(["reach", "never"])
        facts["enforce"] = chance.random() < 0.3
        promise(f"t{number}", source, target, expect, **facts)
    for _ in range(40):
        with suppress(PromiseBroken):
            chance.choice([writer.write, writer.move, writer.move])()
        enabled = AccessTest.objects.filter(enabled=True)
        on_record = {test.pk: (test.name, test.state) for test in enabled}
        anew = {test.pk: (test.name, found.state) for test, found in outcomes(enabled)}
        assert on_record == anew
    assert AccessTest.objects.filter(enabled=True).exists()


def test_a_failing_test_tells_the_new_name_of_a_group(api: Api, world: World):
    test = world.promise("wish", world.guest, world.server, "reach", enforce=False)
    assert "were peer guest in Staff" in str(stored_failures(test))
    body = {"name": "Crew", "peers": [world.laptop.pk]}
    ok(api.put(f"/api/groups/{world.staff.pk}", body))
    assert "were peer guest in Crew" in str(stored_failures(test))


def test_what_changes_no_way_judges_no_test(api: Api, world: World):
    world.promise("kept", world.laptop, world.server, "reach")
    world.promise("wish", world.guest, world.server, "reach", enforce=False)
    policy = ok(api.get(f"/api/policies/{world.policy.pk}"))
    network = ok(api.post("/api/networks", {"name": "n"}))
    at = f"/api/networks/{network['id']}/resources"
    body = {"name": "lan", "address": "10.9.0.0/24", "enabled": True, "groups": []}
    lan = f"{at}/{ok(api.post(at, body))['id']}"

    def looks() -> list[object]:
        asked = AccessTest.objects.filter(name__in=["kept", "wish"]).order_by("name")
        return list(asked.values_list("checked_at", flat=True))

    before = looks()
    made = ok(api.post("/api/groups", {"name": "new"}))
    ok(api.put(lan, {**body, "description": "of the floor"}))
    rules = [policy["rules"][0] | {"description": "r"}]
    told = policy | {"description": "other", "rules": rules}
    ok(api.put(f"/api/policies/{policy['id']}", as_body(told)))
    ok(api.delete(f"/api/groups/{made['id']}"))
    assert looks() == before
    ok(api.put(lan, {**body, "name": "floor"}))
    passing, failing = looks()
    assert (passing, failing != before[1]) == (before[0], True)
    ok(api.put(lan, {**body, "enabled": False}))
    assert looks()[0] != passing


def as_body(policy: Body) -> Body:
    """Return a policy as it is sent: groups by their ids."""
    sides = ("sources", "destinations")
    rules = [
        rule | {side: [group["id"] for group in rule[side] or ()] for side in sides}
        for rule in policy["rules"]
    ]
    return policy | {"rules": rules}


def stored_failures(test: AccessTest) -> object:
    return AccessTest.objects.get(pk=test.pk).failures


def test_new_test_that_fails_is_told_of_before_it_is_said_to_fail(world: World):
    trail = Trail()
    test = world.promise("closed", world.guest, world.server, "reach")
    assert state(test) == "failing"
    assert trail.codes == ["access_test.create", "access_test.fail"]


def test_the_page_that_asks_before_a_deletion_says_what_it_ends():
    world = World()
    tests = [world.reach(), world.never(enforce=False)]
    operator = client_of(person("owner"))
    text = "will not be refused any more"
    for test, number in zip(tests, (1, 0), strict=True):
        path = f"/admin/accesstests/accesstest/{test.pk}/delete/"
        assert operator.get(path).content.decode().count(text) == number


def test_the_page_that_asks_before_a_block_says_which_tests_will_fail():
    world = World()
    test = world.reach(enforce=False)
    path = f"/admin/inventory/peer/{world.server.pk}/block/"
    page = client_of(person("owner")).get(path).content.decode()
    assert f"{test.name}</a>: will fail" in page
