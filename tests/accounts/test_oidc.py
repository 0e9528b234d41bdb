"""Signing in through a real OpenID Connect provider."""

import base64
import dataclasses
import datetime as dt
import json
import urllib.parse
from collections.abc import Iterator
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from django.test import Client

from groups.models import Group, GroupPeer
from meshmgmt.access.autogroups import set_auto_groups
from meshmgmt.accounts.models import Account, User
from meshmgmt.accounts.oidc import configured
from meshmgmt.accounts.oidc.identity import claimed_groups, identity_of
from meshmgmt.accounts.oidc.provider import Provider, checked_url
from meshmgmt.core import clock
from meshmgmt.core.errors import Unauthenticated, Unavailable
from tests.api_client import Answer, Api
from tests.mesh import Trail, group, peer
from tests.oidc_provider import CLIENT_ID, RunningProvider, running_provider
from tests.people import person
from tests.resource_contract import ok

pytestmark = pytest.mark.django_db

ME = "/api/users/current"


@pytest.fixture(scope="module")
def running() -> Iterator[RunningProvider]:
    """One provider for all tests here; its state is set by each."""
    with running_provider() as provider:
        yield provider


@pytest.fixture
def provider(running: RunningProvider, settings: Any) -> RunningProvider:
    """The provider, configured as the one of this deployment."""
    settings.SVC = dataclasses.replace(
        settings.SVC,
        oidc_issuer=running.issuer,
        oidc_client_id=CLIENT_ID,
        oidc_client_secret="any",
        oidc_role_claim="roles",
    )
    configured._provider.cache_clear()
    return running


@pytest.fixture
def account() -> Account:
    account = Account.objects.get()
    account.user_approval_required = False
    account.save()
    return account


def ann(provider: RunningProvider, **changes: Any) -> str:
    """Return a token of Ann, of whom the provider says what is given."""
    claims = {"email": "ann@mesh.dev", "email_verified": True, "name": "Ann"}
    provider.set_user("ann", **claims | changes)
    return provider.id_token("ann")


def bearer(token: str, path: str = ME) -> Answer:
    return Api().get(path, Authorization=f"Bearer {token}")


def test_stranger_becomes_a_user_of_the_least_role(
    provider: RunningProvider, account: Account
) -> None:
    token = ann(provider)
    trail = Trail()
    shown = ok(bearer(token))
    assert (shown["email"], shown["name"]) == ("ann@mesh.dev", "Ann")
    assert (shown["role"], shown["issued"], shown["status"]) == (
        "user",
        "jwt",
        "active",
    )
    assert shown["last_login"] != "0001-01-01T00:00:00Z"
    assert sorted(trail.targets) == [
        ("user.create", shown["id"]),
        ("user.join", shown["id"]),
    ]
    assert {event.initiator_id for event in trail.events} == {shown["id"]}
    assert ok(bearer(token))["id"] == shown["id"]
    assert len(trail.codes) == 2
    assert not User.objects.get().has_usable_password()


def test_newer_sign_in_is_recorded_once(
    provider: RunningProvider, account: Account
) -> None:
    ok(bearer(ann(provider)))
    user = User.objects.get()
    before = clock.now() - dt.timedelta(days=1)
    User.objects.unaudited_update(last_login=before)
    token = ann(provider)
    trail = Trail()
    ok(bearer(token))
    ok(bearer(token))
    assert trail.targets == [("dashboard.login", user.pk)]
    assert User.objects.get().last_login > before  # type: ignore[operator]


def test_newcomer_waits_for_approval_where_the_account_asks_for_it(
    provider: RunningProvider,
) -> None:
    trail = Trail()
    token = ann(provider)
    answer = bearer(token)
    assert answer.status == 403
    assert "pending" in answer.json["message"]
    assert sorted(trail.codes) == ["user.create", "user.join"]
    joined = trail.events[trail.codes.index("user.join")]
    assert joined.meta["pending_approval"] == "true"
    assert bearer(token).status == 403
    assert len(trail.codes) == 2


def test_blocked_user_stays_out(provider: RunningProvider, account: Account) -> None:
    token = ann(provider)
    ok(bearer(token))
    user = User.objects.get()
    user.is_blocked = True
    user.save()
    answer = bearer(ann(provider, name="Anna"))
    assert answer.status == 403
    assert "blocked" in answer.json["message"]
    assert User.objects.get().name == "Ann"


