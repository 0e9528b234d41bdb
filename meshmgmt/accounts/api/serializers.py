"""Bodies of the accounts room: what is asked, and the schema of what is answered."""

from collections.abc import Sequence
from typing import Any, Final

from rest_framework import serializers

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

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
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
    status = serializers.ChoiceField(choices=["active", "invited", "blocked"])
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

    name = TextField(required=False)
    role = TextField(required=False, help_text=f"One of {', '.join(Role)}")
    auto_groups = references(required=False, help_text="Groups that their peers join")
    is_blocked = TruthField(required=False)


class PasswordChangeSerializer(ObjectSerializer):
    """A user's old and new password."""

    old_password = TextField()
    new_password = TextField(
        help_text="8 to 128 characters with a digit, an upper-case letter and a special"
        " character"
    )


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


class ExtraSettingsSerializer(serializers.Serializer[Any]):
    """Further settings."""

    peer_approval_enabled = serializers.BooleanField()
    user_approval_required = serializers.BooleanField()
    network_traffic_logs_enabled = serializers.BooleanField()
    network_traffic_logs_groups = serializers.ListField(child=serializers.CharField())
    network_traffic_packet_counter_enabled = serializers.BooleanField()


class AccountSettingsSerializer(serializers.Serializer[Any]):
    """Settings of the account; periods are seconds."""

    peer_login_expiration_enabled = serializers.BooleanField()
    peer_login_expiration = serializers.IntegerField()
    peer_inactivity_expiration_enabled = serializers.BooleanField()
    peer_inactivity_expiration = serializers.IntegerField()
    regular_users_view_blocked = serializers.BooleanField()
    groups_propagation_enabled = serializers.BooleanField()
    jwt_groups_enabled = serializers.BooleanField()
    jwt_groups_claim_name = serializers.CharField()
    jwt_allow_groups = serializers.ListField(child=serializers.CharField())
    routing_peer_dns_resolution_enabled = serializers.BooleanField()
    dns_domain = serializers.CharField()
    network_range = serializers.CharField()
    network_range_v6 = serializers.CharField()
    peer_expose_enabled = serializers.BooleanField()
    peer_expose_groups = serializers.ListField(child=serializers.CharField())
    lazy_connection_enabled = serializers.BooleanField()
    auto_update_version = serializers.CharField()
    auto_update_always = serializers.BooleanField()
    ipv6_enabled_groups = serializers.ListField(child=serializers.CharField())
    metrics_push_enabled = serializers.BooleanField()
    local_auth_disabled = serializers.BooleanField()
    local_mfa_enabled = serializers.BooleanField()
    agent_network_only = serializers.BooleanField()
    embedded_idp_enabled = serializers.BooleanField()
    extra = ExtraSettingsSerializer()


_STRICT: Final = {
    serializers.BooleanField: TruthField,
    serializers.IntegerField: WholeNumberField,
    serializers.CharField: TextField,
    serializers.ListField: references,
}


def strict(serializer: serializers.Serializer[Any], names: Sequence[str]) -> Fields:
    """Return optional strict fields of the same types as those of a serializer."""
    return {
        name: _STRICT[type(field)](required=False)
        for name, field in serializer.fields.items()
        if name in names
    }


class ExtraSettingsRequestSerializer(ObjectSerializer):
    """Further settings; absent ones keep their value."""

    def get_fields(self) -> Fields:
        """Return a field for each that can be changed."""
        return strict(ExtraSettingsSerializer(), EXTRA_SETTINGS)


class AccountSettingsRequestSerializer(ObjectSerializer):
    """Settings of the account; absent ones keep their value."""

    def get_fields(self) -> Fields:
        """Return a field for each that can be changed."""
        return {
            **strict(AccountSettingsSerializer(), SETTINGS),
            "extra": ExtraSettingsRequestSerializer(required=False),
        }


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
