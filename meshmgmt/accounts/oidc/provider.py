"""The provider: what it publishes about itself, and the keys it signs with.

Both are kept in memory and read again when they are old.
"""

import hashlib
import http.client
import json
import logging
import socket
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import jwt
from django.core.cache import cache

from meshmgmt.accounts.tokens import INVALID
from meshmgmt.core.addresses import is_safe_url
from meshmgmt.core.clock import seconds_left
from meshmgmt.core.deadlines import Watch, cut_after
from meshmgmt.core.errors import Unauthenticated, Unavailable
from meshmgmt.core.printable import printable
from observability import idp

log = logging.getLogger(__name__)

WELL_KNOWN: Final = "/.well-known/openid-configuration"
TIMEOUT_SECONDS: Final = 5.0
MAX_BYTES: Final = 1024 * 1024
MAX_REASON: Final = 500
FRESH_SECONDS: Final = 600.0
USERINFO_SECONDS: Final = 60.0
PAUSE_SECONDS: Final = 5.0
"""How soon a made-up key id, a failure or a question left open makes it be asked again."""

UNREACHABLE: Final = "the identity provider is not available now; try again"
# Known again by its value: a cache gives out copies.
_NO_ANSWER: Final = {"": "no answer"}


class ProviderRefused(Unavailable):
    """The provider does not take a token, a code or this client's secret.

    `reason` is what it says of that (RFC 6749, Section 5.2; RFC 6750, Section 3.1).
    """

    def __init__(self, reason: str) -> None:
        super().__init__(UNREACHABLE)
        self.reason = reason


def fetch_json(
    url: str, form: Mapping[str, str] | None = None, *, bearer: str = ""
) -> Any:
    """Return the JSON behind a URL, by POST when there is a form.

    Raises Unavailable when the provider gives no answer or none that can be read.
    """
    data = None if form is None else urllib.parse.urlencode(form).encode("ascii")
    headers = {"Accept": "application/json"}
    if bearer:
        headers["Authorization"] = f"Bearer {bearer}"
    request = urllib.request.Request(  # noqa: S310 - the scheme is checked
        checked_url(url), data=data, headers=headers
    )
    idp.authenticate_requested()
    try:
        with cut_after(TIMEOUT_SECONDS) as watch:
            return _answer(request, watch)
    # Too deep to be read is what cannot be read.
    except (OSError, ValueError, RecursionError, http.client.HTTPException) as error:
        idp.request_failed()
        raise Unavailable(UNREACHABLE) from error


def _answer(request: urllib.request.Request, watch: Watch) -> Any:
    opener = urllib.request.build_opener(_Watching(watch), _Redirects)
    try:
        with opener.open(request, timeout=TIMEOUT_SECONDS) as response:
            # An answer without end must not fill the memory.
            return json.loads(response.read(MAX_BYTES))
    except urllib.error.HTTPError as error:
        idp.request_refused()
        with error:
            # These are about what was sent; others say that the provider is unwell.
            if error.code in {400, 401, 403}:
                raise ProviderRefused(_reason(error)) from error
        raise Unavailable(UNREACHABLE) from error


def _watched(kind: type[http.client.HTTPConnection], watch: Watch) -> Any:
    """Return connections of a kind that show their socket as soon as it is there.

    Before anything is said on it: to a proxy, and of TLS.
    """

    class Watched(kind):  # type: ignore[valid-type, misc]
        def connect(self) -> None:
            self._create_connection = partial(_connection, watch)
            super().connect()

    return Watched


def _connection(
    watch: Watch, address: tuple[str, int], timeout: float, source: None = None
) -> socket.socket:
    """Return a connection to the first address of a name that answers, in time for all."""
    deadline = time.monotonic() + timeout
    found = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)
    failure = OSError("no address")
    for tried, (family, kind, number, _, target) in enumerate(found):
        made = socket.socket(family, kind, number)
        try:
            # A part of what is left for each: the last may be the one that is there.
            made.settimeout(seconds_left(deadline) / (len(found) - tried))
            made.connect(target)
            made.settimeout(seconds_left(deadline))
            watch(made)
        except OSError as error:
            made.close()
            failure = error
        else:
            return made
    raise failure


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Leads nobody's secrets elsewhere, nor to where somebody between can answer."""

    def redirect_request(
        self, req: urllib.request.Request, *args: Any
    ) -> urllib.request.Request | None:
        secret = req.data is not None or req.has_header("Authorization")
        if secret or not is_safe_url(args[-1]):
            return None  # it counts as a refusal
        args[0].close()  # or urllib reads its body, however long
        return super().redirect_request(req, *args)


