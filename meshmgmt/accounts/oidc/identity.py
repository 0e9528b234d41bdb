"""Who a token speaks of: its signature and claims checked, its claims read."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import jwt

from meshmgmt.accounts.oidc.provider import Provider
from meshmgmt.accounts.rules import MAX_NAME, email_errors
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
INVALID: Final = "token invalid"
EXPIRED: Final = "token expired"

Claims = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Identity:
    """What a provider says of somebody; empty where it says nothing usable.

    `subject` is theirs for ever; `email` is left out when the provider says that it has
    not verified it. `role` is "" unless the claim names a role.
    """

    subject: str
    signed_in_at: dt.datetime
    email: str = ""
    email_verified: bool = False
    name: str = ""
    role: str = ""


def checked_claims(token: str, provider: Provider, *, audience: str) -> Claims:
    """Return the claims of a token. Raises Unauthenticated, Unavailable."""
    try:
        kid = jwt.get_unverified_header(token).get("kid", "")
        kid = kid if isinstance(kid, str) else ""
        key = provider.key(kid)
        try:
            return _decoded(token, key, provider, audience)
        except jwt.InvalidSignatureError:
            if kid or not provider.doubt(key):
                raise
            return _decoded(token, provider.key(kid), provider, audience)
    except jwt.ExpiredSignatureError as error:
        raise Unauthenticated(EXPIRED) from error
    except (jwt.PyJWTError, ValueError, TypeError) as error:
        raise Unauthenticated(INVALID) from error


def _decoded(token: str, key: jwt.PyJWK, provider: Provider, audience: str) -> Claims:
    claims: Claims = jwt.decode(
        token,
        key,
        algorithms=ALGORITHMS,
        audience=audience,
        issuer=provider.issuer,
        leeway=LEEWAY_SECONDS,
        options={"require": ["exp", "iat", "sub", "iss", "aud"]},
    )
    return claims


def identity_of(claims: Claims, *, role_claim: str = "") -> Identity:
    """Return the identity in checked claims. Raises Unauthenticated without subject."""
    subject = claims["sub"]
    if not isinstance(subject, str) or not 1 <= len(subject) <= MAX_SUBJECT:
        raise Unauthenticated(INVALID)
    moment = claims.get("auth_time", claims["iat"])
    try:
        signed_in_at = dt.datetime.fromtimestamp(float(moment), dt.UTC)
    except (ValueError, TypeError, OverflowError, OSError) as error:
        raise Unauthenticated(INVALID) from error
    verified = claims.get("email_verified", False) is True
    return Identity(
        subject=subject,
        signed_in_at=signed_in_at,
        email=_email(claims),
        email_verified=verified,
        name=_name(claims),
        role=_role(claims, role_claim),
    )


def _email(claims: Claims) -> str:
    email = claims.get("email", "")
    if claims.get("email_verified") is False:
        return ""
    unusable = not isinstance(email, str) or "\0" in email or email_errors(email)
    return "" if unusable else str(email)


def _name(claims: Claims) -> str:
    for claim in ("name", "preferred_username"):
        name = claims.get(claim)
        if isinstance(name, str) and name.strip():
            return name.replace("\0", "")[:MAX_NAME]
    return _email(claims)


def _role(claims: Claims, role_claim: str) -> str:
    """Return the first role among the claim's values; the owner role is never given."""
    values = claims.get(role_claim) if role_claim else None
    named = [values] if isinstance(values, str) else values
    if not isinstance(named, list):
        return ""
    given = [role for role in Role if role in named and role != Role.OWNER]
    return given[0].value if given else ""


def claimed_groups(claims: Claims, claim: str) -> Sequence[str]:
    """Return the names of groups in a claim; what cannot be a name is left out."""
    values = claims.get(claim)
    named = [values] if isinstance(values, str) else values
    if not claim or not isinstance(named, list):
        return ()
    names = [
        name
        for name in named
        if isinstance(name, str)
        and name.strip()
        and len(name) <= MAX_NAME
        and "\0" not in name
    ]
    return tuple(dict.fromkeys(names))[:MAX_GROUPS]
