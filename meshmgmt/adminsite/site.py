"""The admin site, with our menu in place of Django's list of applications, its pages."""

from collections.abc import Iterable, Iterator
from typing import Any, cast

from django.contrib import admin
from django.contrib.admin import AdminSite
from django.contrib.auth.views import PasswordChangeView
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.functional import SimpleLazyObject

from meshmgmt.adminsite.menu import MENU, Entry, is_model, place_of
from meshmgmt.api.permissions import may


class Site(AdminSite):
    """Pages of all rooms."""

    enable_nav_sidebar = False  # the menu of the frame stands in for it
    password_change_form: Any = None

    def get_urls(self) -> list[Any]:
        """Add the search over everything."""
        from meshmgmt.adminsite import search  # noqa: PLC0415 - needs the site

        view = self.admin_view(search.page)
        return [path("search/", view, name="search"), *super().get_urls()]

    def password_change(self, request: HttpRequest, extra_context: Any = None) -> Any:
        """Change the viewer's password by a form with rules of ours."""
        request.current_app = self.name
        view = PasswordChangeView.as_view(
            form_class=self.password_change_form,
            success_url=reverse("admin:password_change_done"),
            extra_context=self.each_context(request) | (extra_context or {}),
        )
        return view(request)

    def get_app_list(
        self, request: HttpRequest, app_label: str | None = None
    ) -> list[Any]:
        """Return the sections that the viewer may see; of one application, its models."""
        if app_label is not None:
            return super().get_app_list(request, app_label)
        # The menu of a page is kept by role and place: see its template.
        return cast("list[Any]", SimpleLazyObject(lambda: self._sections(request)))

    def _sections(self, request: HttpRequest) -> list[Any]:
        # Django has looked at the permissions for each model here.
        found = super().get_app_list(request)
        models = {
            model["model"]._meta.label_lower: model
            for app in found
            for model in app["models"]
        }
        sections = (
            (name, [*_lines(request, entries, models)])
            for name, entries in MENU.items()
        )
        return [_section(name, lines) for name, lines in sections if lines]

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        """Add where in the menu the page is."""
        context: dict[str, Any] = super().each_context(request)
        if (here := _place(request)) is not None:
            section, entry = here
            context["place"] = {
                "section": section,
                "entry": entry.name,
                "target": entry.target,
                "url": _url(entry),
            }
        return context


def page(
    request: HttpRequest, template: str, title: str, facts: dict[str, Any]
) -> TemplateResponse:
    """Return a page of our own in the frame of the site."""
    context = {**admin.site.each_context(request), "title": title, **facts}
    return TemplateResponse(request, template, context)


def _place(request: HttpRequest) -> tuple[str, Entry] | None:
    match = request.resolver_match
    return None if match is None else place_of(match.view_name)


def _section(name: str, lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a section as templates of Django expect an application."""
    url = lines[0]["admin_url"]
    return {"name": name, "app_label": name.lower(), "app_url": url, "models": lines}


def _lines(
    request: HttpRequest, entries: Iterable[Entry], models: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield the entries that the viewer may see, as templates expect models."""
    here = _place(request)
    for entry in entries:
        of_model = is_model(entry.target)
        line = models.get(entry.target) if of_model else _page(request, entry)
        if line is not None:
            current = here is not None and here[1] is entry
            yield {**line, "name": entry.name, "current": current}


def _page(request: HttpRequest, entry: Entry) -> dict[str, Any] | None:
    if entry.module and not may(request, entry.module):
        return None
    name = entry.target.rpartition(":")[2]
    return {"object_name": name, "admin_url": _url(entry), "view_only": True}


def _url(entry: Entry) -> str:
    target = entry.target
    if is_model(target):
        target = f"admin:{target.replace('.', '_')}_changelist"
    return reverse(target)
