"""Signing in through a real OpenID Connect provider."""

import base64
import dataclasses
import datetime as dt
import functools
import json
import urllib.parse
from collections.abc import Iterator
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from django.core.cache import cache
from django.test import Client

from groups.models import Group, GroupPeer
from meshmgmt.access.services.autogroups import set_auto_groups
from meshmgmt.accounts.models import Account, User
from meshmgmt.accounts.oidc import configured
from meshmgmt.accounts.oidc.identity import claimed_groups, identity_of
from meshmgmt.accounts.oidc.provider import Keys, Provider, checked_url, fetch_json
from meshmgmt.accounts.oidc.provisioning import user_of
from meshmgmt.core import clock, context
from meshmgmt.core.errors import Unauthenticated, Unavailable
from tests.api_client import Answer, Api
from tests.mesh import Trail, group, peer
from tests.oidc_provider import CLIENT_ID, RunningProvider, running_provider
from tests.people import person
from tests.races import race
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
    """The account, with an owner; people of the provider need no approval."""
    person("owner")
    account = Account.objects.get()
    account.user_approval_required = False
    account.save()
    return account


def ann(provider: RunningProvider, **changes: Any) -> str:
    """Return a token of Ann, of whom the provider says what is given."""
    claims = {"email": "ann@mesh.dev", "email_verified": True, "name": "Ann"}
    provider.set_user("ann", **claims | changes)
    return provider.id_token("ann")


def newcomers() -> Any:
    """Return the users who came by the provider."""
    return User.objects.exclude(subject=None)


def newcomer() -> User:
    return newcomers().get()  # type: ignore[no-any-return]


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
    assert trail.targets == [("user.join", shown["id"])]
    assert {event.initiator_id for event in trail.events} == {shown["id"]}
    assert ok(bearer(token))["id"] == shown["id"]
    assert len(trail.codes) == 1
    assert not newcomer().has_usable_password()


def test_newer_sign_in_is_recorded_once(
    provider: RunningProvider, account: Account
) -> None:
    ok(bearer(ann(provider)))
    user = newcomer()
    before = clock.now() - dt.timedelta(days=1)
    User.objects.unaudited_update(last_login=before)
    token = ann(provider)
    trail = Trail()
    ok(bearer(token))
    ok(bearer(token))
    assert trail.targets == [("dashboard.login", user.pk)]
    assert newcomer().last_login > before  # type: ignore[operator]


@pytest.mark.parametrize("claim", ["auth_time", "https://mesh.dev/nb_last_login"])
def test_renewed_token_is_no_sign_in(
    account: Account, settings: Any, claim: str
) -> None:
    settings.SVC = dataclasses.replace(settings.SVC, oidc_issuer="https://idp.test")
    then = 1_800_000_000

    def signed_in(*, issued: int, login: int | None = None) -> bool:
        claims: dict[str, Any] = {"sub": "ann", "iat": then + issued}
        if login is not None:
            moment = dt.datetime.fromtimestamp(then + login, dt.UTC)
            numbers = claim == "auth_time"
            claims[claim] = then + login if numbers else moment.isoformat()
        with context.scope():  # the user acts for the rest of it
            return user_of(claims, lambda _: {"sub": "ann"}).signed_in

    assert not signed_in(issued=0)  # joins, which has an event of its own
    assert not signed_in(issued=3600)
    assert signed_in(issued=7205, login=7200)
    assert not signed_in(issued=10_800, login=7200)
    assert not signed_in(issued=10_801)
    assert signed_in(issued=20_000, login=20_000)


def test_newcomer_waits_for_approval_where_the_account_asks_for_it(
    provider: RunningProvider,
) -> None:
    person("owner")
    trail = Trail()
    token = ann(provider)
    answer = bearer(token)
    assert answer.status == 403
    assert "pending" in answer.json["message"]
    assert trail.codes == ["user.join"]
    assert trail.events[0].meta["pending_approval"] == "true"
    assert bearer(token).status == 403
    assert len(trail.codes) == 1