@pytest.mark.parametrize(
    ("claim", "role"),
    [
        ("auditor", "auditor"),
        (["staff", "network_admin"], "network_admin"),
        ("owner", "user"),
        (["owner", "admin"], "admin"),
        ("king", "user"),
        (7, "user"),
    ],
)
def test_claim_gives_the_role_but_never_that_of_an_owner(
    provider: RunningProvider, account: Account, claim: Any, role: str
) -> None:
    assert ok(bearer(ann(provider, roles=claim)))["role"] == role


def test_role_follows_the_claim_but_owners_stay(
    provider: RunningProvider, account: Account
) -> None:
    ok(bearer(ann(provider, roles="admin")))
    User.objects.unaudited_update(last_login=None)
    trail = Trail()
    assert ok(bearer(ann(provider, roles="auditor")))["role"] == "auditor"
    assert "user.role.update" in trail.codes
    user = User.objects.get()
    user.role = "owner"
    user.save()
    User.objects.unaudited_update(last_login=None)
    assert ok(bearer(ann(provider, roles="auditor")))["role"] == "owner"


def test_person_known_by_a_verified_address_is_linked(
    provider: RunningProvider, account: Account
) -> None:
    known = person("owner", email="ANN@mesh.dev", name="Ann of ours")
    shown = ok(bearer(ann(provider)))
    assert (shown["id"], shown["role"]) == (known.pk, "owner")
    assert shown["name"] == "Ann of ours"
    assert User.objects.count() == 1


@pytest.mark.parametrize("verified", [False, None, "true"])
def test_address_that_is_not_verified_links_nobody(
    provider: RunningProvider, account: Account, verified: Any
) -> None:
    known = person("owner", email="ann@mesh.dev")
    trail = Trail()
    answer = bearer(ann(provider, email_verified=verified))
    if verified is False:  # then the address does not count at all
        assert ok(answer)["email"] == ""
        assert ok(answer)["id"] != known.pk
        return
    assert answer.status == 403
    assert "did not confirm" in answer.json["message"]
    assert trail.codes == []
    assert User.objects.get().subject is None


def test_groups_of_claims_become_auto_groups(
    provider: RunningProvider, account: Account
) -> None:
    account.jwt_groups_enabled = True
    account.jwt_groups_claim_name = "teams"
    account.save()
    shown = ok(bearer(ann(provider, teams=["ops", "dev", "", 5])))
    ops = Group.objects.get(name="ops")
    dev = Group.objects.get(name="dev")
    assert (ops.issued, dev.issued) == ("jwt", "jwt")
    assert shown["auto_groups"] == [ops.pk, dev.pk]

    user = User.objects.get()
    mine, given = peer("mine", user=user), group("given")
    set_auto_groups(user, [ops.pk, dev.pk, given.pk])
    User.objects.unaudited_update(last_login=None)
    trail = Trail()
    shown = ok(bearer(ann(provider, teams=["dev", "new"])))
    new = Group.objects.get(name="new")
    assert shown["auto_groups"] == [dev.pk, given.pk, new.pk]
    assert Group.objects.filter(name="ops").exists()
    assert set(trail.codes) >= {"group.add", "user.group.add", "user.group.delete"}
    members = GroupPeer.objects.filter(peer=mine).values_list("group_id", flat=True)
    assert set(members) == {given.pk, new.pk}


def test_groups_count_only_where_the_account_says_so(
    provider: RunningProvider, account: Account
) -> None:
    assert ok(bearer(ann(provider, teams=["ops"])))["auto_groups"] == []
    assert not Group.objects.filter(name="ops").exists()


def test_account_may_let_in_certain_groups_alone(
    provider: RunningProvider, account: Account
) -> None:
    account.jwt_groups_enabled = True
    account.jwt_groups_claim_name = "teams"
    account.jwt_allow_groups = ["ops"]
    account.save()
    trail = Trail()
    answer = bearer(ann(provider, teams=["dev"]))
    assert answer.status == 403
    assert "none of your groups" in answer.json["message"]
    assert trail.codes == []
    ok(bearer(ann(provider, teams=["dev", "ops"])))


def test_token_for_another_audience_is_invalid(
    provider: RunningProvider, account: Account
) -> None:
    ann(provider)
    answer = bearer(provider.id_token("ann", client_id="other"))
    assert (answer.status, answer.json["message"]) == (401, "token invalid")
    assert not User.objects.exists()


