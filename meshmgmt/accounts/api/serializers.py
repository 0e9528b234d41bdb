"""Bodies of the accounts room: what is asked, and the schema of what is answered."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from django.db import models
from rest_framework import serializers

from meshmgmt.accounts.models import Account
from meshmgmt.accounts.rules import ASKED_FOR
from meshmgmt.accounts.selectors import EXTRA_SETTINGS, SETTINGS
from meshmgmt.api.fields import (
    ObjectSerializer,
    TextField,
    TruthField,
    WholeNumberField,
    references,
)
from meshmgmt.core.roles import MODULES, Operation, Role

Fields = dict[str, serializers.Field[Any, Any, Any, Any]]


class OperationsSerializer(serializers.Serializer[Any]):
    """What may be done in one module."""

    create = serializers.BooleanField()  # type: ignore[assignment]  # JSON's name
    read = serializers.BooleanField()
    update = serializers.BooleanField()  # type: ignore[assignment]
    delete = serializers.BooleanField()


assert {op.value for op in Operation} == set(OperationsSerializer().fields)


class ModulesSerializer(serializers.Serializer[Any]):
    """What may be done, by module."""

    def get_fields(self) -> Fields:
        """Return one field per module of the role table."""
        return {module: OperationsSerializer() for module in MODULES}


class PermissionsSerializer(serializers.Serializer[Any]):
    """What the user may do."""

    is_restricted = serializers.BooleanField(
        help_text="The dashboard is closed to this user"
    )
    modules = ModulesSerializer()


class UserSerializer(serializers.Serializer[Any]):
    """A user with their permissions."""

    id = serializers.CharField()
    email = serializers.CharField(help_text="Empty for service users")
    name = serializers.CharField()
    role = serializers.ChoiceField(choices=[role.value for role in Role])
    status = serializers.ChoiceField(choices=["active", "blocked"])
    auto_groups = serializers.ListField(child=serializers.CharField())
    is_current = serializers.BooleanField(help_text="This is the user who asks")
    is_service_user = serializers.BooleanField()
    is_blocked = serializers.BooleanField()
    pending_approval = serializers.BooleanField()
    last_login = serializers.DateTimeField(help_text="Year 1 when never")
    issued = serializers.ChoiceField(choices=["api", "integration", "jwt"])
    permissions = PermissionsSerializer()
    idp_id = serializers.CharField(
        required=False, help_text="The identity provider the user has signed in at"
    )


class NewUserSerializer(UserSerializer):
    """A user just made; the one-time password of a person is shown this once."""

    password = serializers.CharField(required=False)


class UserRequestSerializer(ObjectSerializer):
    """A user as a client creates it."""

    email = TextField(required=False, help_text="Of a person; required for people")
    name = TextField(required=False, help_text="Required for people")
    role = TextField(default=Role.USER.value, help_text=f"One of {', '.join(Role)}")
    auto_groups = references(required=False, help_text="Groups that their peers join")
    is_service_user = TruthField(default=False)


class UserUpdateSerializer(ObjectSerializer):
    """What a client changes of a user; absent fields keep their value."""

    name = TextField(required=False, help_text="Not empty for people")
    role = TextField(required=False, help_text=f"One of {', '.join(Role)}")
    auto_groups = references(required=False, help_text="Groups that their peers join")
    is_blocked = TruthField(required=False)


class PasswordChangeSerializer(ObjectSerializer):
    """A user's old and new password."""

    old_password = TextField()
    new_password = TextField(help_text=ASKED_FOR)


class AccessTokenSerializer(serializers.Serializer[Any]):
    """A token, without the token itself."""

    id = serializers.CharField()
    name = serializers.CharField()
    expiration_date = serializers.DateTimeField()
    created_by = serializers.CharField(help_text="Id of a user, or `system`")
    created_at = serializers.DateTimeField()
    last_used = serializers.DateTimeField(
        required=False, help_text="To the minute; absent until the first use"
    )


class AccessTokenRequestSerializer(ObjectSerializer):
    """What a new token shall be."""

    name = TextField(help_text="1 to 255 characters")
    expires_in = WholeNumberField(help_text="Days, 1 to 365")


class NewAccessTokenSerializer(serializers.Serializer[Any]):
    """A token just made, shown this once."""

    plain_token = serializers.CharField()
    personal_access_token = AccessTokenSerializer()


class OnboardingSerializer(serializers.Serializer[Any]):
    """Guided first steps; never pending here."""

    onboarding_flow_pending = serializers.BooleanField()
    signup_form_pending = serializers.BooleanField()


class TextsField(serializers.ListField):
    """A list of texts."""

    child = serializers.CharField()


_TYPES: Final[dict[type, tuple[Callable[..., Any], Callable[..., Any]]]] = {
    models.BooleanField: (serializers.BooleanField, TruthField),
    models.PositiveIntegerField: (serializers.IntegerField, WholeNumberField),
    models.CharField: (serializers.CharField, TextField),
    models.JSONField: (TextsField, references),
}
"""How a setting of each type is shown, and how it is read."""


def _shown(names: Sequence[str]) -> Fields:
    return {name: _types(name)[0]() for name in names}


def _changed(names: Sequence[str]) -> Fields:
    return {name: _types(name)[1](required=False) for name in names}


def _types(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    return _TYPES[type(Account._meta.get_field(name))]


class ExtraSettingsSerializer(serializers.Serializer[Any]):
    """Further settings."""

    def get_fields(self) -> Fields:
        """Return a field for each setting."""
        return _shown(EXTRA_SETTINGS)


class AccountSettingsSerializer(serializers.Serializer[Any]):
    """Settings of the account; periods are seconds."""

    agent_network_only = serializers.BooleanField()
    embedded_idp_enabled = serializers.BooleanField()
    extra = ExtraSettingsSerializer()

    def get_fields(self) -> Fields:
        """Return a field for each setting, before those that are the same everywhere."""
        return {**_shown(SETTINGS), **super().get_fields()}


class ExtraSettingsRequestSerializer(ObjectSerializer):
    """Further settings; absent ones keep their value."""

    def get_fields(self) -> Fields:
        """Return a field for each that can be changed."""
        return _changed(EXTRA_SETTINGS)


class AccountSettingsRequestSerializer(ObjectSerializer):
    """Settings of the account; absent ones keep their value, but for one."""

    auto_update_version = TextField(
        default="", help_text='Absent: none, as `""`, which leaves it to the agents'
    )
    extra = ExtraSettingsRequestSerializer(required=False)

    def get_fields(self) -> Fields:
        """Return a field for each that can be changed."""
        return {**_changed(SETTINGS), **super().get_fields()}


class AccountRequestSerializer(ObjectSerializer):
    """What a client changes of the account."""

    settings = AccountSettingsRequestSerializer()


class AccountSerializer(serializers.Serializer[Any]):
    """The account of this deployment."""

    id = serializers.CharField()
    domain = serializers.CharField()
    domain_category = serializers.CharField()
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField()
    settings = AccountSettingsSerializer()
    onboarding = OnboardingSerializer()
