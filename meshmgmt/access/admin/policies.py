"""Pages of policies."""

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse

from meshmgmt.access.admin.policylist import PolicyColumns, PolicyList
from meshmgmt.access.admin.rules import RuleFormSet, RuleInline
from meshmgmt.access.models import Policy, PolicyPostureCheck
from meshmgmt.access.services.policies import policies
from meshmgmt.adminsite.bulk import SWITCH
from meshmgmt.adminsite.fields import OrderedListField
from meshmgmt.adminsite.look import enabled
from meshmgmt.adminsite.pages import ServiceAdmin, ServiceForm
from meshmgmt.core.errors import ServiceError


class PolicyForm(ServiceForm):
    """A policy; its rules come from the rows of the same page."""

    resource = policies

    source_posture_checks = OrderedListField(
        PolicyPostureCheck._meta.get_field("posture_check")
    )

    def apply(self, data: dict[str, Any]) -> Any:
        """Write the policy and its rules as one."""
        # Django makes the rows before it checks this form.
        rules: RuleFormSet = self.instance.sent_rules
        try:
            return super().apply({**data, "rules": rules.drafts()})
        except ServiceError as error:
            raise rules.place(error) from error


@admin.register(Policy)
class PolicyAdmin(PolicyColumns, ServiceAdmin):
    form = PolicyForm
    list_class = PolicyList
    list_display = ["name", "rules_shown", "posture", "flows", "switch"]
    list_filter = ["enabled"]
    search_fields = ["name", "description", "=id"]
    readonly_fields = ["rule_list", "id", "created_at"]
    bulk = SWITCH
    inlines = [RuleInline]

    def get_urls(self) -> list[Any]:
        """Add where the switch of a row leads."""
        return [self.object_page("switch", self.switch_view), *super().get_urls()]

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        """Show the switch to those who may turn it, to others the state."""
        may_change = self.has_change_permission(request)
        return [*self.list_display[:-1], "switch" if may_change else enabled]

    def switch_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Switch a policy on or off, and lead back to the list."""
        back = reverse("admin:access_policy_changelist")
        if request.method != "POST":  # whoever had to sign in comes here by it
            return redirect(back)
        if not self.has_change_permission(request):
            raise PermissionDenied
        on = bool(request.POST.get("enabled"))
        policy = get_object_or_404(Policy, pk=object_id)
        try:
            self.set_enabled(policy, enabled=on)
        except ServiceError as error:
            self.message_user(request, error.message, messages.ERROR)
        else:
            text = f"{policy.name} is {'enabled' if on else 'disabled'} now."
            self.message_user(request, text, messages.SUCCESS)
        # The list is shown again with the search, filters and page it had.
        came = request.headers.get("Referer", "").partition("?")[2]
        return redirect(f"{back}?{came}" if came else back)

    def get_inlines(self, request: HttpRequest, obj: Any) -> Any:
        """Return the rules as rows to those who may change them."""
        return (
            super().get_inlines(request, obj) if self._may_write(request, obj) else []
        )

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the fields; who may only look gets the rules in words."""
        fields = super().get_fields(request, obj)
        may_write = self._may_write(request, obj)
        return [x for x in fields if x != "rule_list" or not may_write]

    def _may_write(self, request: HttpRequest, obj: Any) -> bool:
        return obj is None or self.has_change_permission(request, obj)
