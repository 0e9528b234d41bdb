"""The admin's page that tries a subscription out and sends events again."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path

from events.api.queries import InstantField
from meshmgmt.core import clock
from meshmgmt.core.errors import ServiceError
from meshmgmt.core.roles import Operation, allowed
from meshmgmt.delivery.models import Subscription
from meshmgmt.delivery.selectors import state_row
from meshmgmt.delivery.services import subscription_replay, subscription_test


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


def urls() -> list[URLPattern]:
    """Return the path of the page."""
    view = admin.site.admin_view(sending_page)
    return [path("<str:subscription_id>/sending/", view, name="delivery_sending")]


def sending_page(request: HttpRequest, subscription_id: str) -> HttpResponse:
    """Show how the sending goes; take what is to be sent."""
    wanted = Operation.UPDATE if request.method == "POST" else Operation.READ
    if not _may(request, wanted):
        raise PermissionDenied
    subscription = get_object_or_404(Subscription, pk=subscription_id)
    form = ReplayForm(request.POST if "replay" in request.POST else None)
    if request.method == "POST" and _done(request, subscription, form):
        return redirect("admin:delivery_sending", subscription.pk)
    facts: dict[str, Any] = {
        **admin.site.each_context(request),
        "title": f"Sending to {subscription.name}",
        "subscription": subscription,
        "state": state_row(subscription),
        "form": form if _may(request, Operation.UPDATE) else None,
        "now": clock.now(),
    }
    return TemplateResponse(request, "admin/delivery/sending.html", facts)


def _may(request: HttpRequest, operation: Operation) -> bool:
    return allowed(getattr(request.user, "role", ""), "events", operation)


def _done(request: HttpRequest, subscription: Subscription, form: ReplayForm) -> bool:
    """Do what was asked for; return False where the form is to be shown again."""
    if "test" in request.POST:
        subscription_test(subscription_id=subscription.pk)
        messages.success(request, "A test event is sent within seconds.")
        return True
    if not form.is_valid():
        return False
    try:
        subscription_replay(
            subscription_id=subscription.pk,
            start=form.cleaned_data["start"],
            end=form.cleaned_data["until"],
        )
    except ServiceError as error:
        form.add_error("until", error.message)
        return False
    messages.success(request, "These events are sent again, before any new ones.")
    return True