def test_blocked_user_stays_out(provider: RunningProvider, account: Account) -> None:
    token = ann(provider)
    ok(bearer(token))
    user = newcomer()
    user.is_blocked = True
    user.save()
    answer = bearer(ann(provider, name="Anna"))
    assert answer.status == 403
    assert "blocked" in answer.json["message"]
    assert newcomer().name == "Ann"


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
    user = newcomer()
    user.role = "owner"
    user.save()
    User.objects.unaudited_update(last_login=None)
    assert ok(bearer(ann(provider, roles="auditor")))["role"] == "owner"


def test_person_known_by_a_verified_address_is_linked(
    provider: RunningProvider, account: Account
) -> None:
    known = person("owner", email="ANN@mesh.dev", name="Ann")
    trail = Trail()
    shown = ok(bearer(ann(provider)))
    assert "user.update" not in trail.codes
    assert (shown["id"], shown["role"]) == (known.pk, "owner")
    assert shown["name"] == "Ann"
    assert newcomers().count() == 1


def test_linked_person_is_invited_no_longer_and_has_no_one_time_password(
    provider: RunningProvider, account: Account
) -> None:
    invited = person("user", email="ann@mesh.dev", password="Correct-Horse-7!")
    invited.password_is_temporary = True
    invited.save(update_fields=["password_is_temporary"])
    trail = Trail()
    assert ok(bearer(ann(provider)))["status"] == "active"
    assert "user.password.change" in trail.codes
    invited.refresh_from_db()
    assert not invited.check_password("Correct-Horse-7!")
    assert not invited.has_usable_password()


def test_password_that_a_linked_person_chose_stays(
    provider: RunningProvider, account: Account
) -> None:
    known = person("user", email="ann@mesh.dev", password="Correct-Horse-7!")
    ok(bearer(ann(provider)))
    known.refresh_from_db()
    assert known.check_password("Correct-Horse-7!")


def test_name_of_a_linked_person_follows_the_provider(
    provider: RunningProvider, account: Account
) -> None:
    known = person("admin", email="ann@mesh.dev", name="Ann of ours")
    assert ok(bearer(ann(provider, name=None)))["name"] == "Ann of ours"
    User.objects.unaudited_update(last_login=None)
    assert ok(bearer(ann(provider, name="Ann Married")))["id"] == known.pk
    known.refresh_from_db()
    assert known.name == "Ann Married"


def test_any_of_the_listed_audiences_is_good(
    provider: RunningProvider, account: Account, settings: Any
) -> None:
    settings.SVC = dataclasses.replace(settings.SVC, oidc_audience=("api", "web"))
    ann(provider)
    for audience, status in [("web", 200), ("api", 200), (CLIENT_ID, 401)]:
        token = provider.id_token("ann", client_id=audience)
        assert bearer(token).status == status


