"""`Authorization: Bearer <JSON Web Token>`."""

from functools import partial

from rest_framework.request import Request

from meshmgmt.accounts.authentication import Credentials
from meshmgmt.accounts.oidc.configured import bearer_claims, is_configured, provider
from meshmgmt.accounts.oidc.provisioning import user_of
from meshmgmt.accounts.signin import record_sign_in


def authenticate_bearer(request: Request, token: str) -> Credentials | None:
    """Return the user of a token, None without provider.

    Raises Unauthenticated, Forbidden, Unavailable.
    """
    if not is_configured():
        return None
    userinfo = partial(provider().userinfo, token=token)
    found = user_of(bearer_claims(token), userinfo)
    # A blocked user's sign-in was none; the permission check refuses the request.
    if found.signed_in and found.user.is_active:
        record_sign_in(found.user)
    return found.user, None
