"""Making, changing and deleting users over HTTP."""

from collections.abc import Iterator
from typing import Any

import pytest

from groups.models import Group, GroupPeer
from groups.selectors import all_group_id
from meshmgmt.accounts.models import AccessToken, User
from meshmgmt.accounts.services.users import user_set_blocked
from meshmgmt.core.roles import permissions_of
from meshmgmt.inventory.models import Peer
from tests.api_client import Api
from tests.factories import Trail, account_settings, changed, group, group_id, peer
from tests.people import api_as, api_of, person, robot
from tests.resource_contract import TAKEN, Body, Fault, ResourceContract, ok, refusal

pytestmark = pytest.mark.django_db

PATH = "/api/users"
STRONG = "Correct-Horse-1"


@pytest.fixture
def api(owner: User) -> Api:
    return api_of(owner)


def ann(**changes: Any) -> Body:
    body = {"email": "ann@mesh.dev", "name": "Ann", "role": "auditor"}
    return body | {"auto_groups": [], "is_service_user": False} | changes


class TestUsers(ResourceContract):
    path = PATH
    required = ("email", "name")
    created_codes = ("user.create", "user.group.add")
    deleted_codes = ("user.group.delete", "user.delete")
    updates = {"name": "Anna"}
    fixed = frozenset({"email", "name", "role"})

    def body(self, number: int = 1) -> Body:
        return ann(email=f"ann{number}@mesh.dev", auto_groups=[group_id("team")])

    def readable(self, made: Body) -> Body:
        return {name: value for name, value in made.items() if name != "password"}

    def refused(self) -> Iterator[Fault]:
        yield {"role": "king"}, 422, "role", "'king' is not a role"
        yield {"role": "owner"}, 422, "role", "cannot have the owner role"
        owner = {"role": "owner", "is_service_user": True}
        yield owner, 422, "role", "a service user cannot have the owner role"
        yield {"name": ""}, 422, "name", "the name must not be empty or blank"
        yield {"name": "n" * 256}, 422, "name", "has more than 255 characters"
        for email in ("", "ann"):
            yield {"email": email}, 422, "email", f"'{email}' is not an e-mail address"
        taken = {"email": f"ANN{TAKEN}@mesh.dev"}
        yield taken, 409, "email", "another user has this e-mail"
        for bad, text in (("x", "group 'x' was not found"), (all_group_id(), "All")):
            yield {"auto_groups": [bad]}, 422, "auto_groups[0]", text


class TestCreation:
    def test_person_gets_a_one_time_password_shown_once(self, api: Api):
        team = group("team").pk
        made = ok(api.post(PATH, ann(auto_groups=[team])))
        password = made.pop("password")
        assert made == {
            "id": made["id"],
            "email": "ann@mesh.dev",
            "name": "Ann",
            "role": "auditor",
            "status": "active",
            "auto_groups": [team],
            "is_current": False,
            "is_service_user": False,
            "is_blocked": False,
            "pending_approval": False,
            "last_login": "0001-01-01T00:00:00Z",
            "issued": "api",
            "permissions": {
                "is_restricted": False,
                "modules": permissions_of("auditor"),
            },
        }
        assert User.objects.get(pk=made["id"]).check_password(password)

    def test_service_user_has_neither_email_nor_password(self, api: Api):
        made = ok(api.post(PATH, ann(is_service_user=True, name="", role="admin")))
        assert (made["email"], made["is_service_user"]) == ("", True)
        assert "password" not in made
        assert made["status"] == "active"

    def test_role_defaults_to_the_least(self, api: Api):
        made = ok(api.post(PATH, {"email": "a@mesh.dev", "name": "a"}))
        assert made["role"] == "user"


