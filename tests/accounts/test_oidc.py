"""What becomes of people whom a real OpenID Connect provider names."""

import dataclasses
import datetime as dt
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache

from groups.models import Group, GroupPeer
from meshmgmt.access.services.enrolment import set_auto_groups
from meshmgmt.accounts.models import Account, User
from meshmgmt.accounts.oidc.provider import fetch_json
from meshmgmt.accounts.oidc.provisioning import user_of
from meshmgmt.core import clock, context
from tests.accounts.identities import bearer, newcomer, newcomers, parts
from tests.api_client import Api
from tests.factories import Trail, account_settings, changed, group, peer
from tests.oidc_provider import CLIENT_ID, RunningProvider, configure, running_provider
from tests.people import person
from tests.resource_contract import ok, refusal

pytestmark = pytest.mark.django_db


def test_stranger_becomes_a_user_of_the_least_role(idp: RunningProvider):
    token = idp.token_of()
    trail = Trail()
    shown = ok(bearer(token))
    told = {"email": "ann@mesh.dev", "name": "Ann", "role": "user", "issued": "jwt"}
    assert shown.items() >= (told | {"status": "active"}).items()
    assert shown["last_login"] != "0001-01-01T00:00:00Z"
    assert trail.targets == [("user.join", shown["id"])]
    assert {event.initiator_id for event in trail.events} == {shown["id"]}
    assert ok(bearer(token))["id"] == shown["id"]
    assert len(trail.codes) == 1
    assert not newcomer().has_usable_password()


def test_newer_sign_in_is_recorded_once(idp: RunningProvider):
    ok(bearer(idp.token_of()))
    user = newcomer()
    before = clock.now() - dt.timedelta(days=1)
    User.objects.unaudited_update(last_login=before)
    token = idp.token_of()
    trail = Trail()
    ok(bearer(token))
    ok(bearer(token))
    assert trail.targets == [("dashboard.login", user.pk)]
    assert newcomer().last_login > before  # type: ignore[operator]


@pytest.mark.parametrize("claim", ["auth_time", "https://mesh.dev/nb_last_login"])
def test_renewed_token_is_no_sign_in(account: Account, settings: Any, claim: str):
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


def test_renewed_token_gets_the_answer_that_is_kept_for_the_person(
    idp: RunningProvider,
):
    tokens = [idp.token_of(roles="admin") for _ in range(2)]
    assert tokens[0] != tokens[1]
    first, again = (
        Api().post(
            "/api/groups",
            {"name": "web"},
            **{"Idempotency-Key": "a-key", "Authorization": f"Bearer {token}"},
        )
        for token in tokens
    )
    assert (again.status, again.body) == (200, first.body)
    assert again.headers["Idempotency-Replayed"] == "true"


def test_newcomer_waits_for_approval_where_the_account_asks_for_it(
    provider: RunningProvider,
):
    person("owner")
    trail = Trail()
    token = provider.token_of()
    assert "pending" in refusal(bearer(token), 403)
    assert trail.codes == ["user.join"]
    assert trail.events[0].meta["pending_approval"] == "true"
    assert bearer(token).status == 403
    assert len(trail.codes) == 1


def test_blocked_user_stays_out(idp: RunningProvider):
    ok(bearer(idp.token_of()))
    changed(newcomer(), is_blocked=True)
    assert "blocked" in refusal(bearer(idp.token_of(name="Anna")), 403)
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
    idp: RunningProvider, claim: Any, role: str
):
    assert ok(bearer(idp.token_of(roles=claim)))["role"] == role


def test_role_follows_the_claim_but_owners_stay(idp: RunningProvider):
    ok(bearer(idp.token_of(roles="admin")))
    User.objects.unaudited_update(last_login=None)
    trail = Trail()
    assert ok(bearer(idp.token_of(roles="auditor")))["role"] == "auditor"
    assert "user.role.update" in trail.codes
    changed(newcomer(), role="owner")
    User.objects.unaudited_update(last_login=None)
    assert ok(bearer(idp.token_of(roles="auditor")))["role"] == "owner"


def test_person_known_by_a_verified_address_is_linked(idp: RunningProvider):
    known = person("owner", email="ANN@mesh.dev", name="Ann")
    trail = Trail()
    shown = ok(bearer(idp.token_of()))
    assert "user.update" not in trail.codes
    kept = (shown["id"], shown["role"], shown["name"])
    assert kept == (known.pk, "owner", "Ann")
    assert newcomers().count() == 1


@pytest.mark.parametrize("temporary", [True, False])
def test_linked_person_keeps_a_password_of_their_own_but_none_for_one_time(
    idp: RunningProvider, temporary: bool
):
    known = person("user", email="ann@mesh.dev", password="Correct-Horse-7!")
    changed(known, password_is_temporary=temporary)
    trail = Trail()
    assert ok(bearer(idp.token_of()))["status"] == "active"
    assert ("user.password.change" in trail.codes) is temporary
    known.refresh_from_db()
    assert known.check_password("Correct-Horse-7!") is not temporary
    assert known.has_usable_password() is not temporary


