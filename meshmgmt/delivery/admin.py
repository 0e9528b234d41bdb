"""Admin pages of subscriptions and dead letters."""

from dataclasses import replace
from typing import Any, Final
from urllib.parse import parse_qs, urlencode

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import path
from django.utils.safestring import SafeString

from events.api.queries import InstantField
from meshmgmt.access.admin.fields import ReadOnlyAdmin
from meshmgmt.api.admin import ServiceForm
from meshmgmt.api.adminlook import badge
from meshmgmt.api.admintokens import SecretPages
from meshmgmt.core.errors import ServiceError
from meshmgmt.core.fielderrors import FieldError
from meshmgmt.delivery.homecards import DeliveryStateFilter
from meshmgmt.delivery.models import CONFIGURED, DeadLetter, Subscription
from meshmgmt.delivery.rules import SubscriptionDraft, masked
from meshmgmt.delivery.selectors import state_row
from meshmgmt.delivery.services import (
    subscription_create,
    subscription_delete,
    subscription_replay,
    subscription_secret,
    subscription_test,
    subscription_update,
)

_TARGET: Final = ("type", "url", "host", "port", "tls", "path")
_FIXED: Final = ("stream", "type")
_FILTERS: Final = (
    "Query parameters as in the address of the stream's list, without times, such as"
    " activity_code=group.*&activity_code=policy.*"
)


