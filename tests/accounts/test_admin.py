"""Admin pages of users, tokens and the account."""

from typing import Any

import pytest
from django.test import Client

from events.models import AuditEvent
from meshmgmt.accounts.authentication import find_token
from meshmgmt.accounts.contributions import contributions
from meshmgmt.accounts.models import AccessToken, Account, User
from meshmgmt.accounts.tokens import new_token
from tests.admin.signed_in import client_of, errors_of, form_data, texts_of
from tests.mesh import Trail, group
from tests.people import person, robot, token_of

pytestmark = pytest.mark.django_db

USERS = "/admin/accounts/user/"
TOKENS = "/admin/accounts/accesstoken/"
ACCOUNT = "/admin/accounts/account/"


@pytest.fixture
def owner() -> User:
    return person("owner", email="ann@mesh.dev", name="Ann")


def user_form(user: User, **changes: Any) -> dict[str, Any]:
    data = {"email": user.email, "name": user.name, "role": user.role}
    if user.is_blocked:
        data["is_blocked"] = "on"
    return {**data, "new_password": "", **changes}


class TestSignIn:
    """The login page."""

    def sign_in(self, email: str, password: str) -> Any:
        data = {"username": email, "password": password}
        return Client().post("/admin/login/?next=/admin/", data)

    def test_with_email_and_password(self) -> None:
        user = person("admin", email="Bob@mesh.dev", password="correct horse")
        response = self.sign_in("bob@MESH.dev", "correct horse")
        assert (response.status_code, response["Location"]) == (302, "/admin/")
        event = AuditEvent.objects.get(activity_code="dashboard.login")
        assert event.target_id == event.initiator_id == user.pk
        assert event.meta["email"] == "Bob@mesh.dev"
        assert event.meta["timestamp"].endswith("Z")
        assert event.request_id
        assert event.source_address == "127.0.0.1"
        user.refresh_from_db()
        assert user.last_login is not None
        assert not AuditEvent.objects.filter(activity_code="user.update").exists()

    @pytest.mark.parametrize(
        ("email", "password"),
        [
            ("bob@mesh.dev", "wrong"),
            ("bob@mesh.dev", ""),
            ("bob@mesh.dev", "CORRECT HORSE"),
            ("eve@mesh.dev", "correct horse"),
            ("", "correct horse"),
            ("\x00", "correct horse"),
        ],
    )
    def test_not_with_anything_else(self, email: str, password: str) -> None:
        person("admin", email="bob@mesh.dev", password="correct horse")
        assert self.sign_in(email, password).status_code == 200
        assert not AuditEvent.objects.filter(activity_code="dashboard.login").exists()

    @pytest.mark.parametrize(
        "facts",
        [{"is_blocked": True}, {"pending_approval": True}, {"role": "user"}],
    )
    def test_not_when_blocked_pending_or_without_anything_to_see(
        self, facts: dict[str, Any]
    ) -> None:
        user = person("admin", email="bob@mesh.dev", password="correct horse")
        for name, value in facts.items():
            setattr(user, name, value)
        user.save()
        assert self.sign_in("bob@mesh.dev", "correct horse").status_code == 200
        assert not AuditEvent.objects.filter(activity_code="dashboard.login").exists()

    def test_not_without_a_password_of_ones_own(self) -> None:
        person("admin", email="bob@mesh.dev")
        assert self.sign_in("bob@mesh.dev", "!").status_code == 200

    def test_an_outdated_hash_is_renewed_without_an_event(self, settings: Any) -> None:
        user = person("admin", email="bob@mesh.dev", password="correct horse")
        md5, pbkdf2 = (
            f"django.contrib.auth.hashers.{name}PasswordHasher"
            for name in ("MD5", "PBKDF2")
        )
        settings.PASSWORD_HASHERS = [pbkdf2, md5]
        assert self.sign_in("bob@mesh.dev", "correct horse").status_code == 302
        user.refresh_from_db()
        assert user.password.startswith("pbkdf2")
        codes = AuditEvent.objects.values_list("activity_code", flat=True)
        assert "user.password.change" not in codes

    def test_blocking_ends_a_session(self) -> None:
        person("owner")
        user = person("admin")
        client = client_of(user)
        assert client.get(USERS).status_code == 200
        user.is_blocked = True
        user.save()
        assert client.get(USERS).status_code == 302


