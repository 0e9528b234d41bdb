"""What the API does to users: it changes and rejects them, with their groups.

Every function runs in one account write; `by` is the acting user.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from events.activities import Activity
from meshmgmt.accounts import contributions
from meshmgmt.accounts.audit import record_about
from meshmgmt.accounts.authority import check_may_touch
from meshmgmt.accounts.models import User
from meshmgmt.accounts.rules import role_errors, weaknesses
from meshmgmt.accounts.services import users
from meshmgmt.accounts.services.passwords import password_check
from meshmgmt.core.errors import (
    Conflict,
    FieldError,
    Forbidden,
    PreconditionFailed,
    raise_field_errors,
)
from meshmgmt.core.roles import Role
from meshmgmt.core.textrules import name_errors
from meshmgmt.core.transactions import account_write


def newcomer_errors(
    name: str, role: str, auto_groups: Sequence[str] = ()
) -> list[FieldError]:
    """Return what the API refuses in a new person, before anything of it is made.

    Nobody starts as owner: the role is given to users that exist.
    """
    errors = [*name_errors("name", name)]
    if role == Role.OWNER:
        errors.append(FieldError("role", "a new user cannot have the owner role"))
    return [*errors, *contributions.auto_group_errors.only(auto_groups)]


def user_update(*, user_id: str, changes: Mapping[str, Any], by: User) -> User:
    """Change name, role, auto_groups, is_blocked: what is given of them.

    An owner who gives the owner role away becomes admin. Raises NotFound, Forbidden,
    InvalidArgument (also for a person whose name would be emptied), Conflict when there
    would be no owner left.
    """
    with account_write():
        user = users.user_get(user_id)
        check_may_touch(by, user)
        _check_changes(user, changes)
        if "name" in changes and changes["name"] != user.name:
            name = changes["name"]
            users.user_rename(user_id=user_id, name=name, email=user.email, by=by)
        _change_role(user, changes.get("role", user.role), by)
        blocked = changes.get("is_blocked", user.is_blocked)
        users.user_set_blocked(user_id=user_id, blocked=blocked, by=by)
        if "auto_groups" in changes:
            contributions.set_auto_groups.only(user, changes["auto_groups"])
        return users.user_get(user_id)


def _check_changes(user: User, changes: Mapping[str, Any]) -> None:
    errors = contributions.auto_group_errors.only(changes.get("auto_groups", ()))
    # Who has no name may be sent back as they are.
    if not user.is_service_user and changes.get("name", user.name) != user.name:
        errors += name_errors("name", changes["name"])
    if changes.get("role", user.role) != user.role:
        role = changes["role"]
        errors += role_errors(role, is_service_user=user.is_service_user)
    raise_field_errors(errors)


def _change_role(user: User, role: str, by: User) -> None:
    hands_over = role == Role.OWNER and user.role != Role.OWNER and by.pk != user.pk
    if hands_over and by.role == Role.OWNER:
        users.owner_role_transfer(from_id=by.pk, to_id=user.pk)
    else:
        users.user_set_role(user_id=user.pk, role=role, by=by)


def user_reject(*, user_id: str, by: User | None) -> None:
    """Delete a user who waits for approval. Raises NotFound, InvalidArgument."""
    with account_write():
        user = users.user_get(user_id)
        users.check_pending(user)
        # Before the deletion, so that the trail tells both in the order people expect.
        record_about(user, Activity.USER_REJECT)
        users.user_delete(user_id=user_id, by=by)


def check_own_password(by: User, user_id: str) -> None:
    """Raise Forbidden unless the password is that of who asks."""
    if by.pk != user_id:
        raise Forbidden("permission denied: people change their passwords themselves")


def own_password_change(*, old: str, new: str, by: User) -> None:
    """Let a user replace their own password.

    Raises PreconditionFailed for a user without password, InvalidArgument when the old one
    is wrong or the new one weak, TooManyRequests, Unavailable, Conflict when it changes
    meanwhile.
    """
    user = users.user_get(by.pk)
    if not user.has_usable_password():
        raise PreconditionFailed("this user does not sign in by password")
    # Hashing takes long: the lock is taken after it.
    if not password_check(user, old, name=user.email):
        raise_field_errors([FieldError("old_password", "the old password is wrong")])
    raise_field_errors(new_password_errors("new_password", new, user, old=old))
    known = user.password
    user.set_password(new)
    with account_write():
        # The password that was shown to be known is no longer theirs.
        if users.user_get(user.pk).password != known:
            raise Conflict("the password was changed by another request")
        user.save(update_fields=["password", "password_is_temporary"])


def new_password_errors(
    field: str, password: str, user: User, *, old: str = ""
) -> list[FieldError]:
    """Return what is wrong with a password that a person chose in place of `old`."""
    if password == old:
        return [FieldError(field, "the new password is the old one")]
    found = [FieldError(field, text) for text in weaknesses(password)]
    return found or [
        FieldError(field, error.message)
        for error in users.password_errors(password, user)
    ]
