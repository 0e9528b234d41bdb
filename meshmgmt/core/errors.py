"""Errors of the domain; each knows its HTTP status."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Self

from meshmgmt.env import NOT_SET_UP

_UNDEFINED: Final = ("42P01", "42703")
"""What PostgreSQL calls a table or a column that is not there."""

MOST_FAULTS: Final = 100
"""Of a list, or of all rules, so many are told: a body may have a million."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """What is wrong with the field at `field` (a path such as `nameservers[1].port`)."""

    field: str
    message: str
    conflict: bool = False


class ServiceError(Exception):
    """A refusal with a sentence for the caller and, where known, the faulty fields."""

    status = 500

    def __init__(self, message: str, errors: Iterable[FieldError] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.errors = tuple(errors)
        self.headers: dict[str, str] = {}
        """What the answer says in headers of its own."""
        self.details: dict[str, Any] = {}
        """What the body of the answer has beside the sentence."""

    @classmethod
    def about(cls, field: str, message: str) -> Self:
        """Return the refusal for one faulty field."""
        return cls(message, [FieldError(field, message)])


class BadRequest(ServiceError):
    """The request itself cannot be understood."""

    status = 400


class Unauthenticated(ServiceError):
    status = 401


class Forbidden(ServiceError):
    """Valid credentials without the permission."""

    status = 403


class NotFound(ServiceError):
    status = 404

    @classmethod
    def of(cls, kind: str, identifier: str) -> "NotFound":
        """Return the error for an unknown `kind` of object, quoting its id."""
        return cls(f"{kind} {identifier[:64]!r} was not found")


class Conflict(ServiceError):
    """The write clashes with what exists already."""

    status = 409


class PreconditionFailed(ServiceError):
    """The state of the object forbids the operation."""

    status = 412


class PayloadTooLarge(ServiceError):
    """The body exceeds the limit of its endpoint."""

    status = 413


class UnsupportedMedia(ServiceError):
    """The body comes in an encoding that is not read here."""

    status = 415


class InvalidArgument(ServiceError):
    """Well-formed, but breaks a rule."""

    status = 422


class TooManyRequests(ServiceError):
    """The caller exceeds a rate limit and may try again in `retry_after` seconds."""

    status = 429

    def __init__(self, message: str, *, retry_after: int = 1) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.headers = {"Retry-After": str(retry_after)}

    @classmethod
    def of(cls, what: str, wait: float) -> "TooManyRequests":
        """Return the error for too many of something, for `wait` seconds more."""
        seconds = max(1, math.ceil(wait))
        text = f"too many {what}: wait {seconds} seconds"
        return cls(text, retry_after=seconds)


class Unavailable(ServiceError):
    """The service cannot answer now; trying again may help."""

    status = 503


def first_line(error: BaseException) -> str:
    """Return what an error says; drivers of databases add statements and hints."""
    return str(error).strip().partition("\n")[0]


def raise_field_errors(errors: Iterable[FieldError]) -> None:
    """Raise what the rules found: nothing, Conflict (409) or InvalidArgument (422).

    A broken rule comes before a clash: Conflict is raised only when nothing else is
    wrong, for then another name or content would do.
    """
    rules: list[FieldError] = []
    clashes: list[FieldError] = []
    for error in errors:
        (clashes if error.conflict else rules).append(error)
        if len(rules) == MOST_FAULTS:
            break
    if rules:
        raise InvalidArgument(rules[0].message, rules)
    if clashes:
        raise Conflict(clashes[0].message, clashes[:MOST_FAULTS])


def missing_tables(error: Exception) -> str:
    """Return what to do about tables or columns that are not there, "" for others."""
    code = getattr(error.__cause__, "sqlstate", "")
    if code in _UNDEFINED or str(error).startswith(("no such table", "no such column")):
        return NOT_SET_UP
    return ""
