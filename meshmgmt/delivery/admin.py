"""Admin pages of subscriptions and dead letters."""

from copy import deepcopy
from dataclasses import replace
from typing import Any, Final
from urllib.parse import urlencode

import orjson
from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from events.activities import LABELS
from events.admin.cells import json_block
from events.admin.here import Here
from events.admin.inputs import shown_word
from events.api.queries import InstantField
from events.vocabulary import TYPES
from meshmgmt.access.admin.fields import ReadOnlyAdmin
from meshmgmt.adminsite.bulk import SWITCH
from meshmgmt.adminsite.look import badge
from meshmgmt.adminsite.pages import ServiceForm
from meshmgmt.adminsite.site import page
from meshmgmt.adminsite.tokens import SecretPages
from meshmgmt.core.errors import FieldError, ServiceError
from meshmgmt.delivery.feeds import newest
from meshmgmt.delivery.models import CONFIGURED, DeadLetter, Subscription
from meshmgmt.delivery.room import DeliveryStateFilter
from meshmgmt.delivery.rules import TARGETS, masked
from meshmgmt.delivery.selectors import state_row
from meshmgmt.delivery.senders.webhook import message, talk_with
from meshmgmt.delivery.services import (
    subscription_create,
    subscription_delete,
    subscription_replay,
    subscription_replay_stop,
    subscription_secret,
    subscription_test,
    subscription_tried,
    subscription_update,
)

_CALLED: Final = [
    ("webhook", "Webhook over HTTPS, signed"),
    ("syslog", "Syslog (RFC 5424) over TCP or TLS"),
    ("file", "File of NDJSON on the host of housekeeping"),
]
"""What the types of targets are."""
_STREAMS: Final = {
    "audit": ("activity_code", "activities"),
    "network-traffic": ("type", "flows"),
    "proxy": ("status", "answers"),
}
"""By stream: the filter that is chosen here, and the field that chooses."""
_FIXED: Final = ("stream", "type")


def _families() -> list[tuple[str, str]]:
    """Return patterns of activities, a family each, with what they are about."""
    names = sorted({code.partition(".")[0] for code in LABELS})
    return [(f"{name}.*", name.replace("_", " ")) for name in names]


