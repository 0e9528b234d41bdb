"""Starts the OpenID Connect provider so that its tokens name the key they are signed with
and its access tokens are JSON Web Tokens that say nothing of their user but the subject.

Run by the provider's own interpreter, never imported: `oidc_launcher.py kid|no-kid
[OPTIONS OF THE PROVIDER]`. By itself the provider leaves the key's id out of its tokens, as
one may that has a single key.
"""

import secrets
import sys
import time
from typing import Any

import flask
from joserfc import jwk, jwt
from oidc_provider_mock import _app
from oidc_provider_mock.__main__ import run

configured = _app.OpenIDCode.get_jwt_config


def with_key_id(self: Any, grant: Any, client: Any = None) -> dict[str, Any]:
    """Return how to sign, with the id under which the key is published."""
    key = _app.storage.jwk
    return {**configured(self, grant, client), "kid": key.thumbprint()}


def access_token(client: Any, grant_type: str, user: Any, scope: str) -> str:
    """Return an access token as RFC 9068 describes it."""
    key = _app.storage.jwk
    now = int(time.time())
    claims = {
        "iss": flask.request.host_url.rstrip("/"),
        "aud": client.get_client_id(),
        "sub": user.sub,
        "iat": now,
        "exp": now + 3600,
        "scope": scope,
        "jti": secrets.token_hex(8),
    }
    header = {"alg": "RS256", "typ": "at+jwt", "kid": key.thumbprint()}
    signer = jwk.import_key(key.as_dict(is_private=True), "RSA")
    return str(jwt.encode(header, claims, signer))


class Server(_app.flask_oauth2.AuthorizationServer):  # type: ignore[misc]
    """Issues such access tokens."""

    def create_bearer_token_generator(self, config: Any) -> Any:
        """Return what makes them."""
        generator = super().create_bearer_token_generator(config)
        generator.access_token_generator = access_token
        return generator


_app.flask_oauth2.AuthorizationServer = Server
if sys.argv.pop(1) == "kid":
    _app.OpenIDCode.get_jwt_config = with_key_id
run()
