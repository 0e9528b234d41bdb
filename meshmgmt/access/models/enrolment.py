"""How peers and users get into their first groups."""

from django.conf import settings
from django.db import models

from events.audit.audited import AuditedModel
from groups.models import GroupLink
from meshmgmt.accounts.tokens import HASH_LENGTH
from meshmgmt.core import clock
from meshmgmt.core.ids import ID_LENGTH
from meshmgmt.core.orderedlinks import listed_once, owner_key
from meshmgmt.core.roles import Role


class KeyType(models.TextChoices):
    """How often a setup key is good."""

    REUSABLE = "reusable"
    ONE_OFF = "one-off"


class SetupKey(AuditedModel):
    """A key that enrols peers without a user.

    The key itself is not kept: `key_hash` is the hex SHA-256 of it, `key_prefix` its
    first characters for people. `usage_limit` 0 means unlimited; no `expires_at` means
    for ever. `plain` is the key itself, of one just made.
    """

    plain = ""

    name = models.CharField(max_length=255)
    type = models.CharField(
        max_length=8, choices=KeyType.choices, default=KeyType.REUSABLE
    )
    key_hash = models.CharField(max_length=HASH_LENGTH, editable=False)
    key_prefix = models.CharField(max_length=8, editable=False)
    created_at = models.DateTimeField(default=clock.now, editable=False)
    updated_at = models.DateTimeField(default=clock.now, editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked = models.BooleanField(default=False)
    used_times = models.PositiveIntegerField(default=0, editable=False)
    last_used = models.DateTimeField(null=True, blank=True, editable=False)
    usage_limit = models.PositiveIntegerField(default=0)
    ephemeral = models.BooleanField(default=False)
    allow_extra_dns_labels = models.BooleanField(
        "allow extra DNS labels", default=False
    )

    class Meta(AuditedModel.Meta):
        constraints = [
            models.UniqueConstraint(fields=["key_hash"], name="setup_key_hash_unique")
        ]

    @property
    def masked(self) -> str:
        return f"{self.key_prefix}****"


class SetupKeyAutoGroup(GroupLink):
    """A group that peers enrolled by a key join."""

    owner_field = "setup_key"
    relation = "auto_groups"

    setup_key = owner_key(SetupKey, "auto_group_links")

    class Meta(GroupLink.Meta):
        verbose_name = "auto-group of a setup key"
        verbose_name_plural = "auto-groups of setup keys"
        constraints = listed_once("setup_key_auto_group_unique", "setup_key", "group")


class UserAutoGroup(GroupLink):
    """A group that the peers of a user join."""

    owner_field = "user"
    relation = "auto_groups"

    user = owner_key(settings.AUTH_USER_MODEL, "auto_group_links")

    class Meta(GroupLink.Meta):
        verbose_name = "auto-group of a user"
        verbose_name_plural = "auto-groups of users"
        constraints = listed_once("user_auto_group_unique", "user", "group")


class Invite(AuditedModel):
    """A link by which a person becomes a user.

    `token_hash` is the hex SHA-256 of the secret in the link; `created_by` is the id of
    the user who made it, `accepted_by` that of the user it made, both kept by value.
    `token` is the secret itself, of a link just made.
    """

    token = ""

    email = models.EmailField(max_length=254)
    name = models.CharField(max_length=255)
    role = models.CharField(
        max_length=13,
        choices=[(role.value, role.value) for role in Role],
        default=Role.USER.value,
    )
    token_hash = models.CharField(max_length=HASH_LENGTH, editable=False)
    token_prefix = models.CharField(max_length=8, editable=False)
    created_by = models.CharField(max_length=ID_LENGTH, blank=True, editable=False)
    accepted_by = models.CharField(max_length=ID_LENGTH, blank=True, editable=False)
    created_at = models.DateTimeField(default=clock.now, editable=False)
    expires_at = models.DateTimeField()

    class Meta(AuditedModel.Meta):
        constraints = [
            models.UniqueConstraint(fields=["token_hash"], name="invite_hash_unique")
        ]

    def __str__(self) -> str:
        return self.email


class InviteAutoGroup(GroupLink):
    """An auto-group that the invited user starts with."""

    owner_field = "invite"
    relation = "auto_groups"

    invite = owner_key(Invite, "auto_group_links")

    class Meta(GroupLink.Meta):
        verbose_name = "auto-group of an invite"
        verbose_name_plural = "auto-groups of invites"
        constraints = listed_once("invite_auto_group_unique", "invite", "group")