class SubscriptionForm(ServiceForm):
    """A subscription; stream and kind of target are chosen once."""

    plain = ""

    name = forms.CharField(required=False, strip=False)
    activities = forms.MultipleChoiceField(
        label="What is sent",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        choices=_families,
        help_text="Changes of these; everything, unless some are chosen.",
    )
    flows = forms.ChoiceField(
        label="What is sent",
        required=False,
        widget=forms.RadioSelect,
        choices=[
            ("", "all flows"),
            *((word, shown_word(word).lower()) for word in TYPES),
        ],
    )
    answers = forms.ChoiceField(
        label="What is sent",
        required=False,
        widget=forms.RadioSelect,
        choices=[("", "all"), *((w, shown_word(w)) for w in ("success", "failed"))],
    )
    type = forms.ChoiceField(label="Target", choices=_CALLED)
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
        parameter, field = _STREAMS[self.instance.stream]
        stored = self.instance.filters.get(parameter, [])
        chosen = [stored] if isinstance(stored, str) else stored
        several = field == "activities"
        self.initial.update(self.instance.target)
        self.initial[field] = chosen if several else "".join(chosen[:1])
        choices: Any = self.fields[field]
        known = dict(choices.choices)
        # Narrower ones come from the API; they stay unless somebody takes them away.
        choices.choices = [*known.items(), *((x, x) for x in chosen if x not in known)]
        for name in _FIXED:
            if name in self.fields:
                self.fields[name].disabled = True

    def _filters(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return the chosen filter, beside those that only the API knows."""
        parameter, field = _STREAMS[data["stream"]]
        chosen = data[field]
        wanted = chosen if isinstance(chosen, list) else [chosen] * bool(chosen)
        kept = dict(self.instance.filters)
        kept.pop(parameter, None)
        return {**kept, parameter: wanted} if wanted else kept

    def apply(self, data: dict[str, Any]) -> Subscription:
        """Create the subscription and keep its secret for one page, or change it."""
        names = ("type", *TARGETS[data["type"]])
        own = {
            "target": {name: data[name] for name in names if data.get(name)},
            "filters": self._filters(data),
        }
        facts = own | {name: data[name] for name in CONFIGURED if name not in own}
        if not self.adding:
            return subscription_update(subscription_id=self.instance.pk, changes=facts)
        made, self.plain = subscription_create(**facts)
        return made

    def show(self, error: ServiceError) -> None:
        """Show each fault at the input of its field."""
        super().show(ServiceError(error.message, map(_at_input, error.errors)))


def _at_input(fault: FieldError) -> FieldError:
    place, _, name = fault.field.partition(".")
    return replace(fault, field=name if place == "target" else place)


def _preview(subscription: Subscription) -> SafeString | None:
    """Return the newest event as it would be sent, None when there is none."""
    events = newest(subscription)
    if not events:
        return None
    is_webhook = subscription.target.get("type") == "webhook"
    kind = f"{subscription.stream}.events"
    body = message(kind, events) if is_webhook else events[0].body
    return json_block(orjson.loads(body))


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


def _chosen(request: HttpRequest, obj: Subscription | None) -> tuple[str, str]:
    """Return the stream and the type of target that a page is about."""
    if obj is not None:
        return obj.stream, str(obj.target.get("type"))
    asked = request.POST or request.GET
    stream, kind = asked.get("stream", ""), asked.get("type", "")
    return (
        stream if stream in _STREAMS else "audit",
        kind if kind in TARGETS else "webhook",
    )


def _others(
    request: HttpRequest, name: str, value: str, choices: list[tuple[str, str]]
) -> SafeString:
    """Return links to the same page with another choice."""
    here = Here(request.GET)
    links = ((here.with_(**{name: key}), text) for key, text in choices if key != value)
    return format_html("Or: {}", format_html_join(", ", '<a href="{}">{}</a>', links))


@admin.register(Subscription)
class SubscriptionAdmin(SecretPages):
    """Who is sent the events of a stream."""

    form = SubscriptionForm
    change_form_template = "admin/delivery/subscription.html"
    list_display = ["name", "stream", "kind", "state", "last_success", "last_error"]
    list_filter = [DeliveryStateFilter, "stream"]
    search_fields = ["name", "=id"]
    readonly_fields = [
        *("id", "state", "last_success", "failures", "next_attempt", "last_error"),
        "created_at",
    ]
    bulk = SWITCH

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
        talk = None
        if "now" in request.POST and subscription.sealed_secret:
            last = newest(subscription)  # before the trail tells of this
            subscription_tried(subscription_id=pk)
            talk = talk_with(subscription, last)
        elif request.method == "POST" and self._done(request, pk, form):
            return redirect("admin:delivery_sending", pk)
        facts = {
            "subtitle": subscription.name,
            "subscription": subscription,
            "state": state_row(subscription),
            "preview": _preview(subscription),
            "talk": talk,
            "form": form if may_change else None,
            "media": self.media,
        }
        return page(request, "admin/delivery/sending.html", "Sending", facts)

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
        elif "stop" in request.POST:
            subscription_replay_stop(subscription_id=pk)
            said = "Nothing more is sent again."
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
        stream, kind = _chosen(request, obj)
        target = ("type", *TARGETS[kind]) if may_change else ("target_shown",)
        sent = _STREAMS[stream][1] if may_change else "filters_shown"
        wanted = ["stream", sent, *target, "name", "enabled"]
        facts: list[Any] = [(None, {"fields": wanted})]
        if obj is not None:
            facts.append(("Delivery", {"fields": self.readonly_fields}))
        return facts

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        """Return the form of the chosen stream and target, with links to the others."""
        form = super().get_form(request, obj, change, **kwargs)
        if obj is None:
            for name, value in zip(_FIXED, _chosen(request, obj), strict=True):
                # They belong to the class, so to all requests.
                field = form.base_fields[name] = deepcopy(form.base_fields[name])
                field.choices = [one for one in field.choices if one[0]]
                field.help_text = _others(request, name, value, field.choices)
                field.choices = [one for one in field.choices if one[0] == value]
        return form

    @admin.display(description="what is sent")
    def filters_shown(self, subscription: Subscription) -> str:
        """The filters, for those who may only look."""
        return urlencode(subscription.filters, doseq=True, safe="*") or "everything"

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

    def set_enabled(self, instance: Any, *, enabled: bool) -> None:
        subscription_update(subscription_id=instance.pk, changes={"enabled": enabled})

    def delete_model(self, request: HttpRequest, obj: Subscription) -> None:
        """Delete a subscription with its dead letters."""
        subscription_delete(subscription_id=obj.pk)


@admin.register(DeadLetter)
class DeadLetterAdmin(ReadOnlyAdmin):
    """Events that their receiver refused for good, to look at."""

    list_display = ["event_id", "subscription", "event_time", "error", "created_at"]
    list_filter = ["subscription"]
    list_select_related = ["subscription"]
    search_fields = ["event_id", "error"]
    ordering = ["-id"]
