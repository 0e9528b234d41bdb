"""A real OpenID Connect provider, run as a process of its own by its own environment."""

import json
import os
import subprocess
import urllib.parse
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from http.client import HTTPConnection
from typing import Any, Final, NamedTuple

import pytest

from meshmgmt.accounts.oidc import configured
from meshmgmt.env import BASE_DIR
from tests.servers import free_port
from tests.waiting import until

PYTHON: Final = BASE_DIR / ".venv-oidc" / "bin" / "python"
LAUNCHER: Final = BASE_DIR / "tests" / "oidc_launcher.py"
CLIENT_ID: Final = "mesh"
REDIRECT: Final = "http://testserver/oidc/callback"
SCOPE: Final = "openid email profile"
START_SECONDS: Final = 20.0


class _Answer(NamedTuple):
    """Where the provider sends the browser, and what it says."""

    location: str
    body: bytes


@dataclass
class RunningProvider:
    """The provider at `issuer`; stopping and starting it anew changes its keys."""

    port: int
    token_seconds: int = 3600
    key_ids: bool = True
    process: subprocess.Popen[bytes] | None = None

    @property
    def issuer(self) -> str:
        """Its address, which is its name."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start and wait until it answers."""
        kid = "kid" if self.key_ids else "no-kid"
        command = [str(PYTHON), str(LAUNCHER), kid, "--port", str(self.port)]
        command += ["--token-max-age", str(self.token_seconds)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        until(self._answers, "a provider that answers", START_SECONDS)

    def _answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None
        with suppress(OSError):
            self._call("GET", "/.well-known/openid-configuration")
            return True
        return False

    def stop(self) -> None:
        """Stop it; nobody answers at the address any more."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait(timeout=10)
            self.process = None

    def set_user(self, subject: str, **claims: Any) -> None:
        """Set what the provider says of a user."""
        body = json.dumps(claims).encode()
        self._call("PUT", f"/users/{subject}", body, "application/json")

    def authorize(self, subject: str, address: str) -> str:
        """Sign a user in at the authorization address; return where that leads."""
        form = urllib.parse.urlencode({"sub": subject}).encode()
        path = address.removeprefix(self.issuer)
        answer = self._call("POST", path, form)
        return answer.location

    def id_token(
        self, subject: str, *, client_id: str = CLIENT_ID, scope: str = SCOPE
    ) -> str:
        """Return an ID token of a user, with the claims of the scope."""
        return str(self._tokens(subject, client_id, scope)["id_token"])

    def token_of(self, subject: str = "ann", /, **claims: Any) -> str:
        """Return an ID token of a person, of whom the provider says what is given."""
        said = {"email": f"{subject}@mesh.dev", "email_verified": True}
        self.set_user(subject, **said | {"name": subject.title()} | claims)
        return self.id_token(subject)

    def access_token(self, subject: str, *, scope: str = SCOPE) -> str:
        """Return an access token of a user, good for userinfo within its scope."""
        return str(self._tokens(subject, CLIENT_ID, scope)["access_token"])

    def _tokens(self, subject: str, client_id: str, scope: str) -> dict[str, Any]:
        """Return what the authorization code flow brings."""
        ours = {"client_id": client_id, "redirect_uri": REDIRECT}
        query = {"response_type": "code", "scope": scope, **ours}
        path = f"/oauth2/authorize?{urllib.parse.urlencode(query)}"
        target = urllib.parse.urlsplit(self.authorize(subject, path))
        code = urllib.parse.parse_qs(target.query)["code"][0]
        grant = {"grant_type": "authorization_code", "client_secret": "any"}
        form = urllib.parse.urlencode({**ours, **grant, "code": code})
        answer = self._call("POST", "/oauth2/token", form.encode())
        tokens: dict[str, Any] = json.loads(answer.body)
        return tokens

    def _call(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        kind: str = "application/x-www-form-urlencoded",
    ) -> _Answer:
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=10)) as connection:
            connection.request(method, path, body, {"Content-Type": kind})
            answer = connection.getresponse()
            text = answer.read()
        assert answer.status < 400, text
        return _Answer(answer.headers.get("Location", ""), text)


@contextmanager
def running_provider(
    *, token_seconds: int = 3600, key_ids: bool = True
) -> Iterator[RunningProvider]:
    """Yield a running provider; skips where it is not installed, except in CI."""
    if not PYTHON.exists():
        if os.environ.get("CI"):
            raise AssertionError(f"{PYTHON} is missing: run make test")
        pytest.skip("the OpenID Connect provider is not installed: run make test")
    provider = RunningProvider(free_port(), token_seconds, key_ids)
    provider.start()
    try:
        yield provider
    finally:
        provider.stop()


def configure(settings: Any, issuer: str, **facts: Any) -> None:
    """Let the provider at `issuer` be the one of this deployment."""
    settings.SVC = replace(
        settings.SVC, oidc_issuer=issuer, oidc_client_id=CLIENT_ID, **facts
    )
    configured._provider.cache_clear()
