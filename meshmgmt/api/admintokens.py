"""Pages of tokens and other secrets: shown once, found by a paste, revoked."""

import hashlib
import re
from typing import Any, Final

from django.contrib import admin, messages
from django.contrib.admin.actions import delete_selected
from django.contrib.admin.utils import model_ngettext
from django.contrib.admin.views.main import SEARCH_VAR
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html

from meshmgmt.api.admin import ServiceAdmin

_SECRET: Final = re.compile(
    r"(?:mp[a-z]|nbx)_\w{16,}|[0-9A-F]{8}(?:-[0-9A-F]{4}){3}-[0-9A-F]{12}"
)
"""What tokens, links and, in capitals, setup keys have in them."""


class SecretPages(ServiceAdmin):
    """Pages whose new object has a secret, shown by one page with a button to copy it.

    With a `hash_column`, which has the SHA-256 of the secret, the list is searched by
    POST, and a pasted secret leads to its object: it belongs into no address.
    """

    hash_column = ""

    class Media:
        js = ["api/copy.js"]

    def show_secret(self, request: HttpRequest, what: str, secret: str) -> None:
        """Show the secret on the next page alone."""
        text = format_html(
            '{}, shown only now: <code>{}</code> <button type="button" class="button"'
            ' data-copy="{}">Copy</button>',
            *(what, secret, secret),
        )
        self.message_user(request, text, messages.WARNING)

    def changelist_view(
        self, request: HttpRequest, extra_context: Any = None
    ) -> HttpResponse:
        """Show the list; a pasted secret leads to what has it instead."""
        if not self.hash_column:
            return super().changelist_view(request, extra_context)
        sent = request.POST if _is_search(request) else request.GET
        typed = sent.get(SEARCH_VAR, "")
        if secret := _SECRET.search(typed) or _SECRET.search(typed.upper()):
            return self._found(request, secret[0])
        if _is_search(request):
            query = request.POST.copy()
            query.pop("csrfmiddlewaretoken", None)
            return HttpResponseRedirect(f"{request.path}?{query.urlencode()}")
        return super().changelist_view(request, extra_context)

    def _found(self, request: HttpRequest, secret: str) -> HttpResponse:
        stored = {self.hash_column: hashlib.sha256(secret.encode()).hexdigest()}
        found = self.get_queryset(request).filter(**stored).first()
        if found is not None and self.has_view_permission(request, found):
            name = f"admin:{self.opts.app_label}_{self.opts.model_name}_change"
            return HttpResponseRedirect(reverse(name, args=[found.pk]))
        text = f"No {self.opts.verbose_name} has the secret that you pasted."
        self.message_user(request, text, messages.INFO)
        return HttpResponseRedirect(request.path)


class TokenPages(SecretPages):
    """Pages of tokens, which are revoked rather than deleted.

    `submit_line.html` in the templates of the model carries the word too.
    """

    hash_column = "hash"
    search_help_text = "A name, or a pasted secret, which leads to its token."
    actions = ["delete_selected"]
    delete_confirmation_template = "admin/revoke_confirmation.html"
    delete_selected_confirmation_template = "admin/revoke_selected_confirmation.html"

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Refuse: a token is made and revoked, never changed."""
        return False

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: Any = None
    ) -> HttpResponse:
        """Revoke one token."""
        titled = {"title": "Revoke", **(extra_context or {})}
        return super().delete_view(request, object_id, titled)

    def response_delete(
        self, request: HttpRequest, obj_display: str, obj_id: Any
    ) -> HttpResponse:
        """Say that the token is good no more."""
        text = f"The {self.opts.verbose_name} “{obj_display}” was revoked."
        self.message_user(request, text, messages.SUCCESS)
        name = f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist"
        return HttpResponseRedirect(reverse(name))

    @admin.action(
        description="Revoke selected %(verbose_name_plural)s", permissions=["delete"]
    )
    def delete_selected(
        self, request: HttpRequest, tokens: QuerySet[Any]
    ) -> TemplateResponse | None:
        """Ask, then revoke all or none."""
        if not request.POST.get("post"):
            page: Any = delete_selected(self, request, tokens)
            page.context_data["title"] = "Revoke"
            return page  # type: ignore[no-any-return]
        count = len(tokens)
        self.delete_queryset(request, tokens)
        text = f"{count} {model_ngettext(self.opts, count)} revoked."
        self.message_user(request, text, messages.SUCCESS)
        return None


def _is_search(request: HttpRequest) -> bool:
    return request.method == "POST" and SEARCH_VAR in request.POST