class TestUpdate:
    @pytest.mark.parametrize(
        ("changes", "code"),
        [
            ({"role": "admin"}, "user.role.update"),
            ({"name": "Anna"}, "user.update"),
            ({"is_blocked": True}, "user.block"),
            ({"auto_groups": ["<team>"]}, "user.group.add"),
        ],
    )
    def test_each_change_has_its_event(self, api: Api, changes: Body, code: str):
        made = ok(api.post(PATH, ann()))
        if "auto_groups" in changes:
            changes = {"auto_groups": [group("team").pk]}
        trail = Trail()
        ok(api.put(f"{PATH}/{made['id']}", changes))
        assert trail.targets == [(code, made["id"])]
        assert trail.events[0].meta["email"] == "ann@mesh.dev"

    def test_blocked_user_is_shown_as_such_and_can_come_back(self, api: Api):
        someone = person("auditor")
        theirs, one = api_of(someone), f"{PATH}/{someone.pk}"
        assert ok(api.put(one, {"is_blocked": True}))["status"] == "blocked"
        assert "blocked" in refusal(theirs.get("/api/groups"), 403)
        trail = Trail()
        assert ok(api.put(one, {"is_blocked": False}))["status"] == "active"
        assert trail.codes == ["user.unblock"]
        assert theirs.get("/api/groups").status == 200

    def test_blocking_expires_the_logins_of_their_peers(self, api: Api):
        someone = person("user")
        mine, other = peer("mine", user=someone), peer("other")
        trail = Trail()
        ok(api.put(f"{PATH}/{someone.pk}", {"is_blocked": True}))
        assert trail.targets == [
            ("user.block", someone.pk),
            ("peer.login.expire", mine.pk),
        ]
        assert trail.events[1].meta["reason"] == "the owner of the peer was blocked"
        assert not Peer.objects.get(pk=other.pk).login_expired

    def test_owner_who_gives_the_role_away_becomes_admin(self, api: Api, owner: User):
        someone = person("admin")
        trail = Trail()
        shown = ok(api.put(f"{PATH}/{someone.pk}", {"role": "owner"}))
        assert shown["role"] == "owner"
        assert User.objects.get(pk=owner.pk).role == "admin"
        updates = [("user.role.update", one.pk) for one in (owner, someone)]
        assert sorted(trail.targets) == [
            ("transferred.owner.role", someone.pk),
            *sorted(updates),
        ]

    @pytest.mark.parametrize(
        ("make", "field", "value", "message"),
        [
            (person, "role", "king", "'king' is not a role"),
            (person, "name", "n" * 256, "has more than 255 characters"),
            (person, "name", "", "the name must not be empty or blank"),
            (person, "name", " ", "the name must not be empty or blank"),
            (person, "name", None, "the name must not be empty or blank"),
            (robot, "name", "n" * 256, "at most 255 characters"),
            (robot, "role", "owner", "a service user cannot have the owner role"),
        ],
    )
    def test_broken_rule_is_refused(
        self, api: Api, *, make: Any, field: str, value: str | None, message: str
    ):
        answer = api.put(f"{PATH}/{make('user').pk}", {field: value})
        assert message in refusal(answer, 422)
        assert list(answer.fields) == [field]

    def test_name_may_be_empty_for_programs_and_where_it_is(self, api: Api):
        for one in robot(), person("user", name=""):
            shown = ok(api.put(f"{PATH}/{one.pk}", {"name": "", "role": "admin"}))
            assert (shown["name"], shown["role"]) == ("", "admin")


OF_OWNERS = "only owners may change an owner"


@pytest.mark.parametrize(
    ("caller", "target", "changes", "status", "message"),
    [
        ("admin", "owner", {"role": "user"}, 403, OF_OWNERS),
        ("admin", "owner", {"is_blocked": True}, 403, OF_OWNERS),
        ("admin", "owner", {"name": "x"}, 403, OF_OWNERS),
        ("admin", "owner", {"auto_groups": []}, 403, OF_OWNERS),
        (
            "admin",
            "user",
            {"role": "owner"},
            403,
            "only owners may give the owner role",
        ),
        ("admin", "self", {"role": "user"}, 403, "nobody may change their own role"),
        ("admin", "self", {"is_blocked": True}, 403, "block or unblock themselves"),
        ("owner", "self", {"role": "admin"}, 403, "nobody may change their own role"),
        ("owner", "owner", {"is_blocked": True}, 403, "an owner cannot be blocked"),
        ("user", "self", {"name": "x"}, 403, "may not update users"),
        ("owner", "self", "DELETE", 422, "nobody may delete themselves"),
        ("admin", "self", "DELETE", 422, "nobody may delete themselves"),
        ("owner", "owner", "DELETE", 403, "an owner cannot be deleted"),
        ("admin", "owner", "DELETE", 403, OF_OWNERS),
        ("user", "self", "DELETE", 403, "may not delete users"),
    ],
)
def test_authority(
    *, owner: User, caller: str, target: str, changes: Any, status: int, message: str
):
    by = person(caller)
    subject = {"self": by, "owner": owner}.get(target) or person(target)
    client, one = api_of(by), f"{PATH}/{subject.pk}"
    trail = Trail()
    answer = client.delete(one) if changes == "DELETE" else client.put(one, changes)
    assert message in refusal(answer, status)
    assert trail.codes == []
    assert User.objects.filter(pk=subject.pk).exists()
    assert AccessToken.objects.count() == 1


def groups_of(one: Peer) -> set[str]:
    return set(GroupPeer.objects.filter(peer=one).values_list("group_id", flat=True))


