"""Admin pages of users, tokens and the account."""

from typing import Any

import pytest
from django.test import Client

from events.models import AuditEvent
from meshmgmt.accounts import contributions
from meshmgmt.accounts.models import Account, User
from meshmgmt.accounts.services.users import user_create
from tests.admin.signed_in import client_of, errors_of, form_data, texts_of
from tests.factories import Trail, account_settings, changed, group
from tests.people import person, robot, token_of

pytestmark = pytest.mark.django_db

USERS = "/admin/accounts/user/"
ACCOUNT = "/admin/accounts/account/"


@pytest.fixture
def owner() -> User:
    return person("owner", email="ann@mesh.dev", name="Ann")


def user_form(user: User, **changes: Any) -> dict[str, Any]:
    data = {"email": user.email, "name": user.name, "role": user.role}
    if user.is_blocked:
        data["is_blocked"] = "on"
    return {**data, "new_password": "", **changes}


class TestUsers:
    def test_add_a_person(self, client: Client, owner: User):
        data = {"email": "bob@mesh.dev", "name": "Bob", "role": "auditor"}
        data["new_password"] = "correct horse"
        assert client.post(f"{USERS}add/", data).status_code == 302
        user = User.objects.get(email="bob@mesh.dev")
        assert (user.name, user.role) == ("Bob", "auditor")
        assert user.check_password("correct horse")
        created = AuditEvent.objects.get(target_id=user.pk)
        told = (created.activity_code, created.initiator_id)
        assert told == ("user.create", owner.pk)

    def test_add_a_service_user(self, client: Client):
        data = {"is_service_user": "on", "name": "ci", "role": "admin", "email": "x@y"}
        assert client.post(f"{USERS}add/", data).status_code == 302
        user = User.objects.get(name="ci")
        assert user.is_service_user
        assert user.email == ""

    def test_change_everything_at_once(self, client: Client):
        user, trail = person("user", email="bob@mesh.dev"), Trail()
        changes = {"email": "rob@mesh.dev", "name": "Rob", "role": "admin"}
        more = {"is_blocked": "on", "new_password": "correct horse"}
        form = user_form(user, **changes, **more)
        assert client.post(f"{USERS}{user.pk}/change/", form).status_code == 302
        user.refresh_from_db()
        assert (user.email, user.email_key) == ("rob@mesh.dev", "rob@mesh.dev")
        assert (user.name, user.role, user.is_blocked) == ("Rob", "admin", True)
        assert sorted(trail.codes) == [
            "user.block",
            "user.password.change",
            "user.role.update",
            "user.update",
        ]

    def test_auto_groups_are_chosen_in_order(self, client: Client):
        team, other = group("team"), group("other")
        data = {"email": "new@mesh.dev", "name": "N", "role": "user"}

        client.post(USERS + "add/", {**data, "auto_groups": [other.pk, team.pk]})

        user = User.objects.get(email="new@mesh.dev")
        page = f"{USERS}{user.pk}/change/"
        sent = form_data(client, page)
        assert sent["auto_groups"] == contributions.auto_groups.only([user.pk])[user.pk]
        assert sent["auto_groups"] == [other.pk, team.pk]
        trail = Trail()
        assert client.post(page, sent).status_code == 302
        assert trail.codes == []
        client.post(page, {**sent, "auto_groups": [team.pk]})
        assert contributions.auto_groups.only([user.pk])[user.pk] == [team.pk]
        assert trail.codes == ["user.group.delete"]

    @pytest.mark.parametrize(
        "fault", [{"auto_groups": ["nope"]}, {"new_password": "x"}]
    )
    def test_one_fault_undoes_the_whole_change(
        self, client: Client, fault: dict[str, Any]
    ):
        user = person("user")
        form = user_form(user, name="Other", role="admin", **fault)
        errors = errors_of(client.post(f"{USERS}{user.pk}/change/", form))
        assert list(errors) == list(fault)
        left = User.objects.get(pk=user.pk)
        assert (left.name, left.role) == (user.name, "user")

    def test_saving_a_service_user_unchanged_emits_nothing(self, client: Client):
        user, trail = robot(), Trail()
        path = f"{USERS}{user.pk}/change/"
        assert client.post(path, user_form(user)).status_code == 302
        assert trail.codes == []

    @pytest.mark.parametrize(
        "more", [{}, {"name": "Heir", "new_password": "correct horse"}]
    )
    def test_an_owner_who_gives_the_role_away_reads_it_and_becomes_admin(
        self, client: Client, owner: User, more: dict[str, str]
    ):
        text = b"Who makes them owner becomes admin."
        heir = person("admin")
        path = f"{USERS}{heir.pk}/change/"
        assert text in client.get(path).content
        assert text not in client.get(f"{USERS}{owner.pk}/change/").content
        trail = Trail()
        form = user_form(heir, role="owner", **more)
        assert client.post(path, form).status_code == 302
        roles = dict(User.objects.values_list("pk", "role"))
        assert roles == {heir.pk: "owner", owner.pk: "admin"}
        assert "transferred.owner.role" in trail.codes
        assert User.objects.get(pk=heir.pk).name == form["name"]

    def test_the_last_owner_stays(self, client: Client, owner: User):
        response = client.post(f"{USERS}{owner.pk}/delete/", {"post": "yes"})
        assert "delete themselves" in texts_of(response)
        form = user_form(owner, is_blocked="on")
        errors = errors_of(client.post(f"{USERS}{owner.pk}/change/", form))
        assert "block or unblock themselves" in errors["__all__"][0]
        assert User.objects.get(pk=owner.pk).is_active

    @pytest.mark.parametrize(
        "changes", [{"role": "admin"}, {"new_password": "correct horse"}, {}]
    )
    def test_an_admin_may_not_touch_an_owner(
        self, owner: User, changes: dict[str, Any]
    ):
        person("owner")
        client = client_of(person("admin"))
        form = user_form(owner, **changes or {"auto_groups": group("team").pk})
        errors = errors_of(client.post(f"{USERS}{owner.pk}/change/", form))
        assert "only owners may change an owner" in errors["__all__"][0]
        assert contributions.auto_groups.only([owner.pk]) == {}
        response = client.post(f"{USERS}{owner.pk}/delete/", {"post": "yes"})
        assert "only owners may change an owner" in texts_of(response)
        stored = User.objects.get(pk=owner.pk)
        assert (stored.role, stored.password) == ("owner", owner.password)

    def test_an_admin_makes_neither_owners_nor_themselves_one(self):
        admin = person("admin")
        client = client_of(admin)
        new = {"email": "b@mesh.dev", "name": "B", "role": "owner"}
        assert "give the owner role" in str(errors_of(client.post(f"{USERS}add/", new)))
        form = user_form(admin, role="owner")
        errors = errors_of(client.post(f"{USERS}{admin.pk}/change/", form))
        assert "their own role" in str(errors)

    def test_delete_with_tokens(self, client: Client):
        user = person("user", email="bob@mesh.dev", name="Bob")
        token_of(user)
        path, trail = f"{USERS}{user.pk}/delete/", Trail()
        assert client.get(path).status_code == 200
        assert client.post(path, {"post": "yes"}).status_code == 302
        assert not User.objects.filter(pk=user.pk).exists()
        assert trail.codes == ["personal.access.token.delete", "user.delete"]
        told = {"email": "bob@mesh.dev", "username": "Bob", "issued": "api"}
        assert trail.events[-1].meta.items() >= told.items()

    def test_deleting_several_is_all_or_nothing(self, client: Client, owner: User):
        others = [person("user").pk, robot().pk]
        data: dict[str, Any] = {"action": "delete_selected", "post": "yes"}
        answer = client.post(USERS, data | {"_selected_action": [owner.pk, *others]})
        assert "delete themselves" in texts_of(answer)
        assert User.objects.count() == 3
        client.post(USERS, data | {"_selected_action": others})
        assert list(User.objects.all()) == [owner]

    def test_pending_users_are_let_in(self, client: Client, owner: User):
        user = changed(person("user"), pending_approval=True, is_blocked=True)
        data = {"action": "let_in", "_selected_action": [user.pk, owner.pk]}
        trail = Trail()
        assert "Let in: 1 user." in texts_of(client.post(USERS, data))
        user.refresh_from_db()
        assert user.is_active
        assert trail.targets == [("user.approve", user.pk)]

    def test_as_many_are_let_in_at_once_as_other_actions_take(
        self, client: Client, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr("meshmgmt.adminsite.bulk.MOST", 1)
        chosen = [
            user_create(email=f"{name}@mesh.dev", role="user", pending=True).pk
            for name in ("bob", "eve")
        ]
        data = {"action": "let_in", "_selected_action": chosen}
        assert "choose at most 1 at once" in texts_of(client.post(USERS, data))
        assert User.objects.filter(pending_approval=True).count() == 2

    def test_an_admin_lets_no_owner_in(self, owner: User):
        changed(owner, pending_approval=True)
        data = {"action": "let_in", "_selected_action": [owner.pk]}
        answer = client_of(person("admin")).post(USERS, data)
        assert "only owners may change an owner" in texts_of(answer)
        owner.refresh_from_db()
        assert owner.pending_approval


class TestAccount:
    def form(self, client: Client, **changes: Any) -> Any:
        path = f"{ACCOUNT}{Account.objects.get().pk}/change/"
        return client.post(path, {**form_data(client, path), **changes})

    def test_a_change_is_written_and_audited(self, client: Client, owner: User):
        changes, trail = {"dns_domain": "New.Mesh.Internal"}, Trail()
        done = self.form(client, **changes, peer_login_expiration=7200)
        assert done.status_code == 302
        account = Account.objects.get()
        assert account.dns_domain == "new.mesh.internal"
        assert set(trail.targets) == {
            ("account.dns.domain.update", account.pk),
            ("account.setting.peer.login.expiration.update", account.pk),
        }
        assert {event.initiator_id for event in trail.events} == {owner.pk}

    def test_groups_with_ipv6_bring_a_range_to_an_account_without_one(
        self, client: Client
    ):
        account_settings(network_range_v6="")
        chosen = {"ipv6_enabled_groups": [group("six").pk]}
        assert self.form(client, **chosen).status_code == 302
        assert Account.objects.get().network_range_v6.startswith("fd")
        # Who takes it away means that.
        assert self.form(client, network_range_v6="").status_code == 302
        assert Account.objects.get().network_range_v6 == ""

    @pytest.mark.parametrize(
        ("changes", "field", "text"),
        [
            ({"dns_domain": "a b"}, "dns_domain", "not valid"),
            ({"peer_login_expiration": 3599}, "peer_login_expiration", "one hour"),
            ({"network_range": "10.0.0.0/31"}, "network_range", "too small"),
            ({"peer_expose_enabled": "on"}, "peer_expose_groups", "at least one"),
            ({"peer_expose_groups": ["gone"]}, "peer_expose_groups", "gone"),
        ],
    )
    def test_faults_are_shown_at_their_field(
        self, client: Client, changes: Any, field: str, text: str
    ):
        errors = errors_of(self.form(client, **changes))
        assert text in errors[field][0]

    def test_it_cannot_be_deleted(self, client: Client):
        path = f"{ACCOUNT}{Account.objects.get().pk}/delete/"
        assert client.post(path, {"post": "yes"}).status_code == 403
        assert Account.objects.count() == 1

    def test_only_owners_change_it(self):
        client = client_of(person("admin"))
        path = f"{ACCOUNT}{Account.objects.get().pk}/change/"
        assert client.get(path).status_code == 200
        assert client.post(path, {}).status_code == 403
