"""Making and revoking tokens on the admin site."""

from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from meshmgmt.accounts.authentication import find_token
from meshmgmt.accounts.models import AccessToken, User
from meshmgmt.accounts.tokens import new_token
from tests.admin.signed_in import client_of, errors_of, texts_of
from tests.people import person, robot, token_of

pytestmark = pytest.mark.django_db

TOKENS = "/admin/accounts/accesstoken/"


class TestTokens:
    """Making and revoking tokens."""

    def add(self, client: Client, owner: User, **changes: Any) -> Any:
        data = {"user": owner.pk, "name": "t", "expires_in": 3, "scope": "", **changes}
        return client.post(f"{TOKENS}add/", data)

    def test_a_new_token_is_shown_once(self, client: Client, owner: User):
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

    def test_tokens_of_people_are_theirs_alone(self, client: Client):
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

    def test_rotation_is_offered_of_ones_own_and_of_machines(
        self, client: Client, owner: User
    ):
        for user, offered in ((owner, True), (robot(), True), (person("admin"), False)):
            token_of(user)
            token = AccessToken.objects.filter(user=user).latest("created_at")
            shown = client.get(f"{TOKENS}{token.pk}/change/").content.decode()
            assert (f"{TOKENS}{token.pk}/rotate/" in shown) == offered

    def test_an_owner_finds_a_leaked_token_by_its_secret_and_revokes_it(
        self, client: Client
    ):
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
    ):
        for pasted in (f"Token {new_token()}", new_token()[:-1], str(uuid4())):
            response = client.post(TOKENS, {"q": pasted})
            assert response["Location"] == TOKENS
            assert "No access token has the secret" in texts_of(response)

    def test_secrets_of_others_tokens_lead_nowhere(self):
        plain = token_of(person("owner"))
        response = client_of(person("admin")).post(TOKENS, {"q": plain})
        assert response["Location"] == TOKENS

    def test_other_words_are_searched_for_in_the_list(
        self, client: Client, owner: User
    ):
        token_of(owner)
        response = client.post(TOKENS, {"q": "nothing like it", "scope": "ingest"})
        assert response["Location"] == f"{TOKENS}?q=nothing+like+it&scope=ingest"
        page = client.get(response["Location"]).content.decode()
        assert 'value="nothing like it"' in page
        assert "0 access tokens" in page

    def test_several_are_revoked_at_once(self, client: Client, owner: User):
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

    def test_an_owner_sees_everybodys_tokens_and_no_secret(self, client: Client):
        others = [person("user"), person("admin"), robot()]
        secrets = [token_of(other) for other in others]
        page = client.get(TOKENS).content.decode()
        for token, secret in zip(AccessToken.objects.all(), secrets, strict=True):
            assert token.pk in page
            assert secret not in page
            assert token.hash not in page

    @pytest.mark.parametrize("role", ["network_admin", "auditor"])
    def test_everybody_who_may_sign_in_manages_their_own_alone(self, role: str):
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

    def test_tokens_cannot_be_changed(self, client: Client, owner: User):
        token_of(owner)
        path = f"{TOKENS}{AccessToken.objects.get().pk}/change/"
        assert client.post(path, {"name": "x"}).status_code == 403
