"""The provider: what it publishes about itself, and the keys it signs with.

Both are kept in memory and read again when they are old. A token signed with a key that is
not known makes the keys be read at once, but not more often than every few seconds, so that
made-up key ids cannot be used to flood the provider.
"""

import json
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import jwt

from meshmgmt.core.errors import Unauthenticated, Unavailable
from observability import idp

WELL_KNOWN: Final = "/.well-known/openid-configuration"
TIMEOUT_SECONDS: Final = 5.0
MAX_BYTES: Final = 1024 * 1024
FRESH_SECONDS: Final = 600.0
PAUSE_SECONDS: Final = 5.0
UNREACHABLE: Final = "the identity provider is not available now; try again"


def fetch_json(url: str, form: Mapping[str, str] | None = None) -> Any:
    """Return the JSON behind a URL, by POST when there is a form.

    Raises Unavailable when the provider gives no answer or none that can be read.
    """
    data = None if form is None else urllib.parse.urlencode(form).encode("ascii")
    request = urllib.request.Request(  # noqa: S310 - the scheme is checked
        checked_url(url), data=data, headers={"Accept": "application/json"}
    )
    idp.authenticate_requested()
    try:
        with urllib.request.urlopen(  # noqa: S310 - the scheme is checked
            request, timeout=TIMEOUT_SECONDS
        ) as response:
            return json.loads(response.read(MAX_BYTES))
    except urllib.error.HTTPError as error:
        error.close()
        idp.request_refused()
        raise Unavailable(UNREACHABLE) from error
    except (OSError, ValueError) as error:
        idp.request_failed()
        raise Unavailable(UNREACHABLE) from error


def checked_url(url: str) -> str:
    """Return `url` when it is safe to ask. Raises Unavailable otherwise.

    Only HTTPS tells that the provider is the one configured; HTTP is for this host.
    """
    parts = urllib.parse.urlsplit(url)
    local = parts.hostname in {"localhost", "127.0.0.1", "::1"}
    if parts.scheme == "https" or (parts.scheme == "http" and local):
        return url
    raise Unavailable("the identity provider must be asked by https")


@dataclass(slots=True)
class _Kept:
    """Something read from the provider, and when."""

    value: Any = None
    at: float = float("-inf")


@dataclass(slots=True)
class Provider:
    """One issuer. Thread-safe; answers from memory as long as what it knows is fresh."""

    issuer: str
    now: Callable[[], float] = time.monotonic
    _metadata: _Kept = field(default_factory=_Kept)
    _keys: _Kept = field(default_factory=_Kept)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def metadata(self) -> Mapping[str, Any]:
        """Return the discovery document. Raises Unavailable."""
        with self._lock:
            return self._read_metadata()

    def _read_metadata(self) -> Mapping[str, Any]:
        if self.now() - self._metadata.at > FRESH_SECONDS:
            found = fetch_json(self.issuer.rstrip("/") + WELL_KNOWN)
            if not isinstance(found, dict) or found.get("issuer") != self.issuer:
                raise Unavailable(
                    "the identity provider calls itself another issuer than configured"
                )
            self._metadata = _Kept(found, self.now())
        found = self._metadata.value
        return dict(found)

    def key(self, kid: str) -> jwt.PyJWK:
        """Return the key with this id. Raises Unauthenticated, Unavailable.

        A token without id ("") is of the only key, if there is only one (OpenID Connect
        Core 1.0, Section 10.1).
        """
        with self._lock:
            age = self.now() - self._keys.at
            known = self._keys.value or {}
            if age > FRESH_SECONDS or (
                _chosen(known, kid) is None and age > PAUSE_SECONDS
            ):
                known = self._read_keys()
        found = _chosen(known, kid)
        if found is None:
            raise Unauthenticated("token invalid")
        return found

    def doubt(self, key: jwt.PyJWK) -> bool:
        """Read the keys again because a signature did not fit; tell if `key` went.

        Keys without ids are replaced unseen.
        """
        with self._lock:
            if self.now() - self._keys.at > PAUSE_SECONDS:
                self._read_keys()
            return key not in (self._keys.value or {}).values()

    def _read_keys(self) -> dict[str, jwt.PyJWK]:
        found = fetch_json(str(self._read_metadata().get("jwks_uri", "")))
        try:
            keys = jwt.PyJWKSet.from_dict(found).keys
        except (jwt.PyJWTError, TypeError, AttributeError) as error:
            raise Unavailable(UNREACHABLE) from error
        known = {key.key_id or "": key for key in keys}
        self._keys = _Kept(known, self.now())
        return known


def _chosen(known: Mapping[str, jwt.PyJWK], kid: str) -> jwt.PyJWK | None:
    if not kid and len(known) == 1:
        return next(iter(known.values()))
    return known.get(kid)
