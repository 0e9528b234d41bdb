"""Signing in to the admin site through the provider: authorization code flow with PKCE."""

import base64
import hashlib
import hmac
import json
import logging
import secrets
import urllib.parse
from functools import partial
from typing import Any, Final

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache

from meshmgmt.accounts.authority import check_may_enter
from meshmgmt.accounts.oidc.configured import is_configured, provider
from meshmgmt.accounts.oidc.identity import Claims, checked_claims
from meshmgmt.accounts.oidc.provider import ProviderRefused, fetch_json, reason_in
from meshmgmt.accounts.oidc.provisioning import Userinfo, user_of
from meshmgmt.accounts.setup.owner import setup_is_open
from meshmgmt.api.pages import sentence, serves
from meshmgmt.core.errors import ServiceError, Unauthenticated

_log = logging.getLogger(__name__)

_COOKIE: Final = "oidc"
"""Holds a sign-in that is under way: a session would be a row for each stranger."""
_PATH: Final = "/oidc/"
_SECONDS: Final = 600
_LONGEST_TARGET: Final = 1000
SCOPE: Final = "openid email profile"
REFUSED: Final = (
    "The identity provider did not sign you in; the log of this service says why."
)


@never_cache
@serves("GET")
def begin(request: HttpRequest) -> HttpResponse:
    if not is_configured():
        raise Http404
    try:
        metadata = provider().metadata()
    except ServiceError as error:
        _log.warning("nobody can sign in by the identity provider: %s", error.message)
        return _back(request, error.message, request.GET.get("next", ""))
    flow = {name: secrets.token_urlsafe(32) for name in ("state", "nonce", "verifier")}
    wanted = request.GET.get("next", "")
    flow["next"] = wanted if len(wanted) <= _LONGEST_TARGET else ""
    digest = hashlib.sha256(flow["verifier"].encode("ascii")).digest()
    query = {
        "response_type": "code",
        "client_id": settings.SVC.oidc_client_id,
        "redirect_uri": _callback_url(request),
        "scope": SCOPE,
        "state": flow["state"],
        "nonce": flow["nonce"],
        "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode("ascii"),
        "code_challenge_method": "S256",
    }
    # It may have a query of its own, which stays (RFC 6749, Section 3.1).
    endpoint = str(metadata.get("authorization_endpoint", ""))
    glue = "&" if "?" in endpoint else "?"
    away = HttpResponseRedirect(f"{endpoint}{glue}{urllib.parse.urlencode(query)}")
    away.set_signed_cookie(
        _COOKIE,
        json.dumps(flow),
        max_age=_SECONDS,
        path=_PATH,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
    return away


@never_cache
@serves("GET")
def callback(request: HttpRequest) -> HttpResponse:
    """Take the browser back from the provider and sign the user in."""
    text = request.get_signed_cookie(_COOKIE, "", max_age=_SECONDS) or "{}"
    answer = _signed_in(request, json.loads(text))
    # A state is good once, or a browser could be led through it again.
    answer.delete_cookie(_COOKIE, path=_PATH, samesite="Lax")
    return answer


def _signed_in(request: HttpRequest, flow: dict[str, Any]) -> HttpResponse:
    state, code = request.GET.get("state", ""), request.GET.get("code", "")
    # Without a state of our own a stranger could sign others in as themselves
    # (RFC 6749, Section 10.12).
    known = flow.get("state", "")
    if not known or not hmac.compare_digest(known.encode(), state.encode()):
        return _back(request, "The sign-in took too long or was begun elsewhere.")
    wanted = str(flow.get("next", ""))
    try:
        if not code:
            raise _refusal(reason_in(request.GET) or "no code")
        claims, userinfo = _answer(request, code, flow)
        user = user_of(claims, userinfo).user
        check_may_enter(user)
    except ServiceError as error:
        return _back(request, error.message, wanted)
    login(request, user)
    return HttpResponseRedirect(_target(request, wanted))


def _answer(
    request: HttpRequest, code: str, flow: dict[str, Any]
) -> tuple[Claims, Userinfo]:
    """Exchange the code for an ID token; return its claims and who can tell more.

    Raises ServiceError.
    """
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": _callback_url(request),
        "client_id": settings.SVC.oidc_client_id,
        "client_secret": settings.SVC.oidc_client_secret,
        "code_verifier": flow["verifier"],
    }
    try:
        answer = fetch_json(str(provider().metadata().get("token_endpoint", "")), form)
    except ProviderRefused as error:
        raise _refusal(error.reason) from error
    token = answer.get("id_token") if isinstance(answer, dict) else None
    if not isinstance(token, str):
        raise _refusal("its answer has no ID token")
    try:
        claims = checked_claims(token, provider(), audience=settings.SVC.oidc_client_id)
    except Unauthenticated as error:
        raise _refusal(f"{error.message} ({error.__cause__})") from error
    # A token that was made for another sign-in is no answer to this one.
    nonce = str(claims.get("nonce", "")).encode(errors="replace")
    if not hmac.compare_digest(nonce, flow["nonce"].encode()):
        raise _refusal("its ID token is of another sign-in")
    access_token = str(answer.get("access_token", ""))
    return claims, partial(provider().userinfo, token=access_token)


def _refusal(reason: str) -> Unauthenticated:
    """Write to the log why nobody was signed in; return what the person is told."""
    _log.warning("the identity provider did not sign somebody in: %s", reason)
    return Unauthenticated(REFUSED)


def _callback_url(request: HttpRequest) -> str:
    return request.build_absolute_uri(reverse("oidc-callback"))


def _target(request: HttpRequest, wanted: str) -> str:
    """Return where to go after the sign-in: a page of ours."""
    safe = url_has_allowed_host_and_scheme(
        wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return wanted if safe else reverse("admin:index")


def _back(request: HttpRequest, message: str, wanted: str = "") -> HttpResponse:
    """Return to the sign-in page, which shows the message and goes on to what is wanted."""
    messages.error(request, sentence(message))
    query = f"?{urllib.parse.urlencode({'next': wanted})}" if wanted else ""
    return HttpResponseRedirect(f"{reverse('admin:login')}{query}")


def sign_in_ways(request: HttpRequest) -> dict[str, Any]:
    """Tell the sign-in page how people may sign in (context processor)."""
    return {
        "oidc_enabled": is_configured(),
        "oidc_next": request.GET.get("next", ""),
        "setup_is_open": setup_is_open,  # asked only by the pages that show it
    }
