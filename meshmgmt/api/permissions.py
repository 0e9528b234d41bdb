"""Who may call an endpoint: the role table applied to the view's module."""

from typing import Any, Final, Protocol, cast

from django.core.exceptions import PermissionDenied
from django.views import View
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from meshmgmt.core.errors import Forbidden
from meshmgmt.core.roles import Operation, allowed, writes

OPERATIONS: Final = {
    "GET": Operation.READ,
    "HEAD": Operation.READ,
    "OPTIONS": Operation.READ,
    "POST": Operation.CREATE,
    "PUT": Operation.UPDATE,
    "PATCH": Operation.UPDATE,
    "DELETE": Operation.DELETE,
}


READING: Final = ("GET", "HEAD", "OPTIONS")
"""For `open_methods`: what one may see is decided row by row."""


class RoleUser(Protocol):
    """What permission checks need of a user."""

    role: str
    is_blocked: bool
    pending_approval: bool


def check_active(user: RoleUser) -> None:
    """Raise Forbidden for a user who is blocked or waits for approval."""
    if user.pending_approval:
        raise Forbidden("this user is pending approval")
    if user.is_blocked:
        raise Forbidden("this user is blocked")


def check_allowed(user: RoleUser, module: str, operation: Operation) -> None:
    """Raise Forbidden unless the user's role may do `operation` in `module`."""
    check_active(user)
    if not allowed(user.role, module, operation):
        raise Forbidden(
            f"permission denied: role {user.role} may not {operation} {module}"
        )


def may(request: Any, module: str, operation: Operation = Operation.READ) -> bool:
    """Tell whether who asks has a role that may do it; strangers have none."""
    return allowed(getattr(request.user, "role", ""), module, operation)


def may_write(request: Any) -> bool:
    """Tell whether who asks has a role that may change anything at all."""
    return writes(getattr(request.user, "role", ""))


def check_page(
    request: Any, module: str, operation: Operation = Operation.READ
) -> None:
    """Raise PermissionDenied, which is a page, unless who asks `may` do it."""
    if not may(request, module, operation):
        raise PermissionDenied


class ModulePermission(BasePermission):
    """Requires the operation of the method in the view's `module`.

    `module = None` asks only for an active user, as do the methods named in
    `open_methods`. A token limited to a scope is good only for views that name the scope
    in `token_scopes`.
    """

    def has_permission(self, request: Request, view: View) -> bool:
        """Return False without credentials (401); raise Forbidden (403) otherwise."""
        user: RoleUser | None = cast("Any", request).user
        if user is None:
            return False
        check_active(user)
        if scope := getattr(request.auth, "scope", ""):
            if scope in getattr(view, "token_scopes", ()):
                return True
            raise Forbidden(f"permission denied: this token is only for {scope}")
        module = getattr(view, "module", None)
        if module is not None and request.method not in getattr(
            view, "open_methods", ()
        ):
            # A method that nobody knows is answered 405 to those who may read.
            usual = OPERATIONS.get(request.method or "GET", Operation.READ)
            check_allowed(user, module, getattr(view, "operation", None) or usual)
        return True


class Public(BasePermission):
    """Needs no credentials at all."""

    def has_permission(self, request: Request, view: View) -> bool:
        """Allow."""
        return True