class TestUsers:
    """Adding, changing and deleting users."""

    def test_add_a_person(self, client: Client, owner: User) -> None:
        data = {
            "email": "bob@mesh.dev",
            "name": "Bob",
            "role": "auditor",
            "new_password": "correct horse",
        }
        assert client.post(f"{USERS}add/", data).status_code == 302
        user = User.objects.get(email="bob@mesh.dev")
        assert (user.name, user.role) == ("Bob", "auditor")
        assert user.check_password("correct horse")
        created = AuditEvent.objects.get(target_id=user.pk)
        assert created.activity_code == "user.create"
        assert created.initiator_id == owner.pk

    def test_add_a_service_user(self, client: Client) -> None:
        data = {"is_service_user": "on", "name": "ci", "role": "admin", "email": "x@y"}
        assert client.post(f"{USERS}add/", data).status_code == 302
        user = User.objects.get(name="ci")
        assert user.is_service_user
        assert user.email == ""

    @pytest.mark.parametrize(
        ("data", "field", "text"),
        [
            ({"email": "bob"}, "email", "'bob' is not an e-mail address"),
            ({"email": "ANN@mesh.dev"}, "email", "another user has this e-mail"),
            ({"new_password": "short"}, "new_password", "too short"),
            ({"name": "n" * 256}, "name", "at most 255"),
            ({"role": "king"}, "role", "valid choice"),
            ({"is_service_user": "on", "role": "owner"}, "role", "a service user"),
        ],
    )
    def test_faults_are_shown_at_their_field(
        self, client: Client, data: dict[str, str], field: str, text: str
    ) -> None:
        users, events = User.objects.count(), AuditEvent.objects.count()
        form = {"email": "b@mesh.dev", "name": "B", "role": "user", **data}
        errors = errors_of(client.post(f"{USERS}add/", form))
        assert text in errors[field][0]
        assert (User.objects.count(), AuditEvent.objects.count()) == (users, events)

    def test_change_everything_at_once(self, client: Client) -> None:
        user = person("user", email="bob@mesh.dev")
        form = user_form(
            user,
            email="rob@mesh.dev",
            name="Rob",
            role="admin",
            is_blocked="on",
            new_password="correct horse",
        )
        assert client.post(f"{USERS}{user.pk}/change/", form).status_code == 302
        user.refresh_from_db()
        assert (user.email, user.email_key) == ("rob@mesh.dev", "rob@mesh.dev")
        assert (user.name, user.role, user.is_blocked) == ("Rob", "admin", True)
        codes = AuditEvent.objects.filter(target_id=user.pk).values_list(
            "activity_code", flat=True
        )
        assert sorted(codes) == [
            "user.block",
            "user.create",
            "user.password.change",
            "user.role.update",
            "user.update",
        ]

    def test_auto_groups_are_chosen_in_order(self, client: Client) -> None:
        team, other = group("team"), group("other")
        data = {"email": "new@mesh.dev", "name": "N", "role": "user"}

        client.post(USERS + "add/", {**data, "auto_groups": [other.pk, team.pk]})

        user = User.objects.get(email="new@mesh.dev")
        page = f"{USERS}{user.pk}/change/"
        sent = form_data(client, page)
        assert sent["auto_groups"] == contributions.auto_groups([user.pk])[user.pk]
        assert sent["auto_groups"] == [other.pk, team.pk]
        trail = Trail()
        assert client.post(page, sent).status_code == 302
        assert trail.codes == []
        client.post(page, {**sent, "auto_groups": [team.pk]})
        assert contributions.auto_groups([user.pk])[user.pk] == [team.pk]
        assert trail.codes == ["user.group.delete"]

    def test_a_faulty_group_undoes_the_whole_change(self, client: Client) -> None:
        user = person("user")
        changes = {"name": "Other", "auto_groups": ["nope"]}

        response = client.post(f"{USERS}{user.pk}/change/", user_form(user, **changes))

        assert list(errors_of(response)) == ["auto_groups"]
        user.refresh_from_db()
        assert user.name != "Other"

    def test_saving_without_a_change_emits_nothing(self, client: Client) -> None:
        for user in (person("user"), robot()):
            events = AuditEvent.objects.count()
            path = f"{USERS}{user.pk}/change/"
            assert client.post(path, user_form(user)).status_code == 302
            assert AuditEvent.objects.count() == events

    def test_one_fault_undoes_the_whole_change(self, client: Client) -> None:
        user = person("user")
        form = user_form(user, role="admin", new_password="short")
        assert errors_of(client.post(f"{USERS}{user.pk}/change/", form))
        user.refresh_from_db()
        assert user.role == "user"

    def test_the_last_owner_stays(self, client: Client, owner: User) -> None:
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
    ) -> None:
        person("owner")
        client = client_of(person("admin"))
        form = user_form(owner, **changes or {"auto_groups": group("team").pk})
        errors = errors_of(client.post(f"{USERS}{owner.pk}/change/", form))
        assert "only owners may change an owner" in errors["__all__"][0]
        assert contributions.auto_groups([owner.pk]) == {}
        response = client.post(f"{USERS}{owner.pk}/delete/", {"post": "yes"})
        assert "only owners may change an owner" in texts_of(response)
        stored = User.objects.get(pk=owner.pk)
        assert (stored.role, stored.password) == ("owner", owner.password)

    def test_an_admin_makes_neither_owners_nor_themselves_one(self) -> None:
        admin = person("admin")
        client = client_of(admin)
        new = {"email": "b@mesh.dev", "name": "B", "role": "owner"}
        assert "give the owner role" in str(errors_of(client.post(f"{USERS}add/", new)))
        form = user_form(admin, role="owner")
        assert "their own role" in str(
            errors_of(client.post(f"{USERS}{admin.pk}/change/", form))
        )

    def test_delete_with_tokens(self, client: Client) -> None:
        user = person("user", email="bob@mesh.dev", name="Bob")
        token_of(user)
        path = f"{USERS}{user.pk}/delete/"
        assert client.get(path).status_code == 200
        assert client.post(path, {"post": "yes"}).status_code == 302
        assert not User.objects.filter(pk=user.pk).exists()
        last = AuditEvent.objects.order_by("-id")[:2]
        assert [event.activity_code for event in last] == [
            "user.delete",
            "personal.access.token.delete",
        ]
        assert last[0].meta["email"] == "bob@mesh.dev"
        assert last[0].meta["username"] == "Bob"
        assert last[0].meta["issued"] == "api"

    def test_deleting_several_is_all_or_nothing(
        self, client: Client, owner: User
    ) -> None:
        others = [person("user"), robot()]
        data = {
            "action": "delete_selected",
            "_selected_action": [owner.pk, *(user.pk for user in others)],
            "post": "yes",
        }
        assert "delete themselves" in texts_of(client.post(USERS, data))
        assert User.objects.count() == 3
        data["_selected_action"] = [user.pk for user in others]
        client.post(USERS, data)
        assert list(User.objects.all()) == [owner]

    def test_pending_users_are_let_in(self, client: Client, owner: User) -> None:
        user = person("user")
        user.pending_approval = user.is_blocked = True
        user.save()
        data = {"action": "let_in", "_selected_action": [user.pk, owner.pk]}
        assert "1 users were let in" in texts_of(client.post(USERS, data))
        user.refresh_from_db()
        assert user.is_active
        event = AuditEvent.objects.filter(target_id=user.pk).order_by("-id").first()
        assert event is not None
        assert event.activity_code == "user.approve"

    def test_an_admin_lets_no_owner_in(self, owner: User) -> None:
        owner.pending_approval = True
        owner.save()
        data = {"action": "let_in", "_selected_action": [owner.pk]}
        answer = client_of(person("admin")).post(USERS, data)
        assert "only owners may change an owner" in texts_of(answer)
        owner.refresh_from_db()
        assert owner.pending_approval


