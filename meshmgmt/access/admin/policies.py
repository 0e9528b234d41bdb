"""Pages of policies."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from groups.audit import resource_names
from meshmgmt.access.admin.policylist import (
    PolicyColumns,
    PolicyList,
    keys_of,
    rule_line,
)
from meshmgmt.access.admin.rules import RuleFields
from meshmgmt.access.models import Policy, PolicyPostureCheck
from meshmgmt.access.rules.policies import PolicyDraft
from meshmgmt.access.services.policies import (
    policy_create,
    policy_delete,
    policy_update,
)
from meshmgmt.api.admin import ServiceAdmin, ServiceForm
from meshmgmt.api.adminfields import OrderedListField
from meshmgmt.api.adminlook import enabled, shown
from meshmgmt.core.errors import ServiceError
from meshmgmt.core.fielderrors import FieldError

_OWN = ("name", "description", "enabled", "source_posture_checks")


class PolicyForm(ServiceForm):
    """A policy; its rules have pages of their own."""

    name = forms.CharField(required=False, strip=False)
    source_posture_checks = OrderedListField(
        PolicyPostureCheck._meta.get_field("posture_check")
    )

    class Meta:
        model = Policy
        fields = ["name", "description", "enabled"]

    lists = {"source_posture_checks": PolicyPostureCheck}

    def apply(self, data: dict[str, Any]) -> Policy:
        changes = {name: data[name] for name in _OWN}
        return policy_update(policy_id=self.instance.pk, changes=changes)


class NewPolicyForm(RuleFields, PolicyForm):
    """A new policy with its first rule, for no policy is without."""

    class Meta(PolicyForm.Meta):
        pass

    def apply(self, data: dict[str, Any]) -> Policy:
        own = {name: data[name] for name in _OWN}
        try:
            return policy_create(
                draft=PolicyDraft(rules=[self.rule_draft(data)], **own)
            )
        except ServiceError as error:
            raise _of_first_rule(error) from error


def _of_first_rule(error: ServiceError) -> ServiceError:
    """Return the error with the rule's fields under the names of this form."""
    faults = []
    for fault in error.errors:
        path = fault.field.removeprefix("rules[0].")
        if path != fault.field and path.startswith("name"):
            path = "rule_name"
        elif path == fault.field == "name":
            path = "policy_name"
        faults.append(FieldError(path, fault.message))
    return ServiceError(error.message, faults)


NewPolicyForm.field_names = {**RuleFields.field_names, "policy_name": "name"}


@admin.register(Policy)
class PolicyAdmin(PolicyColumns, ServiceAdmin):
    form = PolicyForm
    list_display = ["name", "rules_shown", "posture", "flows", "switch"]
    list_filter = ["enabled"]
    search_fields = ["name", "description", "=id"]
    ordering = ["id"]
    fields = [*_OWN, "rule_list", "id", "created_at"]
    readonly_fields = ["rule_list", "id", "created_at"]

    def get_urls(self) -> list[Any]:
        """Add where the switch of a row leads."""
        view = self.admin_site.admin_view(self.switch_view)
        page = path("<str:pk>/switch/", view, name="access_policy_switch")
        return [page, *super().get_urls()]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[PolicyList]:
        return PolicyList

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        """Show the switch to those who may turn it, to others the state."""
        may_change = self.has_change_permission(request)
        return [*self.list_display[:-1], "switch" if may_change else enabled]

    def switch_view(self, request: HttpRequest, pk: str) -> HttpResponse:
        """Switch a policy on or off, and lead back to the list."""
        if request.method != "POST" or not self.has_change_permission(request):
            raise PermissionDenied
        on = bool(request.POST.get("enabled"))
        policy = get_object_or_404(Policy, pk=pk)
        policy_update(policy_id=pk, changes={"enabled": on})
        text = f"{policy.name} is {'enabled' if on else 'disabled'} now."
        self.message_user(request, text, messages.SUCCESS)
        back = reverse("admin:access_policy_changelist")
        came = request.headers.get("Referer", "").partition("?")[2]
        return redirect(f"{back}?{came}" if came else back)

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kw: Any
    ) -> Any:
        """Return the form; that of a new policy has a rule in it."""
        if obj is None:
            kw["form"] = NewPolicyForm
        return super().get_form(request, obj, change, **kw)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is None:
            return [*_OWN, *RuleFields.base_fields]
        return self.fields

    @admin.display(description="rules")
    def rule_list(self, policy: Policy) -> SafeString:
        rules = list(policy.rules.order_by("position", "id"))
        names = resource_names([key for rule in rules for key in keys_of(rule)])
        page = "admin:access_policyrule_change"
        items = format_html_join(
            "",
            '<li><a href="{}">{}</a> {}</li>',
            (
                (
                    reverse(page, args=[rule.pk]),
                    shown(rule.name),
                    rule_line(rule, names),
                )
                for rule in rules
            ),
        )
        new = f"{reverse('admin:access_policyrule_add')}?policy={policy.pk}"
        return format_html('<ol>{}</ol><a href="{}">Add a rule</a>', items, new)

    def delete_object(self, instance: Policy) -> None:
        policy_delete(policy_id=instance.pk)
