"""Admin pages of users, access tokens and the account."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from meshmgmt.accounts.adminforms import ByAdmin, ByForm, viewer_of
from meshmgmt.accounts.authority import (
    check_may_manage_tokens,
    check_may_revoke_tokens,
    check_may_touch,
    manages_foreign_tokens,
)
from meshmgmt.accounts.contributions import contributions
from meshmgmt.accounts.models import AccessToken, Account, User
from meshmgmt.accounts.models.account import DAY
from meshmgmt.accounts.services.account import account_update
from meshmgmt.accounts.services.tokens import token_create, token_delete
from meshmgmt.accounts.services.users import (
    user_approve,
    user_create,
    user_delete,
    user_get,
    user_rename,
    user_set_blocked,
    user_set_password,
    user_set_role,
)
from meshmgmt.accounts.settingrules import GROUP_LISTS
from meshmgmt.api.admin import OneRowAdmin, ServiceForm, number_of
from meshmgmt.api.adminfields import DurationField, LinesField, OrderedListField
from meshmgmt.api.adminfilters import EndFilter
from meshmgmt.api.adminlook import badge
from meshmgmt.api.admintokens import TokenPages
from meshmgmt.core import clock
from meshmgmt.core.counting import counted
from meshmgmt.core.errors import raise_field_errors
from meshmgmt.core.roles import Role
from meshmgmt.core.transactions import account_write


class UserForm(ByForm):
    """A user; the password is written only when one is given."""

    field_names = {"password": "new_password"}

    email = forms.CharField(label="E-mail address", required=False, strip=True)
    name = forms.CharField(required=False, strip=False)
    role = forms.ChoiceField(
        choices=[(role.value, role.value) for role in Role], initial=Role.USER
    )
    new_password = forms.CharField(
        required=False,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="For signing in here. Leave empty to keep what is.",
    )

    class Meta:
        model = User
        fields = ["email", "name", "role", "is_service_user", "is_blocked"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.adding:
            pk = self.instance.pk
            groups = contributions.auto_groups([pk])
            self.initial.setdefault("auto_groups", groups.get(pk, []))

    def apply(self, data: dict[str, Any]) -> User:
        """Create the user, or change what differs."""
        groups = data.get("auto_groups", ())
        with account_write():
            raise_field_errors(contributions.auto_group_errors(groups))
            user = self._created(data) if self.adding else self._changed(data)
            contributions.set_auto_groups(user, groups)
            return user

    def _created(self, data: dict[str, Any]) -> User:
        given = ("email", "name", "role", "is_service_user")
        user = user_create(**{name: data[name] for name in given}, by=self.by)
        return self._with_password(user, data)

    def _changed(self, data: dict[str, Any]) -> User:
        pk = self.instance.pk
        user = user_get(pk)
        check_may_touch(self.by, user)
        if (user.name, user.email) != (data["name"], data["email"]):
            email, name = data["email"], data["name"]
            user_rename(user_id=pk, name=name, email=email, by=self.by)
        user_set_role(user_id=pk, role=data["role"], by=self.by)
        user_set_blocked(user_id=pk, blocked=data["is_blocked"], by=self.by)
        return self._with_password(user, data)

    def _with_password(self, user: User, data: dict[str, Any]) -> User:
        if password := data["new_password"]:
            user_set_password(user_id=user.pk, password=password, by=self.by)
        return User.objects.get(pk=user.pk)


@admin.register(User)
class UserAdmin(ByAdmin):
    form = UserForm
    list_display = [
        "__str__",
        "name",
        "role",
        "state",
        "is_service_user",
        number_of("tokens", "tokens"),
        "last_login",
        "created_at",
    ]
    list_filter = ["role", "is_service_user", "is_blocked", "pending_approval"]
    search_fields = ["email", "name", "=id"]
    ordering = ["id"]
    actions = ["let_in"]
    readonly_fields = ["id", "issued", "pending_approval", "created_at", "last_login"]

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the columns of the form; the kind of user is chosen once."""
        if obj is None:
            own = ["is_service_user", "email", "name", "role", "new_password"]
            return [*own, *self._groups()]
        return [
            *("id", "is_service_user", "email", "name", "role", *self._groups()),
            "is_blocked",
            *("pending_approval", "new_password", "issued", "created_at", "last_login"),
        ]

    def _groups(self) -> list[str]:
        return [] if contributions.auto_group_column is None else ["auto_groups"]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        """Return what a form cannot change."""
        fixed = list(self.readonly_fields)
        return fixed if obj is None else [*fixed, "is_service_user"]

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kw: Any
    ) -> Any:
        """Return the form, with the list of groups where a room above keeps one."""
        if (column := contributions.auto_group_column) is not None:
            groups = OrderedListField(
                column, help_text="Groups that the user's peers join."
            )
            kw["form"] = type("UserForm", (UserForm,), {"auto_groups": groups})
        return super().get_form(request, obj, change, **kw)

    @admin.display(description="state")
    def state(self, user: User) -> SafeString:
        if user.pending_approval:
            return badge("pending approval")
        return badge("blocked" if user.is_blocked else "active")

    @admin.action(description="Let selected pending users in", permissions=["change"])
    def let_in(self, request: HttpRequest, users: QuerySet[User]) -> None:
        """Approve users; those not pending stay as they are."""
        pending = list(users.filter(pending_approval=True))
        with account_write():
            for user in pending:
                user_approve(user_id=user.pk, by=viewer_of(request))
        self.message_user(request, f"Let in: {counted(len(pending), 'user')}.")

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        user_delete(user_id=obj.pk, by=viewer_of(request))