class TestUserinfo:
    """Access tokens that say nothing of their user but the subject."""

    @pytest.fixture(autouse=True)
    def asked(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
        """Yield the addresses that the provider is asked at, nothing known before."""
        urls: list[str] = []

        def watched(url: str, *arguments: Any, **options: Any) -> Any:
            urls.append(url.rpartition("/")[2])
            return fetch_json(url, *arguments, **options)

        monkeypatch.setattr("meshmgmt.accounts.oidc.provider.fetch_json", watched)
        cache.clear()
        yield urls
        cache.clear()

    def test_owner_is_known_by_the_verified_address(
        self, provider: RunningProvider, settings: Any, asked: list[str]
    ) -> None:
        settings.SVC = dataclasses.replace(settings.SVC, oidc_owner="ann@mesh.dev")
        ann(provider)
        token = provider.access_token("ann")
        assert "email" not in parts(token)[1]
        shown = ok(bearer(token))
        assert (shown["role"], shown["email"], shown["name"]) == (
            "owner",
            "ann@mesh.dev",
            "Ann",
        )
        ok(bearer(token))
        ok(bearer(provider.access_token("ann")))
        assert asked.count("userinfo") == 1

    def test_address_that_is_not_verified_is_not_taken(
        self, provider: RunningProvider, account: Account
    ) -> None:
        known = person("admin", email="ann@mesh.dev")
        ann(provider, email_verified=None)
        shown = ok(bearer(provider.access_token("ann")))
        assert (shown["email"], shown["name"]) == ("", "Ann")
        assert shown["id"] != known.pk

    def test_refused_newcomer_is_asked_about_once(
        self, provider: RunningProvider, settings: Any, asked: list[str]
    ) -> None:
        settings.SVC = dataclasses.replace(settings.SVC, oidc_owner="bob@mesh.dev")
        ann(provider)
        token = provider.access_token("ann")
        assert [bearer(token).status for _ in range(5)] == [403] * 5
        assert asked.count("userinfo") == 1

    def test_token_that_userinfo_refuses_makes_a_user_without_address(
        self, provider: RunningProvider, account: Account, asked: list[str]
    ) -> None:
        provider.set_user("ann", email="ann@mesh.dev", email_verified=True)
        token = provider.id_token("ann", scope="openid")
        assert "email" not in parts(token)[1]
        assert ok(bearer(token))["email"] == ""
        assert asked.count("userinfo") == 1

    def test_provider_that_is_away_is_503_and_makes_nobody(
        self, settings: Any, account: Account, asked: list[str]
    ) -> None:
        with running_provider() as provider:
            settings.SVC = dataclasses.replace(
                settings.SVC, oidc_issuer=provider.issuer, oidc_client_id=CLIENT_ID
            )
            ann(provider)
            token = provider.access_token("ann")
            ok(bearer(provider.id_token("bob")))  # now the keys are known
        asked.clear()
        for _ in range(3):
            answer = bearer(token)
            assert answer.status == 503
            assert answer.headers["Retry-After"]
        assert asked == ["userinfo"]
        assert newcomer().subject == f"{provider.issuer}|bob"


@pytest.mark.parametrize("verified", [False, None, "true"])
def test_address_that_is_not_verified_links_nobody(
    provider: RunningProvider, account: Account, verified: Any
) -> None:
    person("owner", email="ann@mesh.dev")
    trail = Trail()
    answer = bearer(ann(provider, email_verified=verified))
    assert answer.status == 403
    assert "did not confirm" in answer.json["message"]
    assert trail.codes == []
    assert not newcomers().exists()


def test_address_known_to_be_unverified_is_not_kept(
    provider: RunningProvider, account: Account
) -> None:
    shown = ok(bearer(ann(provider, email_verified=False, name="")))
    assert (shown["email"], shown["name"]) == ("", "")


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

    user = newcomer()
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
    assert not newcomers().exists()


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
    assert not newcomers().exists()


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


def test_new_keys_are_found_and_old_ones_forgotten(
    settings: Any, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("meshmgmt.accounts.oidc.provider.PAUSE_SECONDS", 0.0)
    with running_provider() as provider:
        settings.SVC = dataclasses.replace(
            settings.SVC, oidc_issuer=provider.issuer, oidc_client_id=CLIENT_ID
        )
        old = ann(provider)
        ok(bearer(old))
        provider.stop()
        ok(bearer(old))  # the keys are known: nobody is asked
        provider.start()
        new = ann(provider)
        assert parts(new)[0]["kid"] != parts(old)[0]["kid"]
        ok(bearer(new))
        assert bearer(old).status == 401


def test_token_that_names_no_key_is_of_the_only_one(
    settings: Any, account: Account
) -> None:
    with running_provider(key_ids=False) as provider:
        settings.SVC = dataclasses.replace(
            settings.SVC, oidc_issuer=provider.issuer, oidc_client_id=CLIENT_ID
        )
        token = ann(provider)
        assert "kid" not in parts(token)[0]
        ok(bearer(token))


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


def test_made_up_key_ids_do_not_flood_the_provider(
    provider: RunningProvider, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def counted(keys: Keys) -> Any:
        asked.append(keys.uri)
        return jwt.PyJWKClient.fetch_data(keys)

    monkeypatch.setattr(Keys, "fetch_data", counted)
    _, claims = parts(ann(provider))
    made_up = [
        jwt.encode(claims, "x" * 64, "HS256", headers={"kid": f"made up {number}"})
        for number in range(20)
    ]
    assert {bearer(token).status for token in made_up} == {401}
    assert len(asked) == 1
    configured.provider().keys().cooldown_duration = 0.0
    assert bearer(made_up[0]).status == 401
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


class TestFirstOwner:
    """Nobody owns the deployment yet."""

    @pytest.fixture
    def named(self, provider: RunningProvider, settings: Any) -> RunningProvider:
        """The provider, where the configuration names the owner."""
        settings.SVC = dataclasses.replace(settings.SVC, oidc_owner="Ann@mesh.dev")
        return provider

    def test_first_person_to_sign_in_is_owner_and_waits_for_nobody(
        self, provider: RunningProvider
    ) -> None:
        assert Account.objects.get().user_approval_required
        shown = ok(bearer(ann(provider, roles="auditor")))
        assert (shown["role"], shown["status"]) == ("owner", "active")
        provider.set_user("bob", email="bob@mesh.dev", email_verified=True)
        answer = bearer(provider.id_token("bob"))
        assert (answer.status, User.objects.owners().count()) == (403, 1)
        assert "pending" in answer.json["message"]

    def test_only_the_named_owner_may_be_first(self, named: RunningProvider) -> None:
        named.set_user("bob", email="bob@mesh.dev", email_verified=True)
        for token in (
            named.id_token("bob"),
            ann(named, email_verified=None),
            ann(named, email_verified=False),
            ann(named, email=None),
        ):
            answer = bearer(token)
            assert answer.status == 403
            assert "no owner yet" in answer.json["message"]
            assert "ann@" not in answer.json["message"].lower()
        assert not User.objects.exists()
        assert ok(bearer(ann(named)))["role"] == "owner"
        named.set_user("bob", email="bob@mesh.dev", email_verified=True)
        bearer(named.id_token("bob"))
        assert sorted(User.objects.values_list("role", flat=True)) == ["owner", "user"]

    def test_person_known_before_becomes_owner(self, provider: RunningProvider) -> None:
        known = person("auditor", email="ann@mesh.dev")
        known.pending_approval = True
        known.save()
        trail = Trail()
        shown = ok(bearer(ann(provider)))
        assert (shown["id"], shown["role"]) == (known.pk, "owner")
        assert {"user.role.update", "user.approve"} <= set(trail.codes)

    def test_blocked_person_does_not_become_owner(
        self, provider: RunningProvider
    ) -> None:
        known = person("auditor", email="ann@mesh.dev")
        known.is_blocked = True
        known.save()
        assert bearer(ann(provider)).status == 403
        assert not User.objects.any_owner()

    @pytest.mark.django_db(transaction=True)
    def test_of_many_at_once_one_becomes_owner(self, provider: RunningProvider) -> None:
        tokens = []
        for name in ("ann", "bob", "cyd", "dan"):
            provider.set_user(name, email=f"{name}@mesh.dev", email_verified=True)
            tokens.append(provider.id_token(name))
        trail = Trail()
        answers = race([functools.partial(bearer, token) for token in tokens])
        assert sorted(answer.status for answer in answers) == [200, 403, 403, 403]
        assert User.objects.filter(role="owner").count() == 1
        assert User.objects.filter(pending_approval=True).count() == 3
        assert trail.codes.count("user.join") == 4

    @pytest.mark.django_db(transaction=True)
    def test_setup_by_password_and_sign_in_at_once_make_one_owner(
        self, provider: RunningProvider
    ) -> None:
        token = ann(provider)
        owner = {"email": "bob@mesh.dev", "name": "Bob", "password": "correct horse"}
        race([lambda: bearer(token), lambda: Api().post("/api/setup", owner)])
        assert User.objects.filter(role="owner").count() == 1


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
        user = newcomer()
        assert sorted(trail.targets) == [
            ("dashboard.login", user.pk),
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
        assert not newcomers().exists()

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
