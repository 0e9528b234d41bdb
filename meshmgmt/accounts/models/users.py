"""People who sign in, service users, their tokens, and wrong passwords."""

from collections.abc import Iterator
from typing import Any

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.hashers import check_password, make_password
from django.db import models

from events.audit.audited import AuditedModel, AuditedQuerySet
from meshmgmt.accounts.rules import MAX_EMAIL, MAX_EMAIL_KEY, fold_email
from meshmgmt.accounts.tokens import HASH_LENGTH
from meshmgmt.core import clock
from meshmgmt.core.modelmodules import module_of
from meshmgmt.core.roles import MODULES, Operation, Role, allowed

_ADMIN_OPERATIONS = {
    "add": Operation.CREATE,
    "view": Operation.READ,
    "change": Operation.UPDATE,
    "delete": Operation.DELETE,
}


class EmailKeyField(models.CharField):  # type: ignore[type-arg]  # not at run time
    """The folded e-mail of its user, worked out on every insert and update."""

    def pre_save(self, model_instance: models.Model, add: bool) -> str | None:
        key = fold_email(getattr(model_instance, "email", ""))
        setattr(model_instance, self.attname, key)
        return key


class UserQuerySet(AuditedQuerySet["User"]):
    """Users, found by e-mail in any letter case."""

    def with_email(self, email: str) -> "UserQuerySet":
        return self.filter(email_key=fold_email(email), email_key__isnull=False)

    def people(self) -> "UserQuerySet":
        return self.filter(is_service_user=False)

    def any_owner(self) -> bool:
        """Tell whether the deployment has been taken over by anybody yet."""
        return self.filter(role=Role.OWNER).exists()

    def owners(self) -> "UserQuerySet":
        """Return the owners who can act."""
        return self.filter(role=Role.OWNER, is_blocked=False, pending_approval=False)

    def get_by_natural_key(self, username: str) -> "User":
        """Return the user who signs in with `username`. Raises User.DoesNotExist."""
        return self.with_email(username).get()


