"""Admin pages of users."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from meshmgmt.accounts import contributions
from meshmgmt.accounts.admin.forms import ByAdmin, ByForm
from meshmgmt.accounts.authority import viewer_of
from meshmgmt.accounts.forms import password_field
from meshmgmt.accounts.models import User
from meshmgmt.accounts.services import users as services
from meshmgmt.adminsite.bulk import BulkAction, refuse_too_many
from meshmgmt.adminsite.fields import OrderedListField
from meshmgmt.adminsite.look import badge
from meshmgmt.adminsite.pages import number_of
from meshmgmt.core.printable import counted
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
    new_password = password_field(
        "New password",
        required=False,
        help_text="For signing in here. Leave empty to keep what is.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.adding:
            pk = self.instance.pk
            groups = contributions.auto_groups.only([pk])
            self.initial.setdefault("auto_groups", groups.get(pk, []))
            if self.by.role == Role.OWNER != self.instance.role:
                self.fields["role"].help_text = "Who makes them owner becomes admin."

    def clean_new_password(self) -> services.HashedPassword | None:
        """Hash a password that is given, before the lock is taken."""
        given = self.cleaned_data["new_password"]
        return services.HashedPassword(given) if given else None

    def apply(self, data: dict[str, Any]) -> User:
        """Create the user, or change what differs."""
        with account_write():
            user = self._created(data) if self.adding else self._changed(data)
            if password := data["new_password"]:
                services.user_set_password(
                    user_id=user.pk, password=password, by=self.by
                )
            return services.user_get(user.pk)

    def _created(self, data: dict[str, Any]) -> User:
        given = ("email", "name", "role", "is_service_user", "auto_groups")
        return services.user_create(**{name: data[name] for name in given}, by=self.by)

    def _changed(self, data: dict[str, Any]) -> User:
        user = services.user_get(self.instance.pk)
        if (user.name, user.email) != (data["name"], data["email"]):
            email, name = data["email"], data["name"]
            services.user_rename(user_id=user.pk, name=name, email=email, by=self.by)
        changes = {name: data[name] for name in ("role", "is_blocked", "auto_groups")}
        return services.user_update(user_id=user.pk, changes=changes, by=self.by)


def _blocking(name: str, *, blocked: bool) -> BulkAction:
    return BulkAction(
        *(name, name.capitalize(), f"{name}ed"),
        lambda pages, request, user: services.user_set_blocked(
            user_id=user.pk, blocked=blocked, by=viewer_of(request)
        ),
        lambda user: user.is_blocked != blocked and not user.pending_approval,
    )


@admin.register(User)
class UserAdmin(ByAdmin):
    form = UserForm
    list_display = [
        *("__str__", "name", "role", "state", "is_service_user"),
        *(number_of("tokens", "tokens"), "last_login", "created_at"),
    ]
    list_filter = ["role", "is_service_user", "is_blocked", "pending_approval"]
    search_fields = ["email", "name", "=id"]
    actions = ["let_in"]
    bulk = (_blocking("block", blocked=True), _blocking("unblock", blocked=False))
    readonly_fields = ["id", "issued", "pending_approval", "created_at", "last_login"]
    fixed = ["is_service_user"]
    new_fields = [
        *("is_service_user", "email", "name", "role", "new_password", "auto_groups")
    ]
    fields = [
        *("id", "is_service_user", "email", "name", "role", "auto_groups"),
        *("is_blocked", "pending_approval", "new_password", "issued"),
        *("created_at", "last_login"),
    ]

    def get_form(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Return the form, with the list of groups that a room above keeps."""
        groups = OrderedListField(
            contributions.auto_group_column.only,
            help_text="Groups that the user's peers join.",
        )
        # The field needs a model of a room above, which is not there at import.
        kwargs["form"] = type("UserForm", (UserForm,), {"auto_groups": groups})
        return super().get_form(request, *args, **kwargs)

    @admin.display(description="state")
    def state(self, user: User) -> SafeString:
        if user.pending_approval:
            return badge("pending approval")
        return badge("blocked" if user.is_blocked else "active")

    @admin.action(description="Let selected pending users in", permissions=["change"])
    def let_in(self, request: HttpRequest, users: QuerySet[User]) -> None:
        """Approve users; those not pending stay as they are."""
        refuse_too_many(users)
        with account_write():
            # Read under the lock: who was let in meanwhile is not among them.
            pending = list(users.filter(pending_approval=True))
            for user in pending:
                services.user_approve(user_id=user.pk, by=viewer_of(request))
        self.message_user(request, f"Let in: {counted(len(pending), 'user')}.")

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        services.user_delete(user_id=obj.pk, by=viewer_of(request))
