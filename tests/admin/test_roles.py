"""Every page of the admin site for every role, against the matrix written by hand."""

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import NoReverseMatch, reverse

from meshmgmt.adminsite.menu import MENU, is_model
from tests.accounts.permission_matrix import (
    ADMIN_MODELS,
    ADMIN_PAGES,
    ANYBODY,
    EXPECTED,
    OWN,
    ROLES,
)
from tests.admin.signed_in import client_of
from tests.people import person

pytestmark = pytest.mark.django_db

NOBODY = "nobody"
STAFF = ROLES[:4]
MODELS = [line.split() for line in ADMIN_MODELS.strip().splitlines()]
PAGES = [line.split() for line in ADMIN_PAGES.strip().splitlines()]
NOT_THERE = "no-such-id"
"""Who may see or delete an object is led home from one that is gone, others are refused."""


def may(role: str, module: str, letter: str) -> bool:
    """Tell what the matrix says; everybody manages tokens of their own."""
    if module in {OWN, ANYBODY}:
        return True
    return module != NOBODY and letter in EXPECTED[module][ROLES.index(role)]


def page_of(name: str) -> str:
    """Return a path by its name, of an object that is not there where it takes one."""
    try:
        return reverse(name)
    except NoReverseMatch:
        return reverse(name, args=[NOT_THERE])


def test_the_tables_name_every_model_and_page():
    registered = {model._meta.label_lower for model in admin.site._registry}
    assert {line[0] for line in MODELS} == registered
    targets = {
        target
        for entries in MENU.values()
        for entry in entries
        for target in (entry.target, *entry.inner)
    }
    assert {line[0] for line in PAGES} == {
        target for target in targets if not is_model(target)
    } - {"docs"}


@pytest.mark.slow
@pytest.mark.parametrize("role", STAFF)
def test_pages_of_models_open_to_whom_the_matrix_says(role: str):
    client = client_of(person(role))

    def status(label: str, kind: str, *args: str) -> int:
        path = reverse(f"admin:{label.replace('.', '_')}_{kind}", args=args)
        answer = client.get(path)
        if kind == "changelist" and answer.status_code == 302:  # to the only row
            answer = client.get(answer["Location"])
        return answer.status_code

    otherwise = []
    for label, module, pages in MODELS:
        for letter, good, kind, *args in (
            ("R", 200, "changelist"),
            ("C", 200, "add"),
            ("R", 302, "change", NOT_THERE),
            ("D", 302, "delete", NOT_THERE),
        ):
            is_open = letter in pages and may(role, module, letter)
            answer = status(label, kind, *args)
            if answer != (good if is_open else 403):
                otherwise.append((label, kind, answer))
        # The trail asks who may read it.
        assert status(label, "history", NOT_THERE) == 302, label
    assert otherwise == []


@pytest.mark.parametrize("role", STAFF)
def test_other_pages_open_to_whom_the_matrix_says(role: str):
    client = client_of(person(role))
    otherwise = []
    for page in PAGES:
        name, module, letter = (*page, "R")[:3]
        answer = client.get(page_of(name)).status_code
        # 404: what is asked about is not there; 302: a form that is only sent
        if answer not in ({200, 302, 404} if may(role, module, letter) else {403}):
            otherwise.append((name, answer))
    assert otherwise == []


@pytest.mark.parametrize("who", ["user", None])
def test_others_are_led_to_the_sign_in_from_every_page(who: str | None):
    visitor = Client() if who is None else client_of(person(who))
    kinds = {
        "changelist": (),
        "add": (),
        "change": (NOT_THERE,),
        "delete": (NOT_THERE,),
    }
    models = [
        reverse(f"admin:{label.replace('.', '_')}_{kind}", args=args)
        for label, _, _ in MODELS
        for kind, args in kinds.items()
    ]
    for path in [*models, *(page_of(name) for name, *_ in PAGES)]:
        answer = visitor.get(path)
        assert answer.status_code == 302, path
        assert answer["Location"] == f"/admin/login/?next={path}"