class User(AuditedModel, AbstractBaseUser):
    """Somebody or something that acts on the account, with one role.

    What a user may do follows from the role alone; Django's permission tables are not
    used. Service users have no e-mail address and no password.
    """

    class Issued(models.TextChoices):
        API = "api"
        INTEGRATION = "integration"
        JWT = "jwt"

    email = models.EmailField("e-mail address", max_length=MAX_EMAIL, blank=True)
    email_key = EmailKeyField(
        "e-mail address",
        max_length=MAX_EMAIL_KEY,
        unique=True,
        null=True,
        editable=False,
    )
    name = models.CharField(max_length=255, blank=True)
    role = models.CharField(
        max_length=20,
        choices=[(role.value, role.value.replace("_", " ")) for role in Role],
        default=Role.USER.value,
    )
    subject = models.CharField(  # issuer|sub of the identity provider
        max_length=512, unique=True, null=True, editable=False
    )
    password_is_temporary = models.BooleanField(default=False, editable=False)
    is_service_user = models.BooleanField(default=False)
    is_blocked = models.BooleanField("blocked", default=False)
    pending_approval = models.BooleanField(default=False)
    issued = models.CharField(
        max_length=20, choices=Issued.choices, default=Issued.API, editable=False
    )
    sessions_ended = models.PositiveIntegerField(
        default=0, db_default=0, editable=False
    )
    """How often their sessions were ended by something else than another password."""
    created_at = models.DateTimeField(default=clock.now, editable=False)

    objects = UserQuerySet.as_manager()  # type: ignore[misc]  # narrows the base's

    USERNAME_FIELD = "email_key"

    class Meta(AuditedModel.Meta):
        constraints = [
            models.CheckConstraint(
                condition=models.Q(is_service_user=False) | models.Q(email=""),
                name="user_service_users_have_no_email",
            )
        ]

    def __str__(self) -> str:
        return self.email or self.name or self.id

    def clean(self) -> None:
        """Leave the e-mail address as it was given."""

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save; the folded e-mail follows the e-mail."""
        fields = kwargs.get("update_fields")
        if fields is not None and "email" in fields:
            kwargs["update_fields"] = {*fields, "email_key"}
        super().save(*args, **kwargs)

    def set_password(self, raw_password: str | None) -> None:
        """Set a password that lasts."""
        super().set_password(raw_password)
        self.password_is_temporary = False

    def check_password(self, raw_password: str | None) -> bool:
        """Tell whether the password is right; renew an outdated hash of it."""
        return check_password(raw_password, self.password, self._store_stronger_hash)

    def _store_stronger_hash(self, raw_password: str) -> None:
        # The same password hashed anew is no change for the audit trail.
        self.password = make_password(raw_password)
        models.QuerySet(type(self)).filter(pk=self.pk).update(password=self.password)

    def get_session_auth_hash(self) -> str:
        """Return what a session must hold to be theirs still."""
        return self._with_ends(super().get_session_auth_hash())

    def get_session_auth_fallback_hash(self) -> Iterator[str]:
        """Yield the same by the secret keys before."""
        yield from map(self._with_ends, super().get_session_auth_fallback_hash())

    def _with_ends(self, digest: str) -> str:
        return f"{digest}{self.sessions_ended or ''}"

    def get_short_name(self) -> str:
        """Return what the admin site calls the user."""
        return self.name or self.email

    get_full_name = get_short_name

    @property
    def is_active(self) -> bool:  # type: ignore[override]  # a class attribute in Django
        return not self.is_blocked and not self.pending_approval

    @property
    def is_staff(self) -> bool:
        """Whether the user may enter the admin site: anyone whose role reads something."""
        return (
            self.is_active
            and not self.is_service_user
            and any(allowed(self.role, module, Operation.READ) for module in MODULES)
        )

    @property
    def is_superuser(self) -> bool:
        return self.is_active and self.role == Role.OWNER

    def has_perm(self, perm: str, obj: object = None) -> bool:
        """Tell whether the role allows `app_label.action_modelname` (admin site)."""
        app_label, _, codename = perm.partition(".")
        action, _, model_name = codename.partition("_")
        module = module_of(app_label, model_name)
        operation = _ADMIN_OPERATIONS.get(action)
        return (
            self.is_active
            and module is not None
            and operation is not None
            and allowed(self.role, module, operation)
        )

    def has_perms(self, perm_list: list[str], obj: object = None) -> bool:
        return all(self.has_perm(perm, obj) for perm in perm_list)

    def has_module_perms(self, app_label: str) -> bool:
        """Let the admin site look into every app; it asks again for each model."""
        return self.is_staff


class AccessToken(AuditedModel):
    """A credential for the API; acts as its user until it expires or is revoked.

    `plain` is the token itself, of one just made.
    """

    plain = ""

    class Scope(models.TextChoices):
        """What a token is good for; the empty scope is all that the role allows."""

        FULL = "", "everything the user may do"
        INGEST = "ingest", "the ingest of events alone"

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=255)
    hash = models.CharField(max_length=HASH_LENGTH, unique=True, editable=False)
    scope = models.CharField(
        max_length=20, choices=Scope.choices, default=Scope.FULL, blank=True
    )
    created_by = models.CharField(max_length=64, editable=False)
    created_at = models.DateTimeField(default=clock.now, editable=False)
    expires_at = models.DateTimeField()
    last_used = models.DateTimeField(null=True, blank=True, editable=False)

    account_state: tuple[Any, ...] | None = None
    """The newest event when the token was looked up by its secret, if it was."""

    class Meta(AuditedModel.Meta):
        verbose_name = "access token"


class WrongPassword(models.Model):
    """A password that was tried and was wrong; deleted when it counts no more.

    `account` is a keyed hash of whom it was tried for: people type passwords there, too.
    `address` is an IPv4 address or the first half of an IPv6 one.
    """

    account = models.CharField(max_length=64)
    address = models.CharField(max_length=64)
    at = models.DateTimeField(default=clock.now)

    class Meta:
        indexes = [
            models.Index(fields=["account", "at"], name="wrong_password_account"),
            models.Index(fields=["address", "at"], name="wrong_password_address"),
        ]

    def __str__(self) -> str:
        return f"wrong password from {self.address}"
