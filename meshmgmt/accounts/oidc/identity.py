"""Who a token speaks of: its signature and claims checked, its claims read."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeGuard

import jwt

from meshmgmt.accounts.oidc.provider import Provider
from meshmgmt.accounts.rules import MAX_NAME, email_errors
from meshmgmt.accounts.tokens import EXPIRED, INVALID
from meshmgmt.core.errors import Unauthenticated
from meshmgmt.core.roles import Role

ALGORITHMS: Final = (
    *("RS256", "RS384", "RS512"),
    *("PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512"),
    "EdDSA",
)
"""Public-key signatures alone: with others, who checks a token could make one too."""

LEEWAY_SECONDS: Final = 60
MAX_SUBJECT: Final = 255  # OpenID Connect Core 1.0, Section 2
MAX_GROUPS: Final = 1000

Claims = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Identity:
    """What a provider says of somebody; empty where it says nothing usable.

    `subject` is theirs for ever; `email_verified` is None where the provider says nothing
    of it, and with False, `email` is nobody's to keep. `role` is "" unless the claim names
    a role. `signed_in_at` is when the token was issued unless it `tells_sign_in`: tokens
    are renewed without a sign-in.
    """

    subject: str
    signed_in_at: dt.datetime
    tells_sign_in: bool = False
    email: str = ""
    email_verified: bool | None = None
    name: str = ""
    role: str = ""


def checked_claims(
    token: str, provider: Provider, *, audience: str | Sequence[str]
) -> Claims:
    """Return the claims of a token meant for (one of) `audience`.

    Raises Unauthenticated, Unavailable.
    """
    try:
        claims: Claims = jwt.decode(
            token,
            provider.keys().of(token),
            algorithms=ALGORITHMS,
            audience=audience,
            issuer=provider.issuer,
            leeway=LEEWAY_SECONDS,
            # What is not required is not looked at: a token without `exp` would never end.
            options={"require": ["exp", "iat", "sub", "iss", "aud"]},
        )
    except jwt.ExpiredSignatureError as error:
        raise Unauthenticated(EXPIRED) from error
    except (jwt.PyJWTError, ValueError, TypeError) as error:
        raise Unauthenticated(INVALID) from error
    return claims


def identity_of(claims: Claims, *, role_claim: str = "") -> Identity:
    """Return the identity in checked claims. Raises Unauthenticated without subject."""
    subject = claims["sub"]
    if not _is_text(subject) or not 1 <= len(subject) <= MAX_SUBJECT:
        raise Unauthenticated(INVALID)
    try:
        login_time = _login_time(claims)
        signed_in_at = login_time or _at(claims["iat"])
    except (ValueError, TypeError, OverflowError, OSError) as error:
        raise Unauthenticated(INVALID) from error
    verified = claims.get("email_verified")
    return Identity(
        subject=subject,
        signed_in_at=signed_in_at,
        tells_sign_in=login_time is not None,
        email=_email(claims),
        email_verified=verified if isinstance(verified, bool) else None,
        name=_name(claims),
        role=_role(claims, role_claim),
    )


def completed(claims: Claims, userinfo: Claims) -> Claims:
    """Return claims with name and verified e-mail address from userinfo.

    What is said of another subject counts for nothing (OpenID Connect Core 1.0, 5.3.2).
    """
    if userinfo.get("sub") != claims["sub"]:
        return claims
    wanted = ["name", "preferred_username"]
    if userinfo.get("email_verified") is True:
        wanted += ["email", "email_verified"]
    return {**claims, **{name: userinfo[name] for name in wanted if name in userinfo}}


def _login_time(claims: Claims) -> dt.datetime | None:
    """Return when the claims say that somebody signed in, None when they do not.

    Either `auth_time` (OpenID Connect Core 1.0, Section 2), or the claim that clients of
    the reference API add under a prefix of their own. Raises ValueError and the like.
    """
    if "auth_time" in claims:
        return _at(claims["auth_time"])
    for name, value in claims.items():
        if name.endswith("nb_last_login") and isinstance(value, str):
            return dt.datetime.fromisoformat(value).astimezone(dt.UTC)
    return None


def _at(seconds: Any) -> dt.datetime:
    return dt.datetime.fromtimestamp(float(seconds), dt.UTC)


def _is_text(value: Any) -> TypeGuard[str]:
    """Tell whether a value is a text that can be stored: JSON may hold half a pair."""
    return (
        isinstance(value, str)
        and "\0" not in value
        and not any("\ud800" <= character <= "\udfff" for character in value)
    )


def _email(claims: Claims) -> str:
    email = claims.get("email", "")
    unusable = not _is_text(email) or any(email_errors(email))
    # The sign-in does not fail for it: people come without an address, too.
    return "" if unusable else str(email)


def _name(claims: Claims) -> str:
    for claim in ("name", "preferred_username"):
        name = claims.get(claim)
        if _is_text(name) and name.strip():
            return name[:MAX_NAME]
    return ""


def _role(claims: Claims, role_claim: str) -> str:
    """Return the highest role among the claim's values; owner is never given."""
    named = _values(claims, role_claim)
    given = [role for role in Role if role in named and role != Role.OWNER]
    return given[0].value if given else ""


def claimed_groups(claims: Claims, claim: str) -> Sequence[str]:
    """Return the names of groups in a claim; what cannot be a name is left out."""
    names = [
        name
        for name in _values(claims, claim)
        if _is_text(name) and name.strip() and len(name) <= MAX_NAME
    ]
    return tuple(dict.fromkeys(names))[:MAX_GROUPS]


def _values(claims: Claims, claim: str) -> list[Any]:
    """Return what a claim lists, or its one text; nothing for other types, or no claim."""
    values = claims.get(claim) if claim else None
    if isinstance(values, str):
        return [values]
    return values if isinstance(values, list) else []