class _Watching(urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
    def __init__(self, watch: Watch) -> None:
        super().__init__()
        self._watch = watch

    def http_open(self, req: urllib.request.Request) -> Any:
        return self.do_open(_watched(http.client.HTTPConnection, self._watch), req)

    def https_open(self, req: urllib.request.Request) -> Any:
        return self.do_open(_watched(http.client.HTTPSConnection, self._watch), req)


def _reason(error: urllib.error.HTTPError) -> str:
    """Return what a refusal says: its JSON (RFC 6749, Section 5.2), or its status."""
    try:
        told = json.loads(error.read(MAX_BYTES))
    except (OSError, ValueError, http.client.HTTPException):
        told = None
    return reason_in(told if isinstance(told, dict) else {}) or f"status {error.code}"


def reason_in(told: Mapping[str, Any]) -> str:
    """Return what a provider's `error` and `error_description` say, "" for nothing."""
    said = (told.get(name) for name in ("error", "error_description"))
    return printable(": ".join(str(text) for text in said if text))[:MAX_REASON]


def checked_url(url: str) -> str:
    """Return `url` when it is safe to ask. Raises Unavailable otherwise."""
    if not is_safe_url(url):
        raise Unavailable("the identity provider must be asked by https")
    return url


@dataclass(slots=True)
class _Pause:
    """Fails at once for a while after a failure.

    Those who wait for a lock would each wait for the provider too, one after another.
    """

    _until: float = float("-inf")
    _message: str = ""

    @contextmanager
    def after_failure(self) -> Iterator[None]:
        if time.monotonic() < self._until:
            raise Unavailable(self._message)
        try:
            yield
        except Unavailable as error:
            self._until = time.monotonic() + PAUSE_SECONDS
            self._message = error.message
            log.warning("%s: %s", error.message, error.__cause__ or "")
            raise


class Keys(jwt.PyJWKClient):
    """The keys behind `jwks_uri`; an unknown id makes them be read again, with pauses."""

    def __init__(self, uri: str) -> None:
        super().__init__(
            checked_url(uri), lifespan=FRESH_SECONDS, cooldown_duration=PAUSE_SECONDS
        )
        self._pause = _Pause()

    def fetch_data(self) -> jwt.PyJWKSet:
        """Read the keys, by our own means: theirs wait without end. Raises Unavailable."""
        with self._pause.after_failure():
            try:
                found = jwt.PyJWKSet.from_dict(fetch_json(self.uri))
            except (jwt.PyJWTError, TypeError, AttributeError) as error:
                raise Unavailable(UNREACHABLE) from error
            self._last_successful_fetch = time.monotonic()
            return found

    def of(self, token: str) -> jwt.PyJWK:
        """Return the key that signed a token. Raises Unauthenticated, Unavailable.

        A token that names no key is of the only one (OpenID Connect Core 1.0, 10.1).
        """
        kid = jwt.get_unverified_header(token).get("kid")
        if kid is None:
            known = self.get_jwk_set().keys
            if len(known) == 1:
                return known[0]
            raise Unauthenticated(INVALID)
        return self.get_signing_key(kid)


@dataclass(slots=True)
class Provider:
    """One issuer. Thread-safe; answers from memory as long as what it knows is fresh."""

    issuer: str
    known: Mapping[str, Any] = field(default_factory=dict)
    """The discovery document as it was read last; empty before."""
    _read_at: float = float("-inf")
    _keys: Keys | None = None
    _pause: _Pause = field(default_factory=_Pause)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _userinfo_lock: threading.Lock = field(default_factory=threading.Lock)

    def metadata(self) -> Mapping[str, Any]:
        """Return the discovery document. Raises Unavailable."""
        with self._lock:
            if time.monotonic() - self._read_at > FRESH_SECONDS:
                # Under the lock: a flood of tokens asks once.
                with self._pause.after_failure():
                    self.known = self._read_metadata()
                self._read_at = time.monotonic()
            return self.known

    def _read_metadata(self) -> Mapping[str, Any]:
        # No slash twice: OpenID Connect Discovery 1.0, Section 4.
        found = fetch_json(self.issuer.rstrip("/") + WELL_KNOWN)
        if not isinstance(found, dict) or found.get("issuer") != self.issuer:
            raise Unavailable(
                "the identity provider calls itself another issuer than configured"
            )
        return found

    def keys(self) -> Keys:
        """Return the keys. Raises Unavailable."""
        uri = str(self.metadata().get("jwks_uri", ""))
        with self._lock:
            # The keys know when they are old; only another address makes new ones.
            if self._keys is None or self._keys.uri != uri:
                self._keys = Keys(uri)
            return self._keys

    def userinfo(self, subject: str, token: str) -> Mapping[str, Any]:
        """Return what the provider says of the subject of an access token.

        Empty when it publishes no such endpoint or the token is not good for it. Asked
        once in USERINFO_SECONDS for each subject. Raises Unavailable.
        """
        digest = hashlib.sha256(f"{self.issuer}|{subject}".encode()).hexdigest()
        with self._userinfo_lock:
            found: Mapping[str, Any] | None = cache.get(digest)
            if found is None:
                # Until there is an answer nobody else waits for one.
                cache.set(digest, _NO_ANSWER, PAUSE_SECONDS)
                found = self._ask_userinfo(token)
                cache.set(digest, found, USERINFO_SECONDS)
        if found == _NO_ANSWER:
            raise Unavailable(UNREACHABLE)
        return found

    def _ask_userinfo(self, token: str) -> Mapping[str, Any]:
        url = self.metadata().get("userinfo_endpoint")
        if not url:
            return {}
        try:
            found = fetch_json(str(url), bearer=token)
        except ProviderRefused:
            return {}
        return found if isinstance(found, dict) else {}