def parts(token: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return header and claims of a token, unchecked."""
    header, payload, _ = token.split(".")
    return tuple(
        json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
        for part in (header, payload)
    )


def forged(token: str, **changes: Any) -> str:
    """Return the token with other claims, signed by somebody else with its key id."""
    header, claims = parts(token)
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return jwt.encode(claims | changes, key, "RS256", headers={"kid": header["kid"]})


@pytest.mark.parametrize("kind", ["signature", "none", "hmac", "other kid", "garbage"])
def test_token_that_the_provider_did_not_sign_is_invalid(
    provider: RunningProvider, account: Account, kind: str
) -> None:
    token = ann(provider)
    header, claims = parts(token)
    kid = {"kid": header["kid"]}
    fake = {
        "signature": lambda: forged(token),
        "none": lambda: jwt.encode(claims, None, "none", headers=kid),  # type: ignore[arg-type]
        "hmac": lambda: jwt.encode(claims, "x" * 64, "HS256", headers=kid),
        "other kid": lambda: jwt.encode(
            claims,
            rsa.generate_private_key(public_exponent=65537, key_size=2048),
            "RS256",
            headers={"kid": "unknown"},
        ),
        "garbage": lambda: token[:-20],
    }[kind]()
    answer = bearer(fake)
    assert (answer.status, answer.json["message"]) == (401, "token invalid")
    assert answer.headers["WWW-Authenticate"]
    assert not User.objects.exists()


def test_expired_token_is_told_apart(settings: Any, account: Account) -> None:
    with running_provider(token_seconds=-61) as provider:
        settings.SVC = dataclasses.replace(
            settings.SVC, oidc_issuer=provider.issuer, oidc_client_id=CLIENT_ID
        )
        answer = bearer(ann(provider))
    assert (answer.status, answer.json["message"]) == (401, "token expired")


def test_a_minute_of_clock_skew_is_forgiven(settings: Any, account: Account) -> None:
    with running_provider(token_seconds=-30) as provider:
        settings.SVC = dataclasses.replace(
            settings.SVC, oidc_issuer=provider.issuer, oidc_client_id=CLIENT_ID
        )
        ok(bearer(ann(provider)))


@pytest.mark.parametrize("key_ids", [True, False])
def test_new_keys_are_found_and_old_ones_forgotten(
    settings: Any, account: Account, monkeypatch: pytest.MonkeyPatch, key_ids: bool
) -> None:
    monkeypatch.setattr("meshmgmt.accounts.oidc.provider.PAUSE_SECONDS", 0.0)
    with running_provider(key_ids=key_ids) as provider:
        settings.SVC = dataclasses.replace(
            settings.SVC, oidc_issuer=provider.issuer, oidc_client_id=CLIENT_ID
        )
        old = ann(provider)
        ok(bearer(old))
        provider.stop()
        ok(bearer(old))  # the keys are known: nobody is asked
        provider.start()
        new = ann(provider)
        assert ("kid" in parts(new)[0]) is key_ids
        if key_ids:
            assert parts(new)[0]["kid"] != parts(old)[0]["kid"]
        ok(bearer(new))
        assert bearer(old).status == 401


def test_provider_that_is_away_is_503(settings: Any, account: Account) -> None:
    with running_provider() as provider:
        settings.SVC = dataclasses.replace(
            settings.SVC, oidc_issuer=provider.issuer, oidc_client_id=CLIENT_ID
        )
        token = ann(provider)
    answer = bearer(token)
    assert answer.status == 503
    assert answer.headers["Retry-After"]
    assert "identity provider" in answer.json["message"]


def test_made_up_key_ids_do_not_flood_the_provider(running: RunningProvider) -> None:
    asked = []
    now = [0.0]

    class Counted(Provider):
        def _read_keys(self) -> dict[str, jwt.PyJWK]:
            asked.append(now[0])
            return super()._read_keys()

    provider = Counted(running.issuer, now=lambda: now[0])
    for number in range(20):
        with pytest.raises(Unauthenticated):
            provider.key(f"made up {number}")
    assert len(asked) == 1
    now[0] = 6.0
    with pytest.raises(Unauthenticated):
        provider.key("made up")
    assert len(asked) == 2


def test_issuer_that_calls_itself_otherwise_is_refused(
    running: RunningProvider,
) -> None:
    other = running.issuer.replace("127.0.0.1", "localhost") + "/"
    with pytest.raises(Unavailable, match="another issuer"):
        Provider(other).metadata()


@pytest.mark.parametrize(
    "url", ["http://idp.test", "ftp://idp.test", "file:///etc/passwd", "", "idp.test"]
)
def test_provider_is_asked_by_https(url: str) -> None:
    with pytest.raises(Unavailable, match="https"):
        checked_url(url)


def test_without_provider_no_foreign_token_is_good() -> None:
    answer = bearer("a.b.c")
    assert (answer.status, answer.json["message"]) == (401, "token invalid")


@pytest.mark.parametrize(
    "claims",
    [
        {"sub": "", "iat": 1},
        {"sub": 5, "iat": 1},
        {"sub": "x" * 256, "iat": 1},
        {"sub": "x", "iat": "soon"},
        {"sub": "x", "iat": 1e300},
    ],
)
def test_claims_without_usable_subject_or_time_are_invalid(claims: Any) -> None:
    with pytest.raises(Unauthenticated):
        identity_of(claims)


def test_odd_claims_are_left_out() -> None:
    identity = identity_of(
        {"sub": "x", "iat": 1, "email": "no address", "name": 5, "r": {}},
        role_claim="r",
    )
    assert (identity.email, identity.name, identity.role) == ("", "", "")
    assert claimed_groups({"g": "one"}, "g") == ("one",)
    assert claimed_groups({"g": ["a", "a", None, "x" * 256]}, "g") == ("a",)
    assert claimed_groups({"g": ["a"]}, "") == ()
    assert claimed_groups({"g": {"a": 1}}, "g") == ()


class TestAdminSite:
    def sign_in(self, provider: RunningProvider, client: Client, page: str = "") -> Any:
        """Go the way of a browser: to the provider and back."""
        begun = client.get(f"/oidc/login{page}")
        assert begun.status_code == 302, begun.content
        back = provider.authorize("ann", begun["Location"])
        return client.get(back.removeprefix("http://testserver"))

    def test_person_signs_in(self, provider: RunningProvider, account: Account) -> None:
        ann(provider, roles="auditor")
        client = Client()
        assert (
            b"/oidc/login?next=/admin/"
            in client.get("/admin/login/?next=/admin/groups/group/").content
        )
        trail = Trail()
        answer = self.sign_in(provider, client, "?next=/admin/groups/group/")
        assert (answer.status_code, answer["Location"]) == (302, "/admin/groups/group/")
        assert client.get("/admin/groups/group/").status_code == 200
        user = User.objects.get()
        assert sorted(trail.targets) == [
            ("dashboard.login", user.pk),
            ("user.create", user.pk),
            ("user.join", user.pk),
        ]

    def test_target_elsewhere_is_not_followed(
        self, provider: RunningProvider, account: Account
    ) -> None:
        ann(provider, roles="auditor")
        answer = self.sign_in(provider, Client(), "?next=https://evil.test/")
        assert answer["Location"] == "/admin/"

    def test_regular_user_may_not_enter(
        self, provider: RunningProvider, account: Account
    ) -> None:
        ann(provider)
        client = Client()
        answer = self.sign_in(provider, client)
        assert answer["Location"] == "/admin/login/"
        assert b"may not enter" in client.get("/admin/login/").content
        assert client.get("/admin/").status_code == 302

    def test_callback_that_was_not_asked_for_is_refused(
        self, provider: RunningProvider, account: Account
    ) -> None:
        ann(provider, roles="admin")
        begun = Client().get("/oidc/login")
        back = provider.authorize("ann", begun["Location"])
        victim = Client()
        answer = victim.get(back.removeprefix("http://testserver"))
        assert answer["Location"] == "/admin/login/"
        assert b"begun elsewhere" in victim.get("/admin/login/").content
        assert not User.objects.exists()

    def test_code_is_good_once(
        self, provider: RunningProvider, account: Account
    ) -> None:
        ann(provider, roles="admin")
        client = Client()
        begun = client.get("/oidc/login")
        back = provider.authorize("ann", begun["Location"])
        path = back.removeprefix("http://testserver")
        assert client.get(path)["Location"] == "/admin/"
        assert client.get(path)["Location"] == "/admin/login/"

    def test_refusal_of_the_provider_is_shown(
        self, provider: RunningProvider, account: Account
    ) -> None:
        client = Client()
        begun = client.get("/oidc/login")
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(begun["Location"]).query)
        state = query["state"][0]
        answer = client.get(f"/oidc/callback?error=access_denied&state={state}")
        assert answer["Location"] == "/admin/login/"
        assert b"did not sign you in" in client.get("/admin/login/").content

    def test_password_can_be_switched_off(
        self, provider: RunningProvider, account: Account
    ) -> None:
        person("owner", email="bob@mesh.dev", password="correct horse")
        form = {"username": "bob@mesh.dev", "password": "correct horse"}
        assert Client().post("/admin/login/", form).status_code == 302
        account.local_auth_disabled = True
        account.save()
        assert Client().post("/admin/login/", form).status_code == 200

    def test_without_provider_there_is_no_such_way(self) -> None:
        client = Client()
        assert client.get("/oidc/login").status_code == 404
        assert b"/oidc/login" not in client.get("/admin/login/").content
