"""Users who sign in on their machines, by a real OpenID Connect provider."""

import datetime as dt
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from meshmgmt.access.services.enrolment import set_auto_groups
from meshmgmt.accounts.models import User
from meshmgmt.control.models import SpentToken
from meshmgmt.control.protocol import management_pb2 as pb
from meshmgmt.control.services import sso
from meshmgmt.control.services.logins import Session, login
from meshmgmt.control.services.refusals import Code
from meshmgmt.control.services.sessions import extend_session
from meshmgmt.core import clock
from meshmgmt.inventory.models import Peer
from tests.control.machines import (
    SOURCE,
    come_back,
    enrolled,
    meta,
    public_key,
    refusal_of,
    request,
)
from tests.factories import (
    Trail,
    account_settings,
    changed,
    group,
    groups_of_peer,
    setup_key,
)
from tests.oidc_provider import CLIENT_ID, RunningProvider, configure, running_provider
from tests.people import person

pytestmark = pytest.mark.django_db
LONG_AGO = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def running() -> Iterator[RunningProvider]:
    """One provider for all tests here."""
    with running_provider() as provider:
        yield provider


@pytest.fixture
def provider(running: RunningProvider, settings: Any) -> RunningProvider:
    """The provider, configured as the one of this deployment."""
    configure(settings, running.issuer)
    account_settings(user_approval_required=False)
    person("owner")  # or the first to sign in became it
    return running


def sign_in(provider: RunningProvider, name: str = "ann", **facts: Any) -> Session:
    token = provider.token_of(name)
    return login(public_key(), request(jwtToken=token, **facts), SOURCE)


def code_of(call: Any, *args: Any, **facts: Any) -> Code:
    return refusal_of(call, *args, **facts).code


def code_for(token: str) -> Code:
    """Return how a new machine with a token is refused."""
    return code_of(login, public_key(), request(jwtToken=token), SOURCE)


def test_user_who_signs_in_owns_the_machine(provider: RunningProvider):
    ann = person("user", email="ann@mesh.dev", name="Ann")
    staff = group("staff")
    set_auto_groups(ann, [staff.pk])
    trail = Trail()
    key = setup_key()
    found = sign_in(provider, setupKey=key.plain)

    peer = Peer.objects.get(pk=found.peer_id)
    assert (peer.user_id, peer.setup_key_id) == (ann.pk, "")
    assert peer.login_expiration_enabled
    assert peer.inactivity_expiration_enabled
    assert peer.last_login is not None
    assert found.session_expires_at == peer.last_login + dt.timedelta(days=1)
    assert staff.pk in groups_of_peer(peer.pk)
    added = next(e for e in trail.events if e.activity_code == "peer.user.add")
    assert (added.target_id, added.initiator_id) == (peer.pk, ann.pk)
    key.refresh_from_db()
    assert key.used_times == 0


def test_stranger_becomes_a_user_with_a_machine(provider: RunningProvider):
    found = sign_in(provider, "bob")
    bob = User.objects.get(email="bob@mesh.dev")
    assert Peer.objects.get(pk=found.peer_id).user == bob


def test_stranger_who_waits_for_approval_has_no_machine(provider: RunningProvider):
    account_settings(user_approval_required=True)
    assert code_of(sign_in, provider, "cid") == Code.PERMISSION_DENIED
    assert User.objects.get(email="cid@mesh.dev").pending_approval
    assert not Peer.objects.exists()


def test_blocked_user_enrols_nothing(provider: RunningProvider):
    changed(person("user", email="ann@mesh.dev"), is_blocked=True)
    assert code_of(sign_in, provider) == Code.PERMISSION_DENIED
    assert not Peer.objects.exists()


def test_device_that_is_named_like_all_of_its_kind_gets_its_users_name(
    provider: RunningProvider,
):
    found = sign_in(provider, meta=meta("iPhone"))
    assert Peer.objects.get(pk=found.peer_id).name == "iPhone-ann"


def test_extra_labels_are_for_setup_keys(provider: RunningProvider):
    assert code_of(sign_in, provider, dnsLabels=["db"]) == Code.PERMISSION_DENIED
    assert not SpentToken.objects.exists()


def test_token_is_good_for_one_login(provider: RunningProvider):
    token = provider.token_of()
    login(public_key(), request(jwtToken=token), SOURCE)
    for spelt in (token, f"{token}==", f" {token}"):
        assert code_for(spelt) in {Code.UNAUTHENTICATED, Code.INVALID_ARGUMENT}
    assert Peer.objects.count() == 1


@pytest.mark.parametrize("token", ["x", "a.b.c", "\0", "e" * 20_000])
def test_what_is_no_token_is_an_invalid_argument(provider: RunningProvider, token: str):
    assert code_for(token) == Code.INVALID_ARGUMENT


def test_expired_token_asks_for_another_one(provider: RunningProvider, settings: Any):
    with running_provider(token_seconds=-120) as other:
        configure(settings, other.issuer)
        assert code_for(other.token_of()) == Code.UNAUTHENTICATED


def test_without_provider_nobody_signs_in():
    assert code_for("a.b.c") == Code.INVALID_ARGUMENT