class TestPropagation:
    def test_peers_follow_the_auto_groups_of_their_owner(self, api: Api):
        someone = person("user")
        mine = peer("mine", user=someone)
        old, new, kept = group("old", mine), group("new"), group("kept", mine)
        one = f"{PATH}/{someone.pk}"
        ok(api.put(one, {"auto_groups": [old.pk, kept.pk]}))
        trail = Trail()
        ok(api.put(one, {"auto_groups": [kept.pk, new.pk]}))
        assert groups_of(mine) == {kept.pk, new.pk}
        assert sorted(trail.targets) == [
            ("peer.group.add", mine.pk),
            ("peer.group.delete", mine.pk),
            ("user.group.add", someone.pk),
            ("user.group.delete", someone.pk),
        ]

    def test_it_can_be_switched_off(self, api: Api):
        account_settings(groups_propagation_enabled=False)
        someone = person("user")
        mine, team = peer("mine", user=someone), group("team")
        ok(api.put(f"{PATH}/{someone.pk}", {"auto_groups": [team.pk]}))
        assert groups_of(mine) == set()

    def test_peers_catch_up_and_leave_nothing_when_it_is_switched_on(self, api: Api):
        account_settings(groups_propagation_enabled=False)
        someone = person("user")
        mine, team = peer("mine", user=someone), group("team")
        before, other = group("before", mine), peer("of nobody")
        ok(api.put(f"{PATH}/{someone.pk}", {"auto_groups": [team.pk]}))
        [account] = ok(api.get("/api/accounts"))
        trail = Trail()
        for switched in (True, False, True):
            settings = account["settings"] | {"groups_propagation_enabled": switched}
            ok(api.put(f"/api/accounts/{account['id']}", {"settings": settings}))
            assert groups_of(mine) == {before.pk, team.pk}
        assert groups_of(other) == set()
        assert trail.codes.count("peer.group.add") == 1


class TestDeletion:
    def test_user_goes_with_tokens_and_peers(self, api: Api):
        someone = person("user")
        mine = peer("mine", user=someone)
        team = group("team", mine)
        ok(api.put(f"{PATH}/{someone.pk}", {"auto_groups": [team.pk]}))
        api_of(someone)
        trail = Trail()
        assert ok(api.delete(f"{PATH}/{someone.pk}")) == {}
        assert not Peer.objects.filter(pk=mine.pk).exists()
        assert not AccessToken.objects.filter(user_id=someone.pk).exists()
        assert Group.objects.filter(pk=team.pk).exists()
        assert set(trail.codes) >= {
            "user.peer.delete",
            "personal.access.token.delete",
            "user.group.delete",
            "user.delete",
        }
        assert api.get(f"{PATH}/{someone.pk}").status == 404


class TestApproval:
    @pytest.fixture
    def pending(self) -> User:
        return changed(person("user", email="new@mesh.dev"), pending_approval=True)

    def test_approved_user_is_let_in(self, api: Api, pending: User):
        trail = Trail()
        shown = ok(api.post(f"{PATH}/{pending.pk}/approve"))
        assert (shown["pending_approval"], shown["status"]) == (False, "active")
        assert trail.targets == [("user.approve", pending.pk)]

    @pytest.mark.parametrize(
        ("caller", "facts", "status", "message"),
        [
            ("admin", {"role": "owner"}, 403, f"permission denied: {OF_OWNERS}"),
            (
                "owner",
                {"pending_approval": False},
                422,
                "user new@mesh.dev is not pending approval",
            ),
        ],
    )
    def test_who_may_neither_be_approved_nor_rejected(
        self, pending: User, *, caller: str, facts: Body, status: int, message: str
    ):
        changed(pending, **facts)
        api, one = api_as(caller), f"{PATH}/{pending.pk}"
        for answer in (api.post(f"{one}/approve"), api.delete(f"{one}/reject")):
            assert (answer.status, answer.json["message"]) == (status, message)
        left = User.objects.get(pk=pending.pk)
        assert left.pending_approval is facts.get("pending_approval", True)

    def test_rejected_user_is_deleted(self, api: Api, pending: User):
        trail = Trail()
        assert ok(api.delete(f"{PATH}/{pending.pk}/reject")) == {}
        assert trail.targets == [
            ("user.reject", pending.pk),
            ("user.delete", pending.pk),
        ]
        assert trail.events[0].meta == {"email": "new@mesh.dev", "username": "a user"}


class TestReading:
    def test_users_who_may_not_read_users_see_themselves(self, owner: User):
        someone = person("user")
        client = api_of(someone)
        assert ok(client.get(f"{PATH}/{someone.pk}"))["is_current"] is True
        assert client.get(f"{PATH}/{owner.pk}").status == 404

    def test_no_email_is_sent(self, api: Api):
        answer = api.post(f"{PATH}/{person('user').pk}/invite")
        assert "/api/users/invites" in refusal(answer, 412)

    def test_command_may_still_block_an_owner(self, owner: User):
        other = person("owner")
        user_set_blocked(user_id=other.pk, blocked=True)
        assert User.objects.get(pk=other.pk).is_blocked
