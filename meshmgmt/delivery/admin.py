"""Admin pages of subscriptions and dead letters."""

from dataclasses import replace
from typing import Any, Final
from urllib.parse import parse_qs, urlencode

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString

from meshmgmt.access.admin.fields import ReadOnlyAdmin
from meshmgmt.api.admin import ServiceForm
from meshmgmt.api.adminlook import badge
from meshmgmt.api.admintokens import SecretPages
from meshmgmt.core.errors import ServiceError
from meshmgmt.core.fielderrors import FieldError
from meshmgmt.delivery import sendingpage
from meshmgmt.delivery.homecards import DeliveryStateFilter
from meshmgmt.delivery.models import DeadLetter, Subscription
from meshmgmt.delivery.rules import SubscriptionDraft
from meshmgmt.delivery.services import (
    subscription_create,
    subscription_delete,
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
        facts = {name: data[name] for name in ("name", "stream", "filters", "enabled")}
        try:
            if self.adding:
                made = subscription_create(
                    draft=SubscriptionDraft(target=target, **facts)
                )
                self.plain = made.secret
                return made.subscription
            return subscription_update(
                subscription_id=self.instance.pk, changes={**facts, "target": target}
            )
        except ServiceError as error:
            raise ServiceError(
                error.message, [_at_input(e) for e in error.errors]
            ) from error


def _at_input(fault: FieldError) -> FieldError:
    """Return a fault at the input that shows the field."""
    place, _, name = fault.field.partition(".")
    if place == "target" and name:
        return replace(fault, field=name)
    if place == "filters" and name:
        return FieldError(place, f"{name}: {fault.message}", conflict=fault.conflict)
    return fault


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
        return [*sendingpage.urls(), *super().get_urls()]

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return what is wanted, and how it goes."""
        wanted = ["name", "stream", "filters", *_TARGET, "enabled"]
        facts: list[Any] = [(None, {"fields": wanted})]
        if obj is not None:
            facts.append(("Delivery", {"fields": self.readonly_fields}))
        return facts

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