def test_provider_that_is_away_is_no_decision_about_the_peer(settings: Any):
    configure(settings, "http://127.0.0.1:9")
    assert code_for("eyJhbGciOiJSUzI1NiJ9.e30.AAAA") == Code.UNAVAILABLE
    assert code_of(sso.pkce_flow) == Code.UNAVAILABLE


def expire(peer_id: str, *, flagged: bool) -> Peer:
    peer = Peer.objects.get(pk=peer_id)
    if flagged:
        changed(peer, login_expired=True)
    else:
        Peer.objects.filter(pk=peer_id).unaudited_update(last_login=LONG_AGO)
    return peer


@pytest.mark.parametrize("flagged", [True, False], ids=["flag", "clock"])
def test_owner_begins_an_expired_session_anew(provider: RunningProvider, flagged: bool):
    peer = expire(sign_in(provider).peer_id, flagged=flagged)
    trail = Trail()
    before = clock.now()
    found = come_back(peer, jwtToken=provider.token_of())
    peer.refresh_from_db()
    assert not peer.login_expired
    assert peer.last_login is not None
    assert peer.last_login >= before
    assert found.session_expires_at == peer.last_login + dt.timedelta(days=1)
    assert ("user.peer.login", peer.pk) in trail.targets
    assert trail.codes.count("user.peer.login") == 1
    signed_in = trail.events[trail.codes.index("user.peer.login")]
    assert signed_in.initiator_id == peer.user_id
    come_back(peer)


def test_session_that_lasts_is_not_renewed_by_a_login(provider: RunningProvider):
    first = sign_in(provider)
    peer = Peer.objects.get(pk=first.peer_id)
    again = come_back(peer, jwtToken=provider.token_of())
    assert again.session_expires_at == first.session_expires_at


def test_nobody_signs_in_on_the_machine_of_another(provider: RunningProvider):
    peer = Peer.objects.get(pk=sign_in(provider).peer_id)
    code = code_of(come_back, peer, jwtToken=provider.token_of("bob"))
    assert code == Code.PERMISSION_DENIED


def test_nobody_signs_in_on_a_machine_of_a_setup_key(provider: RunningProvider):
    code = code_of(come_back, enrolled(), jwtToken=provider.token_of())
    assert code == Code.PERMISSION_DENIED


def test_owner_prolongs_a_session(provider: RunningProvider):
    peer = Peer.objects.get(pk=sign_in(provider).peer_id)
    moment = clock.now() - dt.timedelta(hours=20)
    Peer.objects.filter(pk=peer.pk).unaudited_update(last_login=moment)
    trail = Trail()
    until = extend_session(peer.wg_public_key, provider.token_of(), meta())
    peer.refresh_from_db()
    assert peer.last_login is not None
    assert peer.last_login > moment
    assert until == peer.last_login + dt.timedelta(days=1)
    assert ("user.peer.session.extend", peer.pk) in trail.targets


def test_session_is_prolonged_by_its_owner_alone_and_once(provider: RunningProvider):
    peer = Peer.objects.get(pk=sign_in(provider).peer_id)
    key = peer.wg_public_key
    other = provider.token_of("bob")
    assert code_of(extend_session, key, other, meta()) == Code.PERMISSION_DENIED
    token = provider.token_of()
    extend_session(key, token, meta())
    assert code_of(extend_session, key, token, meta()) == Code.UNAUTHENTICATED


def test_session_without_end_cannot_be_prolonged(provider: RunningProvider):
    peer = Peer.objects.get(pk=sign_in(provider).peer_id)
    account_settings(peer_login_expiration_enabled=False)
    token = provider.token_of()
    code = code_of(extend_session, peer.wg_public_key, token, meta())
    assert code == Code.FAILED_PRECONDITION


def test_ways_of_signing_in_come_from_the_provider(provider: RunningProvider):
    flow = sso.pkce_flow().ProviderConfig
    assert (flow.ClientID, flow.Audience) == (CLIENT_ID, CLIENT_ID)
    assert flow.AuthorizationEndpoint.startswith(provider.issuer)
    assert flow.TokenEndpoint.startswith(provider.issuer)
    assert (flow.UseIDToken, flow.ClientSecret) == (True, "")
    assert list(flow.RedirectURLs) == list(sso.REDIRECTS)
    assert isinstance(sso.pkce_flow(), pb.PKCEAuthorizationFlow)


def test_client_is_told_the_first_audience_and_brings_an_access_token(
    provider: RunningProvider, settings: Any
):
    configure(settings, provider.issuer, oidc_audience=("api", "web"))
    flow = sso.pkce_flow().ProviderConfig
    assert (flow.Audience, flow.UseIDToken) == ("api", False)


def test_without_client_id_there_is_no_way_of_signing_in(
    provider: RunningProvider, settings: Any
):
    configure(settings, provider.issuer, oidc_audience=("api",))
    settings.SVC = replace(settings.SVC, oidc_client_id="")
    assert code_of(sso.pkce_flow) == Code.NOT_FOUND


def test_without_provider_there_is_no_way_of_signing_in():
    assert code_of(sso.pkce_flow) == Code.NOT_FOUND
    assert code_of(sso.device_flow) == Code.NOT_FOUND
