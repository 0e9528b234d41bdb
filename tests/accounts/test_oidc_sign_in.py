"""The first to sign in by OpenID Connect, and the way of a browser."""

import dataclasses
import functools
import urllib.parse
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.test import Client

from meshmgmt.accounts.models import Account, User
from meshmgmt.accounts.oidc import adminlogin
from tests.accounts.identities import KEPT_OUT, bearer, newcomer, newcomers
from tests.api_client import Api
from tests.factories import Trail, changed
from tests.oidc_provider import RunningProvider
from tests.people import person
from tests.races import race
from tests.resource_contract import ok, refusal

pytestmark = pytest.mark.django_db


class TestFirstOwner:
    """Nobody owns the deployment yet."""

    @pytest.fixture
    def named(self, provider: RunningProvider, settings: Any) -> RunningProvider:
        """The provider, where the configuration names the owner."""
        settings.SVC = dataclasses.replace(settings.SVC, oidc_owner="Ann@mesh.dev")
        return provider

    def test_first_person_to_sign_in_is_owner_and_waits_for_nobody(
        self, provider: RunningProvider
    ):
        assert Account.objects.get().user_approval_required
        shown = ok(bearer(provider.token_of(roles="auditor")))
        assert (shown["role"], shown["status"]) == ("owner", "active")
        assert "pending" in refusal(bearer(provider.token_of("bob")), 403)
        assert User.objects.owners().count() == 1

    def test_only_the_named_owner_may_be_first(self, named: RunningProvider):
        unverified = {"email_verified": None}, {"email_verified": False}
        anns = [named.token_of(**claims) for claims in (*unverified, {"email": None})]
        for token in (named.token_of("bob"), *anns):
            message = refusal(bearer(token), 403)
            assert "no owner yet" in message
            assert "ann@" not in message.lower()
        assert not User.objects.exists()
        assert ok(bearer(named.token_of()))["role"] == "owner"
        bearer(named.token_of("bob"))
        assert sorted(User.objects.values_list("role", flat=True)) == ["owner", "user"]

    def test_person_known_before_becomes_owner(self, provider: RunningProvider):
        known = person("auditor", email="ann@mesh.dev")
        changed(known, pending_approval=True)
        trail = Trail()
        shown = ok(bearer(provider.token_of()))
        assert (shown["id"], shown["role"]) == (known.pk, "owner")
        assert {"user.role.update", "user.approve"} <= set(trail.codes)

    def test_blocked_person_does_not_become_owner(self, provider: RunningProvider):
        changed(person("auditor", email="ann@mesh.dev"), is_blocked=True)
        assert bearer(provider.token_of()).status == 403
        assert not User.objects.any_owner()

    @pytest.mark.django_db(transaction=True)
    def test_of_many_at_once_one_becomes_owner(self, provider: RunningProvider):
        tokens = [provider.token_of(name) for name in ("ann", "bob", "cyd", "dan")]
        trail = Trail()
        answers = race([functools.partial(bearer, token) for token in tokens])
        assert sorted(answer.status for answer in answers) == [200, 403, 403, 403]
        assert User.objects.filter(role="owner").count() == 1
        assert User.objects.filter(pending_approval=True).count() == 3
        assert trail.codes.count("user.join") == 4

    @pytest.mark.django_db(transaction=True)
    def test_setup_by_password_and_sign_in_at_once_make_one_owner(
        self, provider: RunningProvider
    ):
        token = provider.token_of()
        owner = {"email": "bob@mesh.dev", "name": "Bob", "password": "correct horse"}
        race([lambda: bearer(token), lambda: Api().post("/api/setup", owner)])
        assert User.objects.filter(role="owner").count() == 1


