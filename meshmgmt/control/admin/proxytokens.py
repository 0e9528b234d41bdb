"""Admin pages of proxy tokens."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from meshmgmt.accounts.services.tokens import token_rotate
from meshmgmt.adminsite.fields import DurationField
from meshmgmt.adminsite.filters import EndFilter
from meshmgmt.adminsite.pages import ServiceForm
from meshmgmt.adminsite.tokens import TokenPages
from meshmgmt.control.admin import netmap
from meshmgmt.control.models import ProxyToken
from meshmgmt.control.services.proxies import MAX_DAYS, proxy_tokens


class ProxyTokenForm(ServiceForm):
    """A new token; stored ones are never changed."""

    resource = proxy_tokens

    expires_in = DurationField(
        label="Life",
        unit=24 * 60 * 60,
        initial=365,
        help_text=f"0: for ever; at most {MAX_DAYS} days.",
    )


@admin.register(ProxyToken)
class ProxyTokenAdmin(TokenPages):
    """Tokens with which reverse proxies send their access logs."""

    form = ProxyTokenForm
    list_display = ["name", "created_at", "expires_at", "last_used", "valid"]
    list_filter = [EndFilter]
    search_fields = ["name", "=id"]
    new_fields = ["name", "expires_in"]
    fields = ["id", "name", "created_at", "expires_at", "last_used"]

    def get_urls(self) -> list[Any]:
        """Add the pages about one peer."""
        return [*netmap.urls(), *super().get_urls()]

    def rotate(
        self, request: HttpRequest, instance: ProxyToken, *, at_once: bool
    ) -> str:
        return str(token_rotate(proxy_tokens, instance.pk, at_once=at_once).plain)
