"""Admin pages of access tokens."""

from typing import Any

from django.contrib import admin
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from meshmgmt.accounts.admin.forms import ByAdmin, ByForm
from meshmgmt.accounts.authority import (
    check_may_manage_tokens,
    check_may_revoke_tokens,
    manages_foreign_tokens,
    manages_tokens_of,
    viewer_of,
)
from meshmgmt.accounts.models import AccessToken, User
from meshmgmt.accounts.models.account import DAY
from meshmgmt.accounts.services.tokens import access_tokens, token_rotate
from meshmgmt.adminsite.fields import DurationField
from meshmgmt.adminsite.filters import EndFilter
from meshmgmt.adminsite.look import shown
from meshmgmt.adminsite.tokens import TokenPages
from meshmgmt.core.roles import Role


class TokenForm(ByForm):
    """A new token; tokens are never changed."""

    resource = access_tokens

    expires_in = DurationField(
        label="Life", unit=DAY, initial=30, help_text="1 to 365 days."
    )

    def apply(self, data: dict[str, Any]) -> Model:
        check_may_manage_tokens(self.by, data["user"])
        return super().apply(data)


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
    new_fields = ["user", "name", "expires_in", "scope"]
    fields = [
        *("id", "user", "name", "scope", "maker"),
        *("created_at", "expires_at", "last_used"),
    ]

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

    def may_rotate(self, request: HttpRequest, instance: Any = None) -> bool:
        """Let nobody make secrets of people that they could use themselves."""
        may = super().may_rotate(request, instance)
        owner = getattr(instance, "user", viewer_of(request))
        return may and manages_tokens_of(viewer_of(request), owner)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Suggest a token of one's own."""
        return {
            "user": viewer_of(request).pk,
            **super().get_changeform_initial_data(request),
        }

    @admin.display(description="created by")
    def maker(self, token: AccessToken) -> SafeString:
        """Who made it, by id once they are gone."""
        maker = User.objects.filter(pk=token.created_by).first()
        return shown(maker or token.created_by)

    def rotate(
        self, request: HttpRequest, instance: AccessToken, *, at_once: bool
    ) -> str:
        """Make a token like another of a user whose tokens the viewer manages."""
        check_may_manage_tokens(viewer_of(request), instance.user)
        user_id = instance.user_id
        made = token_rotate(access_tokens, instance.pk, at_once=at_once, whole=user_id)
        return str(made.plain)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        check_may_revoke_tokens(viewer_of(request), obj.user)
        super().delete_model(request, obj)