def test_name_of_a_linked_person_follows_the_provider(idp: RunningProvider):
    known = person("admin", email="ann@mesh.dev", name="Ann of ours")
    assert ok(bearer(idp.token_of(name=None)))["name"] == "Ann of ours"
    User.objects.unaudited_update(last_login=None)
    assert ok(bearer(idp.token_of(name="Ann Married")))["id"] == known.pk
    known.refresh_from_db()
    assert known.name == "Ann Married"


def test_any_of_the_listed_audiences_is_good(idp: RunningProvider, settings: Any):
    settings.SVC = dataclasses.replace(settings.SVC, oidc_audience=("api", "web"))
    idp.token_of()
    for audience, status in [("web", 200), ("api", 200), (CLIENT_ID, 401)]:
        token = idp.id_token("ann", client_id=audience)
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
    ):
        settings.SVC = dataclasses.replace(settings.SVC, oidc_owner="ann@mesh.dev")
        provider.token_of()
        token = provider.access_token("ann")
        assert "email" not in parts(token)[1]
        shown = ok(bearer(token))
        told = {"role": "owner", "email": "ann@mesh.dev", "name": "Ann"}
        assert shown.items() >= told.items()
        ok(bearer(token))
        ok(bearer(provider.access_token("ann")))
        assert asked.count("userinfo") == 1

    def test_address_that_is_not_verified_is_not_taken(self, idp: RunningProvider):
        known = person("admin", email="ann@mesh.dev")
        idp.token_of(email_verified=None)
        shown = ok(bearer(idp.access_token("ann")))
        assert (shown["email"], shown["name"]) == ("", "Ann")
        assert shown["id"] != known.pk

    def test_refused_newcomer_is_asked_about_once(
        self, provider: RunningProvider, settings: Any, asked: list[str]
    ):
        settings.SVC = dataclasses.replace(settings.SVC, oidc_owner="bob@mesh.dev")
        provider.token_of()
        token = provider.access_token("ann")
        assert [bearer(token).status for _ in range(5)] == [403] * 5
        assert asked.count("userinfo") == 1

    def test_token_that_userinfo_refuses_makes_a_user_without_address(
        self, idp: RunningProvider, asked: list[str]
    ):
        idp.set_user("ann", email="ann@mesh.dev", email_verified=True)
        token = idp.id_token("ann", scope="openid")
        assert "email" not in parts(token)[1]
        assert ok(bearer(token))["email"] == ""
        assert asked.count("userinfo") == 1

    def test_provider_that_is_away_is_503_and_makes_nobody(
        self, settings: Any, account: Account, asked: list[str]
    ):
        with running_provider() as provider:
            configure(settings, provider.issuer)
            provider.token_of()
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
def test_address_that_is_not_verified_links_nobody(idp: RunningProvider, verified: Any):
    person("owner", email="ann@mesh.dev")
    trail = Trail()
    answer = bearer(idp.token_of(email_verified=verified))
    assert "did not confirm" in refusal(answer, 403)
    assert trail.codes == []
    assert not newcomers().exists()


def test_address_known_to_be_unverified_is_not_kept(idp: RunningProvider):
    shown = ok(bearer(idp.token_of(email_verified=False, name="")))
    assert (shown["email"], shown["name"]) == ("", "")


def test_groups_of_claims_become_auto_groups(idp: RunningProvider):
    account_settings(jwt_groups_enabled=True, jwt_groups_claim_name="teams")
    shown = ok(bearer(idp.token_of(teams=["ops", "All", "dev", "", 5])))
    ops, dev = (Group.objects.get(name=name) for name in ("ops", "dev"))
    assert (ops.issued, dev.issued) == ("jwt", "jwt")
    assert shown["auto_groups"] == [ops.pk, dev.pk]

    user = newcomer()
    mine, given = peer("mine", user=user), group("given")
    set_auto_groups(user, [ops.pk, dev.pk, given.pk])
    User.objects.unaudited_update(last_login=None)
    trail = Trail()
    shown = ok(bearer(idp.token_of(teams=["dev", "new"])))
    new = Group.objects.get(name="new")
    assert shown["auto_groups"] == [dev.pk, given.pk, new.pk]
    assert Group.objects.filter(name="ops").exists()
    assert set(trail.codes) >= {"group.add", "user.group.add", "user.group.delete"}
    members = GroupPeer.objects.filter(peer=mine).values_list("group_id", flat=True)
    assert set(members) == {given.pk, new.pk}


def test_groups_count_only_where_the_account_says_so(idp: RunningProvider):
    assert ok(bearer(idp.token_of(teams=["ops"])))["auto_groups"] == []
    assert not Group.objects.filter(name="ops").exists()


def test_account_may_let_in_certain_groups_alone(idp: RunningProvider):
    account_settings(
        jwt_groups_enabled=True, jwt_groups_claim_name="teams", jwt_allow_groups=["ops"]
    )
    trail = Trail()
    answer = bearer(idp.token_of(teams=["dev"]))
    assert "none of your groups" in refusal(answer, 403)
    assert trail.codes == []
    ok(bearer(idp.token_of(teams=["dev", "ops"])))
