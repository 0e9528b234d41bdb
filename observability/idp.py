"""Requests to whatever authenticates people: passwords now, a provider later."""

from typing import Final

from observability.metrics import instruments

_AUTHENTICATE: Final = instruments.counter(
    "management.idp.authenticate.request.counter"
)
_BY_EMAIL: Final = instruments.counter("management.idp.get.user.by.email.counter")
_ERRORS: Final = instruments.counter("management.idp.request.error.counter")
_STATUS: Final = instruments.counter("management.idp.request.status.error.counter")


def authenticate_requested() -> None:
    """Count a request to authenticate somebody (sign-in by password included)."""
    _AUTHENTICATE.inc()


def user_looked_up_by_email() -> None:
    """Count a look-up of a user by e-mail address."""
    _BY_EMAIL.inc()


def request_failed() -> None:
    """Count a request that got no answer: the store or the provider is away."""
    _ERRORS.inc()


def request_refused() -> None:
    """Count a refusal: a wrong password, or an answer other than 2xx."""
    _STATUS.inc()
