"""`Authorization: Bearer <JSON Web Token>`."""

from functools import partial

from meshmgmt.accounts.models import User
from meshmgmt.accounts.oidc.configured import bearer_claims, is_configured, provider
from meshmgmt.accounts.oidc.provisioning import user_of
from meshmgmt.accounts.signin import record_sign_in
from meshmgmt.accounts.tokens import INVALID
from meshmgmt.core.errors import Unauthenticated


def user_of_bearer(token: str) -> User:
    """Return the user of a token.

    Raises Unauthenticated, as it does for any without provider, Forbidden, Unavailable.
    """
    if not is_configured():
        raise Unauthenticated(INVALID)
    userinfo = partial(provider().userinfo, token=token)
    found = user_of(bearer_claims(token), userinfo)
    # A blocked user's sign-in was none; the permission check refuses the request.
    if found.signed_in and found.user.is_active:
        record_sign_in(found.user)
    return found.user
