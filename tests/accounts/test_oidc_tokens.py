"""Which tokens of a real OpenID Connect provider are good."""

import datetime as dt
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import jwt
import pytest
import time_machine
from cryptography.hazmat.primitives.asymmetric import rsa

from meshmgmt.accounts.models import Account, User
from meshmgmt.accounts.oidc import configured
from meshmgmt.accounts.oidc.identity import claimed_groups, identity_of
from meshmgmt.accounts.oidc.provider import Keys, Provider, checked_url, fetch_json
from meshmgmt.accounts.tokens import new_token
from meshmgmt.core import clock
from meshmgmt.core.errors import Unauthenticated, Unavailable
from tests.accounts.identities import ME, bearer, newcomers, parts
from tests.api_client import Api
from tests.oidc_provider import RunningProvider, configure, running_provider
from tests.people import token_of
from tests.resource_contract import ok, refusal
from tests.servers import free_port

pytestmark = pytest.mark.django_db


def test_token_for_another_audience_is_invalid(idp: RunningProvider):
    idp.token_of()
    answer = bearer(idp.id_token("ann", client_id="other"))
    assert refusal(answer, 401) == "token invalid"
    assert not newcomers().exists()


def test_token_of_ours_is_no_business_of_the_provider(idp: RunningProvider):
    owner = User.objects.get()
    assert ok(bearer(token_of(owner)))["id"] == owner.pk
    assert refusal(bearer(new_token()), 401) == "token invalid"
    theirs = Api().get(ME, Authorization=f"Token {idp.token_of()}")
    assert refusal(theirs, 401) == "token invalid"


@pytest.mark.parametrize("kind", ["signature", "none", "hmac", "other kid", "garbage"])
def test_token_that_the_provider_did_not_sign_is_invalid(
    idp: RunningProvider, kind: str
):
    token = idp.token_of()
    header, claims = parts(token)

    def signed(key: Any, algorithm: str, kid: str = header["kid"]) -> str:
        return jwt.encode(claims, key, algorithm, headers={"kid": kid})

    another = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    fake = {
        "signature": lambda: signed(another, "RS256"),
        "none": lambda: signed(None, "none"),
        "hmac": lambda: signed("x" * 64, "HS256"),
        "other kid": lambda: signed(another, "RS256", "unknown"),
        "garbage": lambda: token[:-20],
    }[kind]()
    answer = bearer(fake)
    assert refusal(answer, 401) == "token invalid"
    assert answer.headers["WWW-Authenticate"]
    assert not newcomers().exists()


@pytest.mark.parametrize(
    ("seconds", "status", "told"), [(30, 200, None), (61, 401, "token expired")]
)
def test_expired_token_is_told_apart_and_a_minute_of_skew_forgiven(
    *, idp: RunningProvider, seconds: int, status: int, told: str | None
):
    token = idp.token_of()
    late = dt.timedelta(seconds=idp.token_seconds + seconds)
    with time_machine.travel(clock.now() + late):
        answer = bearer(token)
    assert (answer.status, answer.json.get("message")) == (status, told)