class TestTokens:
    """Making and revoking tokens."""

    def add(self, client: Client, owner: User, **changes: Any) -> Any:
        data = {"user": owner.pk, "name": "t", "expires_in": 3, "scope": "", **changes}
        return client.post(f"{TOKENS}add/", data)

    def test_a_new_token_is_shown_once(self, client: Client, owner: User) -> None:
        response = self.add(client, owner, scope="ingest")
        text = texts_of(response)
        plain = text[text.index("mpt_") :][:40]
        token = find_token(plain)
        assert (token.user, token.scope, token.name) == (owner, "ingest", "t")
        assert token.created_by == owner.pk
        first = client.get(response["Location"]).content.decode()
        assert plain in first
        again = client.get(response["Location"]).content.decode()
        assert plain not in again
        detail = client.get(f"{TOKENS}{token.pk}/change/").content.decode()
        assert plain not in detail
        assert token.hash not in detail

    @pytest.mark.parametrize(
        ("changes", "field", "text"),
        [
            ({"name": " "}, "name", "the token's name is empty"),
            ({"expires_in": 0}, "expires_in", "1 to 365 days, not 0"),
            ({"expires_in": "x"}, "expires_in", "whole number"),
            ({"scope": "all"}, "scope", "valid choice"),
            ({"user": "nobody"}, "user", "valid choice"),
        ],
    )
    def test_faults_are_shown_at_their_field(
        self, client: Client, owner: User, changes: Any, field: str, text: str
    ) -> None:
        errors = errors_of(self.add(client, owner, **changes))
        assert text in errors[field][0]
        assert not AccessToken.objects.exists()

    def test_tokens_of_people_are_theirs_alone(self, client: Client) -> None:
        other, machine = person("admin"), robot()
        errors = errors_of(self.add(client, other))
        assert "people manage their tokens themselves" in errors["__all__"][0]
        assert self.add(client, machine).status_code == 302
        token_of(other)
        foreign = AccessToken.objects.get(user=other)
        admin = client_of(person("admin"))
        page = admin.get(TOKENS).content.decode()
        assert foreign.pk not in page
        assert admin.get(f"{TOKENS}{foreign.pk}/change/").status_code == 302
        path = f"{TOKENS}{foreign.pk}/delete/"
        assert admin.post(path, {"post": "yes"}).status_code == 302
        assert AccessToken.objects.filter(pk=foreign.pk).exists()

    def test_an_owner_finds_a_leaked_token_by_its_secret_and_revokes_it(
        self, client: Client
    ) -> None:
        other = person("user")
        plain = token_of(other)
        token_of(person("auditor"))
        leaked = AccessToken.objects.get(user=other)
        assert (
            'id="changelist-search" method="post"'
            in client.get(TOKENS).content.decode()
        )
        for found in (
            client.post(TOKENS, {"q": f" {plain} "}),
            client.get(TOKENS, {"q": plain}),
        ):
            assert found["Location"] == f"{TOKENS}{leaked.pk}/change/"
        page = client.get(f"{TOKENS}{leaked.pk}/change/").content.decode()
        assert 'class="deletelink">Revoke<' in page
        assert plain not in page
        asked = client.get(f"{TOKENS}{leaked.pk}/delete/").content.decode()
        assert "Revoking access token" in asked
        assert 'value="Revoke"' in asked
        assert "will be revoked" in asked
        assert "Delete" not in asked
        response = client.post(f"{TOKENS}{leaked.pk}/delete/", {"post": "yes"})
        assert "was revoked" in texts_of(response)
        assert not AccessToken.objects.filter(pk=leaked.pk).exists()

    def test_a_pasted_secret_that_no_token_has_leaves_the_address_too(
        self, client: Client
    ) -> None:
        response = client.post(TOKENS, {"q": new_token()})
        assert response["Location"] == TOKENS
        assert "No access token has the secret" in texts_of(response)

    def test_secrets_of_others_tokens_lead_nowhere(self) -> None:
        plain = token_of(person("owner"))
        response = client_of(person("admin")).post(TOKENS, {"q": plain})
        assert response["Location"] == TOKENS

    def test_other_words_are_searched_for_in_the_list(
        self, client: Client, owner: User
    ) -> None:
        token_of(owner)
        response = client.post(TOKENS, {"q": "nothing like it", "scope": "ingest"})
        assert response["Location"] == f"{TOKENS}?q=nothing+like+it&scope=ingest"
        page = client.get(response["Location"]).content.decode()
        assert 'value="nothing like it"' in page
        assert "0 access tokens" in page

    def test_several_are_revoked_at_once(self, client: Client, owner: User) -> None:
        for _ in range(2):
            token_of(owner)
        assert "Revoke selected access tokens" in client.get(TOKENS).content.decode()
        chosen = [token.pk for token in AccessToken.objects.all()]
        sent = {"action": "delete_selected", "_selected_action": chosen}
        asked = client.post(TOKENS, sent).content.decode()
        assert "Revoking the selected access tokens" in asked
        assert "Delete" not in asked
        done = client.post(TOKENS, {**sent, "post": "yes"})
        assert "2 access tokens revoked" in texts_of(done)
        assert not AccessToken.objects.exists()

    def test_an_owner_sees_everybodys_tokens_and_no_secret(
        self, client: Client
    ) -> None:
        others = [person("user"), person("admin"), robot()]
        secrets = [token_of(other) for other in others]
        page = client.get(TOKENS).content.decode()
        for token, secret in zip(AccessToken.objects.all(), secrets, strict=True):
            assert token.pk in page
            assert secret not in page
            assert token.hash not in page

    @pytest.mark.parametrize("role", ["network_admin", "auditor"])
    def test_everybody_who_may_sign_in_manages_their_own_alone(self, role: str) -> None:
        user = person(role)
        client = client_of(user)
        form = client.get(f"{TOKENS}add/").context["adminform"].form
        assert form["user"].value() == user.pk
        assert self.add(client, user).status_code == 302
        made = AccessToken.objects.get()
        client.post(f"{TOKENS}{made.pk}/delete/", {"post": "yes"})
        assert not AccessToken.objects.exists()
        errors = errors_of(self.add(client, robot()))
        assert "tokens of another user" in errors["__all__"][0]

    def test_tokens_cannot_be_changed(self, client: Client, owner: User) -> None:
        token_of(owner)
        path = f"{TOKENS}{AccessToken.objects.get().pk}/change/"
        assert client.post(path, {"name": "x"}).status_code == 403


