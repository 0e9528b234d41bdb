"""Writes on users. Every function runs in one account write.

`by` is the acting user, whose authority is checked (Forbidden); None for commands.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.contrib.auth.hashers import make_password
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db.models import ProtectedError

from events.activities import Activity
from events.audit.audited import audited_bulk_delete
from meshmgmt.accounts import authority, contributions, rules
from meshmgmt.accounts.audit import record_about
from meshmgmt.accounts.models import AccessToken, User
from meshmgmt.accounts.services.passwords import password_check
from meshmgmt.accounts.signals import user_blocked, user_deleting
from meshmgmt.core.errors import (
    Conflict,
    FieldError,
    Forbidden,
    InvalidArgument,
    PreconditionFailed,
    raise_field_errors,
)
from meshmgmt.core.ids import new_id
from meshmgmt.core.queries import found
from meshmgmt.core.roles import Role
from meshmgmt.core.textrules import name_errors
from meshmgmt.core.transactions import account_write


class HashedPassword:
    """A password on its way into a user, made before the write: hashing takes long."""

    def __init__(self, plain: str) -> None:
        self.plain, self.hash = plain, make_password(plain)


def newcomer_errors(
    name: str, role: str, auto_groups: Sequence[str] = ()
) -> Iterator[FieldError]:
    """Yield what the API refuses in a new person, before anything of it is made.

    Nobody starts as owner: the role is given to users that exist.
    """
    yield from name_errors("name", name)
    if role == Role.OWNER:
        yield FieldError("role", "a new user cannot have the owner role")
    yield from contributions.auto_group_errors.only(auto_groups)


def user_create(
    *,
    role: str,
    name: str = "",
    email: str = "",
    is_service_user: bool = False,
    auto_groups: Sequence[str] = (),
    password: HashedPassword | None = None,
    temporary: bool = False,
    issued: str = User.Issued.API,
    pending: bool = False,
    user_id: str = "",
    by: User | None = None,
) -> User:
    """Create a person, or a user for a program, who has no e-mail and no password.

    A `temporary` password is good until the first sign-in; a `pending` user waits for
    approval; `user_id` is an id made before. Raises InvalidArgument, or Conflict for a
    known e-mail.
    """
    with account_write():
        raise_field_errors(contributions.auto_group_errors.only(auto_groups))
        authority.check_may_grant(by, role)
        user = User(
            pk=user_id or new_id(),
            email="" if is_service_user else email,
            name=name,
            role=role,
            is_service_user=is_service_user,
            issued=issued,
            pending_approval=pending,
        )
        errors = [
            *([] if is_service_user else _email_errors(user)),
            *rules.user_name_errors(name),
            *rules.role_errors(role, is_service_user=is_service_user),
        ]
        if password is None or is_service_user:
            user.set_unusable_password()
        else:
            errors += password_errors(password.plain, user)
            user.password, user.password_is_temporary = password.hash, temporary
        raise_field_errors(errors)
        user.save(force_insert=True)
        if auto_groups:
            contributions.set_auto_groups.only(user, auto_groups)
        return user


def _email_errors(user: User) -> Iterator[FieldError]:
    """Check the address of a person, which nobody else may have."""
    if errors := [*rules.email_errors(user.email)]:
        yield from errors
    elif User.objects.with_email(user.email).exclude(pk=user.pk).exists():
        yield FieldError("email", rules.EMAIL_TAKEN, conflict=True)


def user_update(*, user_id: str, changes: Mapping[str, Any], by: User) -> User:
    """Change name, role, auto_groups, is_blocked: what is given of them.

    An owner who gives the owner role away becomes admin. Raises NotFound, Forbidden,
    InvalidArgument (also for a person whose name would be emptied), Conflict when there
    would be no owner left.
    """
    with account_write():
        user = user_get(user_id)
        authority.check_may_touch(by, user)
        raise_field_errors(_change_errors(user, changes))
        if "name" in changes and changes["name"] != user.name:
            name = changes["name"]
            user_rename(user_id=user_id, name=name, email=user.email, by=by)
        _change_role(user, changes.get("role", user.role), by)
        blocked = changes.get("is_blocked", user.is_blocked)
        user_set_blocked(user_id=user_id, blocked=blocked, by=by)
        if "auto_groups" in changes:
            contributions.set_auto_groups.only(user, changes["auto_groups"])
        return user_get(user_id)


def _change_errors(user: User, changes: Mapping[str, Any]) -> Iterator[FieldError]:
    yield from contributions.auto_group_errors.only(changes.get("auto_groups", ()))
    # Who has no name may be sent back as they are.
    if not user.is_service_user and changes.get("name", user.name) != user.name:
        yield from name_errors("name", changes["name"])
    if changes.get("role", user.role) != user.role:
        service = user.is_service_user
        yield from rules.role_errors(changes["role"], is_service_user=service)


def _change_role(user: User, role: str, by: User) -> None:
    hands_over = role == Role.OWNER and user.role != Role.OWNER and by.pk != user.pk
    if hands_over and by.role == Role.OWNER:
        owner_role_transfer(from_id=by.pk, to_id=user.pk)
    else:
        user_set_role(user_id=user.pk, role=role, by=by)


def user_rename(*, user_id: str, name: str, email: str, by: User | None = None) -> None:
    """Change name and e-mail. Raises NotFound, InvalidArgument, Conflict.

    A service user has no e-mail: anything given for it is left out.
    """
    with account_write():
        user = user_get(user_id)
        authority.check_may_touch(by, user)
        errors = [*rules.user_name_errors(name)]
        # People whose provider told no address have none, and may keep it so.
        if not user.is_service_user and email != user.email:
            user.email = email
            errors += _email_errors(user)
        raise_field_errors(errors)
        user.name = name
        user.save(update_fields=["name", "email"])


def user_set_role(*, user_id: str, role: str, by: User | None = None) -> None:
    """Give a user another role. Raises NotFound, InvalidArgument.

    Raises Conflict when nobody who can act would be owner any more.
    """
    with account_write():
        user = user_get(user_id)
        raise_field_errors(
            rules.role_errors(role, is_service_user=user.is_service_user)
        )
        if user.role == role:
            return
        authority.check_may_set_role(by, user, role)
        if role != Role.OWNER:
            keep_an_owner(user, "take the owner role from")
        user.role = role
        user.save(update_fields=["role"])


def owner_role_transfer(*, from_id: str, to_id: str) -> None:
    """Make `to_id` an owner and the owner `from_id` an admin.

    Raises NotFound, InvalidArgument for a service user, Conflict when `from_id` is no
    owner or `to_id` cannot act.
    """
    with account_write():
        old, new = user_get(from_id), user_get(to_id)
        raise_field_errors(
            rules.role_errors(Role.OWNER, is_service_user=new.is_service_user)
        )
        if old.role != Role.OWNER or old == new:
            raise Conflict(f"user {old} cannot hand over the owner role to {new}")
        if not new.is_active:
            raise Conflict(f"user {new} is blocked or pending approval")
        # The new owner first: without one, nobody may stop being owner.
        user_set_role(user_id=new.pk, role=Role.OWNER)
        user_set_role(user_id=old.pk, role=Role.ADMIN)
        record_about(new, Activity.TRANSFERRED_OWNER_ROLE)


def user_set_blocked(*, user_id: str, blocked: bool, by: User | None = None) -> None:
    """Block or unblock a user. Raises NotFound.

    Raises Conflict when nobody who can act would be owner any more.
    """
    with account_write():
        user = user_get(user_id)
        if user.is_blocked == blocked:
            return
        authority.check_may_block(by, user, blocked=blocked)
        if blocked:
            keep_an_owner(user, "block")
        user.is_blocked = blocked
        # A session that began before goes on in no case, unblocked or not.
        user.sessions_ended += blocked
        user.save(update_fields=["is_blocked", "sessions_ended"])
        if blocked:
            user_blocked.send(sender=None, user=user)


def user_approve(*, user_id: str, by: User | None = None) -> None:
    """Let a pending user in. Raises NotFound, InvalidArgument when nothing is pending."""
    with account_write():
        user = user_get(user_id)
        authority.check_may_touch(by, user)
        check_pending(user)
        user.pending_approval = user.is_blocked = False
        user.save(update_fields=["pending_approval", "is_blocked"])


def user_reject(*, user_id: str, by: User | None) -> None:
    """Delete a user who waits for approval. Raises NotFound, InvalidArgument."""
    with account_write():
        user = user_get(user_id)
        check_pending(user)
        # Before the deletion, so that the trail tells both in the order people expect.
        record_about(user, Activity.USER_REJECT)
        user_delete(user_id=user_id, by=by)


def user_set_password(
    *, user_id: str, password: HashedPassword, by: User | None = None
) -> None:
    """Set the password for signing in. Raises NotFound, InvalidArgument."""
    with account_write():
        user = user_get(user_id)
        authority.check_may_touch(by, user)
        if user.is_service_user:
            raise InvalidArgument.about("password", "a service user has no password")
        raise_field_errors(password_errors(password.plain, user))
        user.password, user.password_is_temporary = password.hash, False
        user.save(update_fields=["password", "password_is_temporary"])


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
    user = user_get(by.pk)
    if not user.has_usable_password():
        raise PreconditionFailed("this user does not sign in by password")
    # Hashing takes long: the lock is taken after it.
    if not password_check(user, old, name=user.email):
        raise InvalidArgument.about("old_password", "the old password is wrong")
    raise_field_errors(new_password_errors("new_password", new, user, old=old))
    known = user.password
    user.set_password(new)
    with account_write():
        # The password that was shown to be known is no longer theirs.
        if user_get(user.pk).password != known:
            raise Conflict("the password was changed by another request")
        user.save(update_fields=["password", "password_is_temporary"])


def new_password_errors(
    field: str, password: str, user: User, *, old: str = ""
) -> list[FieldError]:
    """Return what is wrong with a password that a person chose in place of `old`."""
    if password == old:
        return [FieldError(field, "the new password is the old one")]
    found = [FieldError(field, text) for text in rules.weaknesses(password)]
    return found or [
        FieldError(field, error.message) for error in password_errors(password, user)
    ]


def password_errors(password: str, user: User) -> Iterator[FieldError]:
    try:
        validate_password(password, user)
    except ValidationError as error:
        yield from (FieldError("password", text) for text in error.messages)


def user_delete(*, user_id: str, by: User | None = None) -> None:
    """Delete a user, their tokens, and what rooms above keep of them.

    Raises NotFound, and Conflict for the last owner or a user something still refers to.
    """
    with account_write():
        user = user_get(user_id)
        authority.check_may_delete(by, user)
        keep_an_owner(user, "delete")
        try:
            # Rooms above come first: what they keep of a user protects the row.
            user_deleting.send(sender=None, user=user)
            _delete_with_tokens(user)
        except ProtectedError as error:
            kinds = {str(one._meta.verbose_name) for one in error.protected_objects}
            raise Conflict(
                f"cannot delete {user}: {', '.join(sorted(kinds))} objects still refer"
                " to them or to what goes with them"
            ) from error


def _delete_with_tokens(user: User) -> None:
    tokens = list(AccessToken.objects.filter(user=user))
    for token in tokens:
        token.user = user  # known already: saves a query each
    audited_bulk_delete(tokens)
    user.delete()


def user_get(user_id: str) -> User:
    """Return the user. Raises NotFound."""
    return found(User, user_id, kind="user")


def check_pending(user: User) -> None:
    """Raise InvalidArgument for a user who does not wait for approval."""
    if not user.pending_approval:
        raise InvalidArgument(f"user {user} is not pending approval")


def keep_an_owner(user: User, deed: str) -> None:
    """Raise Conflict when `user` is the last owner who can act."""
    if user.role != Role.OWNER or not user.is_active:
        return
    if not User.objects.owners().exclude(pk=user.pk).exists():
        raise Conflict(
            f"cannot {deed} {user}: there would be no owner left;"
            " give another user the owner role first"
        )