class SubscriptionForm(ServiceForm):
    """A subscription; stream and kind of target are chosen once."""

    plain = ""

    name = forms.CharField(required=False, strip=False)
    filters = forms.CharField(required=False, help_text=_FILTERS)
    type = forms.ChoiceField(
        label="Target",
        choices=[
            ("webhook", "Webhook over HTTPS, signed"),
            ("syslog", "Syslog (RFC 5424) over TCP or TLS"),
            ("file", "File of NDJSON on the host of housekeeping"),
        ],
    )
    url = forms.CharField(
        required=False, label="Webhook address", help_text="https://HOST/PATH"
    )
    host = forms.CharField(required=False, label="Syslog host")
    port = forms.IntegerField(required=False, label="Syslog port")
    tls = forms.BooleanField(required=False, label="Syslog over TLS")
    path = forms.CharField(
        required=False, label="File path", help_text="Below SVC_DELIVERY_DIR"
    )

    class Meta:
        model = Subscription
        fields = ["name", "stream", "enabled"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.adding:
            return
        filters = urlencode(self.instance.filters, doseq=True, safe="*")
        self.initial.update(self.instance.target, filters=filters)
        for name in _FIXED:
            if name in self.fields:
                self.fields[name].disabled = True

    def clean_filters(self) -> dict[str, Any]:
        """Return the parameters by name, each with its values."""
        text = self.cleaned_data["filters"].lstrip("?")
        if not text:
            return {}
        try:
            return parse_qs(text, strict_parsing=True, keep_blank_values=True)
        except ValueError as error:
            raise forms.ValidationError("are no query parameters") from error

    def apply(self, data: dict[str, Any]) -> Subscription:
        """Create the subscription and keep its secret for one page, or change it."""
        target = {name: data[name] for name in _TARGET if data.get(name)}
        facts = {name: data[name] for name in CONFIGURED if name != "target"}
        facts["target"] = target
        if not self.adding:
            return subscription_update(subscription_id=self.instance.pk, changes=facts)
        made, self.plain = subscription_create(draft=SubscriptionDraft(**facts))
        return made

    def _show(self, error: ServiceError) -> None:
        """Show each fault at the input of its field."""
        super()._show(ServiceError(error.message, map(_at_input, error.errors)))


def _at_input(fault: FieldError) -> FieldError:
    place, _, name = fault.field.partition(".")
    if place == "target":
        return replace(fault, field=name)
    text = f"{name}: {fault.message}" if name else fault.message
    return replace(fault, field=place, message=text)


class ReplayForm(forms.Form):
    """Which events are sent again."""

    start = InstantField(
        label="From",
        widget=forms.TextInput,
        help_text="Such as 2026-01-31T08:00, or -24h",
    )
    until = InstantField(
        end=True, required=False, widget=forms.TextInput, help_text="Now, unless given"
    )


@admin.register(Subscription)
class SubscriptionAdmin(SecretPages):
    """Who is sent the events of a stream."""

    form = SubscriptionForm
    change_form_template = "admin/delivery/subscription.html"
    list_display = ["name", "stream", "kind", "state", "last_success", "last_error"]
    list_filter = [DeliveryStateFilter, "stream"]
    search_fields = ["name", "=id"]
    ordering = ["id"]
    readonly_fields = [
        *("id", "state", "last_success", "failures", "next_attempt", "last_error"),
        "created_at",
    ]

    def get_urls(self) -> list[Any]:
        """Add the page that tries out and sends again."""
        view = self.admin_site.admin_view(self.sending_page)
        page = path("<str:pk>/sending/", view, name="delivery_sending")
        return [page, *super().get_urls()]

    def sending_page(self, request: HttpRequest, pk: str) -> HttpResponse:
        """Show how the sending goes; take what is to be sent."""
        may_change = self.has_change_permission(request)
        if not may_change and (
            request.method == "POST" or not self.has_view_permission(request)
        ):
            raise PermissionDenied
        subscription = get_object_or_404(Subscription, pk=pk)
        form = ReplayForm(request.POST if "replay" in request.POST else None)
        if request.method == "POST" and self._done(request, pk, form):
            return redirect("admin:delivery_sending", pk)
        facts: dict[str, Any] = {
            **self.admin_site.each_context(request),
            "title": f"Sending to {subscription.name}",
            "subscription": subscription,
            "state": state_row(subscription),
            "form": form if may_change else None,
            "media": self.media,
        }
        return TemplateResponse(request, "admin/delivery/sending.html", facts)

    def _done(self, request: HttpRequest, pk: str, form: ReplayForm) -> bool:
        """Do what was asked for; return False where the form is to be shown again."""
        said = "These events are sent again, before any new ones."
        if "secret" in request.POST:
            secret = subscription_secret(subscription_id=pk)
            self.show_secret(request, "The new signing secret", secret)
            return True
        if "test" in request.POST:
            subscription_test(subscription_id=pk)
            said = "A test event is sent within seconds."
        elif not form.is_valid():
            return False
        else:
            start, end = form.cleaned_data["start"], form.cleaned_data["until"]
            try:
                subscription_replay(subscription_id=pk, start=start, end=end)
            except ServiceError as error:
                form.add_error("until", error.message)
                return False
        self.message_user(request, said, messages.SUCCESS)
        return True

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return what is wanted, and how it goes."""
        may_change = obj is None or self.has_change_permission(request, obj)
        target = _TARGET if may_change else ["target_shown"]
        wanted = ["name", "stream", "filters", *target, "enabled"]
        facts: list[Any] = [(None, {"fields": wanted})]
        if obj is not None:
            facts.append(("Delivery", {"fields": self.readonly_fields}))
        return facts

    @admin.display(description="target")
    def target_shown(self, subscription: Subscription) -> str:
        """What is sent to, for those who may only look."""
        shown = masked(subscription.target) or {}
        return ", ".join(f"{name}: {value}" for name, value in shown.items())

    @admin.display(description="target")
    def kind(self, subscription: Subscription) -> str:
        """What is sent to."""
        return str(subscription.target.get("type", ""))

    @admin.display(description="state")
    def state(self, subscription: Subscription) -> SafeString:
        """How the deliveries go."""
        if not subscription.enabled:
            return badge("disabled")
        failing = subscription.failures > 0
        return badge("failing", "bad") if failing else badge("delivering", "ok")

    def save_model(
        self, request: HttpRequest, obj: Any, form: Any, change: Any
    ) -> None:
        """Show the secret of a webhook just made, this once."""
        if form.plain:
            self.show_secret(request, "The signing secret", form.plain)

    def delete_object(self, instance: Subscription) -> None:
        """Delete a subscription with its dead letters."""
        subscription_delete(subscription_id=instance.pk)


@admin.register(DeadLetter)
class DeadLetterAdmin(ReadOnlyAdmin):
    """Events that their receiver refused for good, to look at."""

    list_display = ["event_id", "subscription", "event_time", "error", "created_at"]
    list_filter = ["subscription"]
    list_select_related = ["subscription"]
    search_fields = ["event_id", "error"]
    ordering = ["-id"]
