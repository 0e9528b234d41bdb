"""The menu of the admin site."""

import re
from typing import Any

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import URLResolver, get_resolver

from meshmgmt.adminsite.menu import MENU, is_model, place_of
from tests.admin.signed_in import client_of
from tests.factories import network, resource
from tests.people import person

pytestmark = pytest.mark.django_db

WITHOUT_A_PLACE = {
    *("admin:login", "admin:logout", "admin:password_change"),
    *("admin:password_change_done", "admin:autocomplete", "admin:jsi18n"),
    *("admin:view_on_site", "admin:app_list", "admin:None"),
}


def paths_of_the_site() -> set[str]:
    """Return the names of all paths under `admin/`."""

    def below(resolver: URLResolver, prefix: str, space: str) -> Any:
        for pattern in resolver.url_patterns:
            path = prefix + str(pattern.pattern)
            if isinstance(pattern, URLResolver):
                name = pattern.namespace
                yield from below(pattern, path, f"{name}:" if name else space)
            elif path.startswith("admin/"):
                yield f"{space}{pattern.name}"

    return set(below(get_resolver(), "", ""))


def shown(role: str) -> dict[str, list[str]]:
    page = client_of(person(role)).get("/admin/")
    sections = page.context["available_apps"]
    found = {s["name"]: [line["name"] for line in s["models"]] for s in sections}
    # What was made for one role is kept, and shown to no other.
    lines = re.findall(r"<a href=[^>]*>([^<]*)</a>", menu_of(page))
    assert lines == [line for names in found.values() for line in names]
    return found


def menu_of(page: Any) -> str:
    text: str = page.content.decode()
    return text.partition('<nav id="menu"')[2].partition("</nav>")[0]


def test_every_model_and_page_has_a_place_in_the_menu_or_inside_of_one():
    named = {
        target
        for entries in MENU.values()
        for entry in entries
        for target in (entry.target, *entry.inner)
    }
    models = {model._meta.label_lower for model in admin.site._registry}
    # No role has a permission on Django's groups.
    assert {target for target in named if is_model(target)} == models - {"auth.group"}
    lost = {name for name in paths_of_the_site() if place_of(name) is None}
    lost -= {name for name in lost if name.startswith("admin:auth_group_")}
    # The sign-in page stands before Django's own.
    assert lost - WITHOUT_A_PLACE == {"None"}


def test_sections_come_in_the_operators_words_and_order():
    everything = shown("owner")
    assert list(everything) == list(MENU)
    assert everything == {
        name: [entry.name for entry in entries] for name, entries in MENU.items()
    }


def test_a_page_is_shown_to_the_roles_that_may_read_it():
    assert "Metrics and checks" in shown("auditor")["System"]
    assert "Proxy tokens" not in shown("network_admin")["System"]


@pytest.mark.parametrize(
    ("path", "section", "current"),
    [
        ("/admin/", "Overview", "Overview"),
        ("/admin/inventory/peer/", "Peers", "Peers"),
        ("/admin/dns/zone/add/", "DNS", "Zones"),
        ("/admin/dns/record/", "DNS", "Zones"),
        ("/admin/dns/zone/explain/", "DNS", "Explain a look-up"),
        ("/admin/access/reach/", "Access", "Can A reach B?"),
        ("/admin/access/graph/", "Access", "Who reaches whom"),
        ("/admin/metrics/", "System", "Metrics and checks"),
    ],
)
def test_the_line_of_the_page_is_marked(
    client: Client, path: str, section: str, current: str
):
    page = client.get(path)
    marked = [
        (s["name"], line["name"])
        for s in page.context["available_apps"]
        for line in s["models"]
        if line["current"]
    ]
    assert marked == [(section, current)]
    assert menu_of(page).count('aria-current="page"') == 1


@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("/admin/inventory/peer/", "Peers"),
        ("/admin/inventory/peer/add/", "Add peer"),
        ("/admin/events/auditevent/", "Audit trail"),
        ("/admin/access/policyrule/", "Policy rules"),
    ],
)
def test_titles_say_what_a_page_shows(client: Client, path: str, title: str):
    page = client.get(path).content.decode()
    head = page.partition("<title>")[2].partition("</title>")[0]
    assert head.split("|")[0].strip() == title
    heading = page.partition("<h1>")[2].partition("</h1>")[0]
    assert heading.strip() == title


def test_networks_lead_to_what_is_in_them(client: Client):
    inside, _ = (resource(name, network=network(name)) for name in ("plant", "office"))
    page = client.get(f"/admin/inventory/network/{inside.network_id}/change/")
    link = f"/admin/inventory/networkresource/?network__id__exact={inside.network_id}"
    assert f'href="{link}"' in page.content.decode()
    listed = client.get(link).context["cl"].result_list
    assert [row.name for row in listed] == ["plant"]


def test_invites_are_made_from_the_list_of_users(client: Client):
    page = client.get("/admin/accounts/user/").content.decode()
    assert 'href="/admin/access/invite/add/"' in page
    page = client_of(person("auditor")).get("/admin/accounts/user/").content.decode()
    assert 'href="/admin/access/invite/"' in page
    assert 'href="/admin/access/invite/add/"' not in page
