"""Signing in with e-mail and password, for the admin site."""

import logging
from typing import Any, Final

from django.contrib.auth.backends import BaseBackend
from django.db import DatabaseError
from django.http import HttpRequest

from meshmgmt.accounts.authority import check_may_enter
from meshmgmt.accounts.models import Account, User
from meshmgmt.accounts.oidc.configured import is_configured
from meshmgmt.accounts.services.passwords import password_check
from meshmgmt.core.errors import Forbidden
from meshmgmt.core.queries import Prepared, columns_of, loaded
from observability import idp

log = logging.getLogger(__name__)

_BY_ID: Final = Prepared(
    lambda pk: User.objects.filter(pk=pk).values_list(*columns_of(User))
)


class RoleBackend(BaseBackend):
    """Knows users by e-mail; what they may do follows from their role."""

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **kwargs: Any,
    ) -> User | None:
        """Return the user, None when e-mail or password is wrong.

        Raises Forbidden when both are right and the user may not enter all the same,
        TooManyRequests, Unavailable.
        """
        if not username or password is None:
            return None
        idp.authenticate_requested()
        try:
            user = _checked(username, password)
        except DatabaseError:
            idp.request_failed()
            raise
        except Forbidden as error:
            log.warning("sign-in refused: %s", error.message)
            idp.request_refused()
            raise
        if user is None:
            idp.request_refused()
        return user

    def get_user(self, user_id: str) -> User | None:
        """Return the user of a session.

        A blocked one too: the API answers them 403 and the admin site lets nobody in
        who is not active.
        """
        found = (loaded(User, row) for row in _BY_ID.rows(user_id))
        return next(found, None)


def _checked(email: str, password: str) -> User | None:
    idp.user_looked_up_by_email()
    # The password comes before all else, whoever it is: neither the time nor the answer
    # tells which users there are.
    user = User.objects.people().with_email(email).first()
    if not password_check(user, password, name=email) or user is None:
        return None
    # Without a provider nobody could come in any more, so it does not count.
    if is_configured() and Account.objects.filter(local_auth_disabled=True).exists():
        raise Forbidden("no passwords are taken here: use the identity provider")
    check_may_enter(user)
    return user
