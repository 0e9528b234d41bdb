"""Who may do what to which user, beyond what the role table says.

Every check takes the acting user, or None for commands: whoever reaches the command line
holds the database anyway. All raise Forbidden.
"""

from typing import Any

from meshmgmt.accounts.models import User
from meshmgmt.api.permissions import check_active
from meshmgmt.core.errors import Forbidden, InvalidArgument
from meshmgmt.core.roles import Role

_TOKEN_MANAGERS = frozenset({Role.OWNER, Role.ADMIN})


def viewer_of(request: Any) -> User:
    """Return who sends a request that permissions, or the admin site, have let in."""
    assert isinstance(request.user, User)
    return request.user


def check_may_enter(user: User) -> None:
    """Only who may act, and read something, enters the admin site."""
    check_active(user)
    if not user.is_staff:
        raise Forbidden(
            f"there is nothing here for the role {user.role}: you sign in on your machine"
        )


def check_may_touch(by: User | None, user: User) -> None:
    """Only owners may change, block or delete an owner."""
    if by is not None and user.role == Role.OWNER and by.role != Role.OWNER:
        raise Forbidden("permission denied: only owners may change an owner")


def check_may_grant(by: User | None, role: str) -> None:
    """Only owners may make owners."""
    if by is not None and role == Role.OWNER and by.role != Role.OWNER:
        raise Forbidden("permission denied: only owners may give the owner role")


def check_may_set_role(by: User | None, user: User, role: str) -> None:
    """Nobody changes their own role."""
    if by is not None and by.pk == user.pk:
        raise Forbidden("permission denied: nobody may change their own role")
    check_may_touch(by, user)
    check_may_grant(by, role)


def check_may_block(by: User | None, user: User, *, blocked: bool = True) -> None:
    """Nobody blocks or unblocks themselves, nor blocks an owner."""
    if by is None:
        return
    if by.pk == user.pk:
        raise Forbidden("permission denied: nobody may block or unblock themselves")
    check_may_touch(by, user)
    if blocked and user.role == Role.OWNER:
        raise Forbidden(
            "permission denied: an owner cannot be blocked; give them another role first"
        )


def check_may_delete(by: User | None, user: User) -> None:
    """Nobody deletes themselves (InvalidArgument), nor an owner."""
    if by is None:
        return
    if by.pk == user.pk:
        raise InvalidArgument("nobody may delete themselves")
    check_may_touch(by, user)
    if user.role == Role.OWNER:
        raise Forbidden(
            "permission denied: an owner cannot be deleted; give them another role first"
        )


def manages_foreign_tokens(by: User) -> bool:
    """Tell whether `by` may have to do with tokens of others at all."""
    return by.role in _TOKEN_MANAGERS


def manages_tokens_of(by: User, owner: User) -> bool:
    """Tell whether `check_may_manage_tokens` lets them."""
    return by.pk == owner.pk or (manages_foreign_tokens(by) and owner.is_service_user)


def check_may_manage_tokens(by: User | None, owner: User) -> None:
    """Everybody manages their own tokens; owners and admins those of service users."""
    if by is None or manages_tokens_of(by, owner):
        return
    if not manages_foreign_tokens(by):
        raise Forbidden("permission denied: these are the tokens of another user")
    raise Forbidden(
        "permission denied: people manage their tokens themselves;"
        " only those of service users can be managed for them"
    )


def check_may_revoke_tokens(by: User, owner: User) -> None:
    """Owners revoke anybody's: one that leaked must not wait for its user."""
    if by.role != Role.OWNER:
        check_may_manage_tokens(by, owner)
