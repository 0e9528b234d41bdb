"""Pages of policies."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from meshmgmt.access.admin.rules import RuleFields
from meshmgmt.access.models import Policy, PolicyPostureCheck
from meshmgmt.access.rules.policies import PolicyDraft
from meshmgmt.access.services.policies import (
    policy_create,
    policy_delete,
    policy_update,
)
from meshmgmt.api.admin import ServiceAdmin, ServiceForm, counted
from meshmgmt.api.adminfields import OrderedListField
from meshmgmt.api.adminlook import enabled
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
class PolicyAdmin(ServiceAdmin):
    form = PolicyForm
    list_display = [
        "name",
        enabled,
        counted("rules", "rules"),
        counted("posture_check_links", "posture checks"),
        "created_at",
    ]
    list_filter = ["enabled"]
    search_fields = ["name", "description", "=id"]
    ordering = ["id"]
    fields = [*_OWN, "rule_list", "id", "created_at"]
    readonly_fields = ["rule_list", "id", "created_at"]

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
        rules = policy.rules.order_by("position", "id")
        items = format_html_join(
            "",
            '<li><a href="{}">{}</a></li>',
            (
                (reverse("admin:access_policyrule_change", args=[rule.pk]), rule.name)
                for rule in rules
            ),
        )
        new = f"{reverse('admin:access_policyrule_add')}?policy={policy.pk}"
        return format_html('<ol>{}</ol><a href="{}">Add a rule</a>', items, new)

    def delete_object(self, instance: Policy) -> None:
        policy_delete(policy_id=instance.pk)