def test_new_keys_are_found_and_old_ones_forgotten(
    settings: Any, account: Account, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("meshmgmt.accounts.oidc.provider.PAUSE_SECONDS", 0.0)
    with running_provider() as provider:
        configure(settings, provider.issuer)
        old = provider.token_of()
        ok(bearer(old))
        provider.stop()
        ok(bearer(old))  # the keys are known: nobody is asked
        provider.start()
        new = provider.token_of()
        assert parts(new)[0]["kid"] != parts(old)[0]["kid"]
        ok(bearer(new))
        assert bearer(old).status == 401


def test_token_that_names_no_key_is_of_the_only_one(settings: Any, account: Account):
    with running_provider(key_ids=False) as provider:
        configure(settings, provider.issuer)
        token = provider.token_of()
        assert "kid" not in parts(token)[0]
        ok(bearer(token))


def test_provider_that_is_away_is_503(idp: RunningProvider, settings: Any):
    token = idp.token_of()
    configure(settings, f"http://127.0.0.1:{free_port()}")
    answer = bearer(token)
    assert "identity provider" in refusal(answer, 503)
    assert answer.headers["Retry-After"]


@contextmanager
def saying(text: bytes, *, dripping: bool = False) -> Iterator[str]:
    """Yield the address of a server that says a text to everybody, then drips on."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    threading.Thread(target=talk, args=[server.accept()[0]]).start()

        def talk(connection: socket.socket) -> None:
            with connection, suppress(OSError):
                connection.recv(4096)
                connection.sendall(text)
                while dripping:
                    connection.sendall(b" ")
                    time.sleep(0.01)

        serving = threading.Thread(target=serve)
        serving.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
        serving.join()


@pytest.mark.parametrize(
    "text", [b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 200 OK\r\n\r\n" + b"[" * 100_000]
)
def test_provider_that_says_what_cannot_be_read_is_unavailable(text: bytes):
    unavailable = pytest.raises(Unavailable, match="not available now")
    with saying(text) as url, unavailable:
        fetch_json(url)


@pytest.mark.parametrize(
    "text",
    [b"", b"HTTP/1.1 200 OK\r\n\r\n{", b"HTTP/1.1 400 No\r\nX-Long: a"],
    ids=["nothing", "body", "header"],
)
@pytest.mark.parametrize("kind", ["metadata", "keys", "refusal"])
def test_provider_that_drips_is_cut_and_told_in_the_log(
    *, monkeypatch: pytest.MonkeyPatch, caplog: Any, text: bytes, kind: str
):
    monkeypatch.setattr("meshmgmt.accounts.oidc.provider.TIMEOUT_SECONDS", 0.3)
    with saying(text, dripping=True) as url:
        asking: Any = {
            "metadata": Provider(url).metadata,
            "keys": Keys(url).get_jwk_set,
            "refusal": lambda: fetch_json(url, {"code": "c"}),
        }
        with pytest.raises(Unavailable, match="not available now") as caught:
            asking[kind]()
    assert "took longer" in str(caught.value.__cause__)
    assert ("took longer" in caplog.text) == (kind != "refusal")


TLS_RECORD = b"\x16\x03\x03\x10\x00"
"""The head of a long one."""


@pytest.mark.parametrize(
    ("text", "by_proxy"), [(TLS_RECORD, False), (b"HTTP/1.1 200 OK\r\nX: ", True)]
)
def test_provider_that_drips_before_it_is_asked_is_cut(
    *, monkeypatch: pytest.MonkeyPatch, text: bytes, by_proxy: bool
):
    monkeypatch.setattr("meshmgmt.accounts.oidc.provider.TIMEOUT_SECONDS", 0.3)
    with saying(text, dripping=True) as url:
        monkeypatch.setenv("https_proxy", url if by_proxy else "")
        asked = "https://idp.test" if by_proxy else url.replace("http", "https")
        with pytest.raises(Unavailable, match="not available now") as caught:
            fetch_json(asked)
    assert "took longer" in str(caught.value.__cause__)


def test_all_addresses_of_the_provider_share_its_time(
    running: RunningProvider, monkeypatch: pytest.MonkeyPatch
):
    connect, waits = socket.socket.connect, list[float]()
    away: OSError = TimeoutError("away")

    def dropping(made: socket.socket, address: Any) -> None:
        waits.append(made.gettimeout() or 0.0)
        if len(waits) % 3:
            raise away
        connect(made, address)

    [found] = socket.getaddrinfo("127.0.0.1", running.port, type=socket.SOCK_STREAM)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [found] * 3)
    monkeypatch.setattr(socket.socket, "connect", dropping)
    assert Provider(running.issuer).metadata()
    assert sum(waits[:2]) < 5.0
    away = ConnectionRefusedError("not there")
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [found] * 2)
    with pytest.raises(Unavailable) as caught:
        fetch_json(running.issuer)
    assert caught.value.__cause__ is not None


def test_provider_leads_nobody_elsewhere_with_a_secret_nor_to_plain_http():
    def moved(url: str) -> bytes:
        return f"HTTP/1.1 302 Found\r\nLocation: {url}\r\n\r\n".encode()

    with saying(b"HTTP/1.1 200 OK\r\n\r\n[1]") as there, saying(moved(there)) as here:
        assert fetch_json(here) == [1]
        for secret in ({"bearer": "t"}, {"form": {"code": "c"}}):
            with pytest.raises(Unavailable, match="not available now"):
                fetch_json(here, **secret)
    unavailable = pytest.raises(Unavailable, match="not available now")
    with saying(moved("http://idp.test/")) as here, unavailable:
        fetch_json(here)


@pytest.mark.parametrize(
    "asking",
    [
        lambda: Provider("https://idp.test").metadata,
        lambda: Keys("https://idp.test/keys").get_jwk_set,
    ],
    ids=["metadata", "keys"],
)
@pytest.mark.parametrize(("pause", "times"), [(5.0, 1), (0.0, 3)])
def test_provider_that_failed_is_left_alone_for_a_while(
    monkeypatch: pytest.MonkeyPatch, asking: Any, pause: float, times: int
):
    asked = []

    def refuse(*arguments: Any, **options: Any) -> Any:
        asked.append(arguments)
        raise OSError

    monkeypatch.setattr("meshmgmt.accounts.oidc.provider.PAUSE_SECONDS", pause)
    monkeypatch.setattr("urllib.request.OpenerDirector.open", refuse)
    ask = asking()
    for _ in range(3):
        with pytest.raises(Unavailable, match="not available now"):
            ask()
    assert len(asked) == times


def test_made_up_key_ids_do_not_flood_the_provider(
    idp: RunningProvider, monkeypatch: pytest.MonkeyPatch
):
    asked = []

    def counted(keys: Keys) -> Any:
        asked.append(keys.uri)
        return fetched(keys)

    fetched = Keys.fetch_data
    monkeypatch.setattr(Keys, "fetch_data", counted)
    _, claims = parts(idp.token_of())
    made_up = [
        jwt.encode(claims, "x" * 64, "HS256", headers={"kid": f"made up {number}"})
        for number in range(20)
    ]
    assert {bearer(token).status for token in made_up} == {401}
    assert len(asked) == 1
    configured.provider().keys().cooldown_duration = 0.0
    assert bearer(made_up[0]).status == 401
    assert len(asked) == 2


def test_issuer_that_calls_itself_otherwise_is_refused(running: RunningProvider):
    other = running.issuer.replace("127.0.0.1", "localhost") + "/"
    with pytest.raises(Unavailable, match="another issuer"):
        Provider(other).metadata()


@pytest.mark.parametrize(
    "url", ["http://idp.test", "ftp://idp.test", "file:///etc/passwd", "", "idp.test"]
)
def test_provider_is_asked_by_https(url: str):
    with pytest.raises(Unavailable, match="https"):
        checked_url(url)


def test_without_provider_no_foreign_token_is_good():
    assert refusal(bearer("a.b.c"), 401) == "token invalid"


@pytest.mark.parametrize(
    "claims",
    [
        *({"sub": sub, "iat": 1} for sub in ("", 5, "x" * 256, "x\0", "x\ud800")),
        *({"sub": "x", "iat": iat} for iat in ("soon", 1e300)),
    ],
)
def test_claims_without_usable_subject_or_time_are_invalid(claims: Any):
    with pytest.raises(Unauthenticated):
        identity_of(claims)


def test_odd_claims_are_left_out():
    identity = identity_of(
        {"sub": "x", "iat": 1, "email": "no address", "name": 5, "r": {}},
        role_claim="r",
    )
    assert (identity.email, identity.name, identity.role) == ("", "", "")
    halves = {"sub": "x", "iat": 1, "email": "\udc00@mesh.dev", "name": "Ann\ud800"}
    identity = identity_of(halves)
    assert (identity.email, identity.name) == ("", "")
    assert identity_of(halves | {"preferred_username": "ann"}).name == "ann"
    assert claimed_groups({"g": ["a\ud800", "a\0", "b"]}, "g") == ("b",)
    assert claimed_groups({"g": "one"}, "g") == ("one",)
    assert claimed_groups({"g": ["a", "a", None, "x" * 256]}, "g") == ("a",)
    assert claimed_groups({"g": ["a"]}, "") == ()
    assert claimed_groups({"g": {"a": 1}}, "g") == ()
