"""Pages of tokens and other secrets: shown once, found by a paste, revoked."""

import hashlib
import re
from typing import Any, Final

from django.contrib import admin, messages
from django.contrib.admin.actions import delete_selected
from django.contrib.admin.utils import model_ngettext, unquote
from django.contrib.admin.views.main import SEARCH_VAR
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from meshmgmt.adminsite import home
from meshmgmt.adminsite.look import badge
from meshmgmt.adminsite.pages import ServiceAdmin
from meshmgmt.adminsite.site import page
from meshmgmt.core import clock

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
    rotates = False

    class Media:
        js = ["adminsite/copy.js"]

    def get_urls(self) -> list[Any]:
        """Add the page that makes another secret."""
        rotate = self.object_page("rotate", self.rotate_view)
        return [*([rotate] if self.rotates else []), *super().get_urls()]

    def verbs(self, request: HttpRequest) -> dict[str, str]:
        """Add the rotation to what may be done with one object."""
        rotate = {"rotate": "rotate"} if self.may_rotate(request) else {}
        return {**super().verbs(request), **rotate}

    def may_rotate(self, request: HttpRequest, instance: Any = None) -> bool:
        """Tell whether the viewer may make a secret in place of any, or of this one."""
        may_end = self.has_delete_permission(request)
        return self.rotates and may_end and self.has_add_permission(request)

    def render_change_form(
        self, request: HttpRequest, context: Any, *args: Any, **facts: Any
    ) -> HttpResponse:
        """Show the object, with a way to its rotation."""
        context["may_rotate"] = self.may_rotate(request, context["original"])
        return super().render_change_form(request, context, *args, **facts)

    @admin.display(description="state", ordering="expires_at")
    def valid(self, instance: Any) -> SafeString:
        """Whether the secret is good, as far as time tells."""
        end = instance.expires_at
        return badge("expired" if end is not None and end <= clock.now() else "valid")

    def rotate(self, request: HttpRequest, instance: Any, *, at_once: bool) -> str:
        """Return a new secret with the rights of the old. Raises ServiceError."""
        raise NotImplementedError

    def rotate_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask when the old secret is to end; show the new one on the next page."""
        instance = self.get_object(request, unquote(object_id))
        if instance is None or not self.may_rotate(request):
            raise PermissionDenied

        def view() -> HttpResponse:
            if request.method == "POST":
                at_once = request.POST.get("ends") == "now"
                secret = self.rotate(request, instance, at_once=at_once)
                self.show_secret(request, f"The new secret of {instance}", secret)
                return HttpResponseRedirect(home.list_url(self.model, {}))
            facts = {
                "subtitle": str(instance),
                "opts": self.opts,
                "object": instance,
                "back": home.object_url(instance),
            }
            return page(
                request, "admin/rotate.html", f"Rotate {self.opts.verbose_name}", facts
            )

        return self._refusals_as_messages(request, view)

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
        if secret := secret_in(typed):
            return self._found(request, secret)
        if _is_search(request):
            # What is no secret may stand in the address, where filters and pages are.
            query = request.POST.copy()
            query.pop("csrfmiddlewaretoken", None)
            return HttpResponseRedirect(f"{request.path}?{query.urlencode()}")
        return super().changelist_view(request, extra_context)

    def _found(self, request: HttpRequest, secret: str) -> HttpResponse:
        if url := self.url_of(request, secret):
            return HttpResponseRedirect(url)
        text = f"No {self.opts.verbose_name} has the secret that you pasted."
        self.message_user(request, text, messages.INFO)
        return HttpResponseRedirect(request.path)

    def url_of(self, request: HttpRequest, secret: str) -> str:
        """Return the address of what has a secret; "" for none that may be seen."""
        if not self.hash_column:
            return ""
        stored = {self.hash_column: hashlib.sha256(secret.encode()).hexdigest()}
        found = self.get_queryset(request).filter(**stored).first()
        if found is None or not self.has_view_permission(request, found):
            return ""
        return home.object_url(found)


class TokenPages(SecretPages):
    """Pages of tokens, which are revoked rather than deleted.

    `submit_line.html` in the templates of the model carries the word too. A new one has its
    secret as `plain`.
    """

    hash_column = "hash"
    rotates = True
    search_help_text = "A name, or a pasted secret, which leads to its token."
    actions = ["delete_selected"]
    delete_confirmation_template = "admin/revoke_confirmation.html"
    delete_selected_confirmation_template = "admin/revoke_selected_confirmation.html"

    def verbs(self, request: HttpRequest) -> dict[str, str]:
        """Return what the pages do under the word that tokens have for it."""
        verbs = super().verbs(request)
        if "delete" in verbs:
            verbs["revoke"] = verbs.pop("delete")
        return verbs

    def save_model(
        self, request: HttpRequest, obj: Any, form: Any, change: Any
    ) -> None:
        """Show the token made, this once."""
        self.show_secret(request, "The token", obj.plain)

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
        return HttpResponseRedirect(home.page_url(self.model, "changelist"))

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


def secret_in(text: str) -> str:
    """Return the token or key that a text has in it, "" without one."""
    # Setup keys are in capitals; people type them as they like.
    found = _SECRET.search(text) or _SECRET.search(text.upper())
    return found[0] if found else ""