class TokenForm(ByForm):
    """A new token; tokens are never changed."""

    name = forms.CharField(required=False, strip=False)
    expires_in = DurationField(
        label="Life", unit=DAY, initial=30, help_text="1 to 365 days."
    )
    plain = ""

    class Meta:
        model = AccessToken
        fields = ["user", "name", "scope"]

    def apply(self, data: dict[str, Any]) -> AccessToken:
        """Create the token and keep it for the one page that shows it."""
        check_may_manage_tokens(self.by, data["user"])
        made = token_create(
            user_id=data["user"].pk,
            name=data["name"],
            expires_in=data["expires_in"],
            scope=data["scope"],
        )
        self.plain = made.plain
        return made.token


@admin.register(AccessToken)
class AccessTokenAdmin(TokenPages, ByAdmin):
    """Access tokens: one's own, for admins those of service users, for owners all."""

    form = TokenForm
    list_display = [
        *("name", "user", "scope", "created_at", "expires_at", "last_used", "valid")
    ]
    list_filter = [EndFilter, "scope", "user__is_service_user"]
    list_select_related = ["user"]
    search_fields = ["name", "user__email", "user__name", "=id"]
    autocomplete_fields = ["user"]
    ordering = ["id"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[AccessToken]:
        """Leave out the tokens that are no business of the viewer."""
        viewer = viewer_of(request)
        tokens: QuerySet[AccessToken] = super().get_queryset(request)
        if viewer.role == Role.OWNER:
            return tokens
        mine = Q(user=viewer)
        if manages_foreign_tokens(viewer):
            mine |= Q(user__is_service_user=True)
        return tokens.filter(mine)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Let everybody make tokens of their own; the form refuses those of others."""
        return bool(request.user.is_staff)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Let everybody revoke what they see, as far as the service agrees."""
        return bool(request.user.is_staff)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Suggest a token of one's own."""
        return {
            "user": viewer_of(request).pk,
            **super().get_changeform_initial_data(request),
        }

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is None:
            return ["user", "name", "expires_in", "scope"]
        return ["id", "user", "name", "scope", "created_by", *self._moments]

    _moments = ("created_at", "expires_at", "last_used")

    @admin.display(description="state", ordering="expires_at")
    def valid(self, token: AccessToken) -> SafeString:
        return badge("valid" if token.expires_at > clock.now() else "expired")

    def save_model(
        self, request: HttpRequest, obj: Any, form: Any, change: Any
    ) -> None:
        """Show the token made, this once."""
        self.show_secret(request, "The token", form.plain)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        check_may_revoke_tokens(viewer_of(request), obj.user)
        token_delete(user_id=obj.user_id, token_id=obj.pk)


class AccountForm(ServiceForm):
    """The settings."""

    peer_login_expiration = DurationField(help_text="Such as 90 days or 24 h.")
    peer_inactivity_expiration = DurationField(help_text="Such as 7 days or 10 min.")
    jwt_allow_groups = LinesField(
        label="JWT allow groups", help_text="One name per line."
    )

    class Meta:
        model = Account
        exclude = ["domain", "domain_category"]
        labels = {
            "network_range_v6": "Network range IPv6",
            "local_mfa_enabled": "Local MFA enabled",
        }
        field_classes = {
            "dns_domain": forms.CharField,
            "network_range": forms.CharField,
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        column = contributions.auto_group_column
        if column is not None:
            for name in self.fields.keys() & set(GROUP_LISTS):  # all, or to be read
                label = self.fields[name].label
                self.fields[name] = OrderedListField(column, label=label)

    def apply(self, data: dict[str, Any]) -> Account:
        return account_update(settings=data)


@admin.register(Account)
class AccountAdmin(OneRowAdmin):
    """The settings of the one account, which goes with the database."""

    form = AccountForm
    readonly_fields = ["id", "created_at", "created_by"]