class TestAccount:
    """Changing the settings."""

    def form(self, client: Client, **changes: Any) -> Any:
        path = f"{ACCOUNT}{Account.objects.get().pk}/change/"
        form = client.get(path).context["adminform"].form
        data = {
            name: form[name].value()
            for name in form.fields
            if form[name].value() not in {None, False}
        }
        return client.post(path, {**data, **changes})

    def test_saving_without_a_change_emits_nothing(self, client: Client) -> None:
        events = AuditEvent.objects.count()
        assert self.form(client).status_code == 302
        assert AuditEvent.objects.count() == events

    def test_a_change_is_written_and_audited(self, client: Client, owner: User) -> None:
        response = self.form(
            client, dns_domain="New.Mesh.Internal", peer_login_expiration=7200
        )
        assert response.status_code == 302
        account = Account.objects.get()
        assert account.dns_domain == "new.mesh.internal"
        events = AuditEvent.objects.filter(target_id=account.pk).order_by("-id")[:2]
        assert {event.activity_code for event in events} == {
            "account.dns.domain.update",
            "account.setting.peer.login.expiration.update",
        }
        assert {event.initiator_id for event in events} == {owner.pk}

    @pytest.mark.parametrize(
        ("changes", "field", "text"),
        [
            ({"dns_domain": "a b"}, "dns_domain", "not valid"),
            ({"peer_login_expiration": 3599}, "peer_login_expiration", "one hour"),
            ({"network_range": "10.0.0.0/31"}, "network_range", "too small"),
            ({"jwt_allow_groups": '{"a": 1}'}, "jwt_allow_groups", "JSON array"),
            ({"jwt_allow_groups": "[1]"}, "jwt_allow_groups", "JSON array"),
            ({"peer_expose_enabled": "on"}, "peer_expose_groups", "at least one"),
        ],
    )
    def test_faults_are_shown_at_their_field(
        self, client: Client, changes: Any, field: str, text: str
    ) -> None:
        errors = errors_of(self.form(client, **changes))
        assert text in errors[field][0]

    def test_it_cannot_be_deleted(self, client: Client) -> None:
        path = f"{ACCOUNT}{Account.objects.get().pk}/delete/"
        assert client.post(path, {"post": "yes"}).status_code == 403
        assert Account.objects.count() == 1

    def test_only_owners_change_it(self) -> None:
        client = client_of(person("admin"))
        path = f"{ACCOUNT}{Account.objects.get().pk}/change/"
        assert client.get(path).status_code == 200
        assert client.post(path, {}).status_code == 403
