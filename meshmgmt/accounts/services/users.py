"""Writes on users. Every function runs in one account write."""

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError

from events.activities import Activity
from events.audit.emission import audit_record
from events.audit.models import audited_bulk_delete
from meshmgmt.accounts.audit import user_facts
from meshmgmt.accounts.models import AccessToken, User
from meshmgmt.accounts.rules import email_errors, role_errors, user_name_errors
from meshmgmt.core.errors import Conflict, NotFound, raise_field_errors
from meshmgmt.core.fielderrors import FieldError
from meshmgmt.core.roles import Role
from meshmgmt.core.transactions import account_write

EMAIL_TAKEN = "another user has this e-mail address"


def user_create(
    *,
    email: str,
    role: str,
    name: str = "",
    password: str | None = None,
    issued: str = User.Issued.API,
) -> User:
    """Create a person. Raises InvalidArgument, or Conflict for a known e-mail."""
    with account_write():
        errors = [
            *email_errors(email),
            *user_name_errors(name),
            *role_errors(role, is_service_user=False),
        ]
        if not errors and User.objects.with_email(email).exists():
            errors.append(FieldError("email", EMAIL_TAKEN, conflict=True))
        user = User(email=email, name=name, role=role, issued=issued)
        if password is None:
            user.set_unusable_password()
        else:
            errors += _password_errors(password, user)
            user.set_password(password)
        raise_field_errors(errors)
        user.save(force_insert=True)
        return user


def service_user_create(*, name: str, role: str) -> User:
    """Create a user for a program: no e-mail, no password. Raises InvalidArgument."""
    with account_write():
        raise_field_errors(
            [*user_name_errors(name), *role_errors(role, is_service_user=True)]
        )
        user = User(name=name, role=role, is_service_user=True)
        user.set_unusable_password()
        user.save(force_insert=True)
        return user


def user_rename(*, user_id: str, name: str, email: str) -> User:
    """Change name and e-mail. Raises NotFound, InvalidArgument, Conflict."""
    with account_write():
        user = _user(user_id)
        errors = user_name_errors(name)
        if not user.is_service_user:
            errors += email_errors(email)
            others = User.objects.with_email(email).exclude(pk=user.pk)
            if not errors and others.exists():
                errors.append(FieldError("email", EMAIL_TAKEN, conflict=True))
            user.email = email
        raise_field_errors(errors)
        user.name = name
        user.save(update_fields=["name", "email"])
        return user


def user_set_role(*, user_id: str, role: str) -> User:
    """Give a user another role. Raises NotFound, InvalidArgument.

    Raises Conflict when nobody who can act would be owner any more.
    """
    with account_write():
        user = _user(user_id)
        raise_field_errors(role_errors(role, is_service_user=user.is_service_user))
        if user.role == role:
            return user
        if role != Role.OWNER:
            _keep_an_owner(user, "take the owner role from")
        user.role = role
        user.save(update_fields=["role"])
        return user


def owner_role_transfer(*, from_id: str, to_id: str) -> User:
    """Make `to_id` an owner and the owner `from_id` an admin; return the new owner.

    Raises NotFound, InvalidArgument for a service user, Conflict when `from_id` is no
    owner or `to_id` cannot act.
    """
    with account_write():
        old, new = _user(from_id), _user(to_id)
        raise_field_errors(role_errors(Role.OWNER, is_service_user=new.is_service_user))
        if old.role != Role.OWNER or old == new:
            raise Conflict(f"user {old} cannot hand over the owner role to {new}")
        if not new.is_active:
            raise Conflict(f"user {new} is blocked or pending approval")
        user_set_role(user_id=new.pk, role=Role.OWNER)
        user_set_role(user_id=old.pk, role=Role.ADMIN)
        audit_record(
            Activity.TRANSFERRED_OWNER_ROLE,
            target_id=new.pk,
            target_type="user",
            meta=user_facts(new),
        )
        return _user(new.pk)


def user_set_blocked(*, user_id: str, blocked: bool) -> User:
    """Block or unblock a user. Raises NotFound.

    Raises Conflict when nobody who can act would be owner any more.
    """
    with account_write():
        user = _user(user_id)
        if user.is_blocked == blocked:
            return user
        if blocked:
            _keep_an_owner(user, "block")
        user.is_blocked = blocked
        user.save(update_fields=["is_blocked"])
        return user


def user_approve(*, user_id: str) -> User:
    """Let a pending user in. Raises NotFound, Conflict when nothing is pending."""
    with account_write():
        user = _user(user_id)
        if not user.pending_approval:
            raise Conflict(f"user {user} is not pending approval")
        user.pending_approval = user.is_blocked = False
        user.save(update_fields=["pending_approval", "is_blocked"])
        return user


def user_set_password(*, user_id: str, password: str) -> User:
    """Set the password for signing in. Raises NotFound, InvalidArgument."""
    with account_write():
        user = _user(user_id)
        errors = _password_errors(password, user)
        if user.is_service_user:
            errors = [FieldError("password", "a service user has no password")]
        raise_field_errors(errors)
        user.set_password(password)
        user.save(update_fields=["password"])
        return user


def user_delete(*, user_id: str) -> None:
    """Delete a user and their tokens. Raises NotFound, Conflict for the last owner."""
    with account_write():
        user = _user(user_id)
        _keep_an_owner(user, "delete")
        tokens = list(AccessToken.objects.filter(user=user))
        for token in tokens:
            token.user = user
        audited_bulk_delete(tokens)
        user.delete()


def _user(user_id: str) -> User:
    user = User.objects.filter(pk=user_id).first()
    if user is None:
        raise NotFound.of("user", user_id)
    return user


def _keep_an_owner(user: User, deed: str) -> None:
    """Raise Conflict when `user` is the last owner who can act."""
    if user.role != Role.OWNER or not user.is_active:
        return
    if not User.objects.owners().exclude(pk=user.pk).exists():
        raise Conflict(
            f"cannot {deed} {user}: there would be no owner left;"
            " give another user the owner role first"
        )


def _password_errors(password: str, user: User) -> list[FieldError]:
    try:
        validate_password(password, user)
    except ValidationError as error:
        return [FieldError("password", text) for text in error.messages]
    return []
