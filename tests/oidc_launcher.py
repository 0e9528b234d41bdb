"""Starts the OpenID Connect provider so that its tokens name the key they are signed with.

Run by the provider's own interpreter, never imported: `oidc_launcher.py kid|no-kid
[OPTIONS OF THE PROVIDER]`. By itself the provider leaves the key's id out of its tokens, as
one may that has a single key.
"""

import sys
from typing import Any

from oidc_provider_mock import _app
from oidc_provider_mock.__main__ import run

configured = _app.OpenIDCode.get_jwt_config


def with_key_id(self: Any, grant: Any, client: Any = None) -> dict[str, Any]:
    """Return how to sign, with the id under which the key is published."""
    key = _app.storage.jwk
    return {**configured(self, grant, client), "kid": key.thumbprint()}


if sys.argv.pop(1) == "kid":
    _app.OpenIDCode.get_jwt_config = with_key_id
run()