class TestAdminSite:
    def way_back(
        self, provider: RunningProvider, client: Client, page: str = ""
    ) -> str:
        """Go the way of a browser to the provider; return where that sends it."""
        begun = client.get(f"/oidc/login{page}")
        assert begun.status_code == 302, begun.content
        back = provider.authorize("ann", begun["Location"])
        return back.removeprefix("http://testserver")

    def sign_in(self, provider: RunningProvider, client: Client, page: str = "") -> Any:
        """Go to the provider and back."""
        return client.get(self.way_back(provider, client, page))

    def test_person_signs_in(self, idp: RunningProvider):
        idp.token_of(roles="auditor")
        client = Client()
        page = client.get("/admin/login/?next=/admin/groups/group/").content
        assert b"/oidc/login?next=/admin/" in page
        trail = Trail()
        answer = self.sign_in(idp, client, "?next=/admin/groups/group/")
        assert (answer.status_code, answer["Location"]) == (302, "/admin/groups/group/")
        assert client.get("/admin/groups/group/").status_code == 200
        user = newcomer()
        assert sorted(trail.targets) == [
            ("dashboard.login", user.pk),
            ("user.join", user.pk),
        ]

    def test_target_elsewhere_is_not_followed(self, idp: RunningProvider):
        idp.token_of(roles="auditor")
        answer = self.sign_in(idp, Client(), "?next=https://evil.test/")
        assert answer["Location"] == "/admin/"

    @pytest.mark.parametrize(("facts", "words"), KEPT_OUT)
    def test_who_may_not_enter_is_told_why(
        self, idp: RunningProvider, facts: dict[str, Any], words: str
    ):
        idp.token_of(roles="user" if "role" in facts else "admin")
        self.sign_in(idp, Client())
        changed(newcomer(), **facts)
        client = Client()
        answer = self.sign_in(idp, client)
        assert answer["Location"] == "/admin/login/"
        assert words in client.get("/admin/login/").content.decode()
        assert client.get("/admin/").status_code == 302

    def test_callback_that_was_not_asked_for_is_refused(self, idp: RunningProvider):
        idp.token_of(roles="admin")
        victim = Client()
        answer = victim.get(self.way_back(idp, Client()))
        assert answer["Location"] == "/admin/login/"
        assert b"begun elsewhere" in victim.get("/admin/login/").content
        assert not newcomers().exists()

    @pytest.mark.parametrize("nonce", ["other", "\u00fc", "\ud800"])
    def test_token_of_another_sign_in_is_refused(
        self, idp: RunningProvider, monkeypatch: pytest.MonkeyPatch, nonce: str
    ):
        idp.token_of(roles="admin")
        monkeypatch.setattr(
            adminlogin, "checked_claims", lambda *given, **facts: {"nonce": nonce}
        )
        client = Client()
        assert self.sign_in(idp, client)["Location"] == "/admin/login/"
        assert b"did not sign you in" in client.get("/admin/login/").content

    def test_a_sign_in_that_is_begun_stores_nothing(self, idp: RunningProvider):
        for page in ("", "?next=/admin/groups/group/", f"?next=/{'x' * 7000}"):
            begun = Client().get(f"/oidc/login{page}")
            assert begun.status_code == 302
            assert len(begun.cookies["oidc"].value) < 3000
        assert not Session.objects.exists()

    def test_what_the_browser_keeps_goes_back_by_tls_alone(
        self, idp: RunningProvider, settings: Any
    ):
        settings.SESSION_COOKIE_SECURE = True
        kept = Client().get("/oidc/login").cookies["oidc"]
        wanted = {"secure": True, "httponly": True, "path": "/oidc/"}
        assert {name: kept[name] for name in wanted} == wanted

    def test_code_is_good_once(self, idp: RunningProvider):
        idp.token_of(roles="admin")
        client = Client()
        path = self.way_back(idp, client)
        assert client.get(path)["Location"] == "/admin/"
        assert client.get(path)["Location"] == "/admin/login/"

    @pytest.mark.parametrize(
        ("query", "reason"),
        [
            (
                "error=access_denied&error_description=no%0Away",
                r"access_denied: no\nway",
            ),
            ("code=made-up", "invalid_grant"),
            ("", "no code"),
        ],
    )
    def test_refusal_of_the_provider_is_shown_and_its_reason_logged(
        self, idp: RunningProvider, caplog: Any, query: str, reason: str
    ):
        client = Client()
        begun = client.get("/oidc/login?next=/admin/groups/group/")
        sent = urllib.parse.parse_qs(urllib.parse.urlsplit(begun["Location"]).query)
        answer = client.get(f"/oidc/callback?{query}&state={sent['state'][0]}")
        assert answer["Location"] == "/admin/login/?next=%2Fadmin%2Fgroups%2Fgroup%2F"
        assert b"did not sign you in" in client.get("/admin/login/").content
        assert reason in caplog.text

    def test_password_can_be_switched_off(
        self, provider: RunningProvider, account: Account
    ):
        person("owner", email="bob@mesh.dev", password="correct horse")
        form = {"username": "bob@mesh.dev", "password": "correct horse"}
        assert Client().post("/admin/login/", form).status_code == 302
        changed(account, local_auth_disabled=True)
        refused = Client().post("/admin/login/", form)
        assert refused.status_code == 403
        assert "use the identity provider" in refused.content.decode()
        wrong = Client().post("/admin/login/", form | {"password": "wrong"})
        assert wrong.status_code == 200

    def test_without_provider_there_is_no_such_way(self):
        client = Client()
        assert client.get("/oidc/login").status_code == 404
        assert b"/oidc/login" not in client.get("/admin/login/").content
