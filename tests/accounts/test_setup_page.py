"""`/setup` in a browser."""

from typing import Any

import pytest
from django.test import Client

from meshmgmt.accounts.models import User
from meshmgmt.accounts.setup.owner import setup_code
from tests.factories import Trail
from tests.people import person

pytestmark = pytest.mark.django_db

OWNER = {
    "email": "ann@mesh.dev",
    "name": "Ann",
    "password": "correct horse",
    "password_again": "correct horse",
}
WEAK = {"password": "password", "password_again": "password"}


@pytest.fixture
def browser() -> Client:
    """A browser that sends the token of the form, as the real ones do."""
    return Client(enforce_csrf_checks=True)


def send(browser: Client, **changes: str) -> Any:
    """Open the page, fill it in and send it."""
    browser.get("/setup")
    token = browser.cookies["csrftoken"].value
    form = OWNER | {"setup_code": setup_code(), "csrfmiddlewaretoken": token} | changes
    return browser.post("/setup", form)


def test_sign_in_page_leads_to_it_while_there_is_no_owner(browser: Client):
    assert b'href="/setup"' in browser.get("/admin/login/").content
    shown = browser.get("/setup").content
    assert b"journalctl" in shown
    assert setup_code().encode() not in shown
    person("owner")
    assert b'href="/setup"' not in browser.get("/admin/login/").content


def test_who_has_the_code_becomes_owner_and_is_signed_in(browser: Client):
    trail = Trail()
    answer = send(browser)
    assert (answer.status_code, answer["Location"]) == (302, "/admin/")
    assert browser.get("/admin/").status_code == 200
    owner = User.objects.get()
    assert (owner.role, owner.email, owner.name) == ("owner", "ann@mesh.dev", "Ann")
    assert owner.check_password("correct horse")
    assert trail.codes[0] == "user.create"


def test_code_is_asked_for_on_the_same_host_too(browser: Client):
    answer = send(browser, setup_code="A" * 16)
    assert answer.status_code == 403
    assert b"not the code" in answer.content
    assert not User.objects.exists()


def test_guessing_is_slow(browser: Client):
    answers = [send(browser, setup_code=f"A{number}") for number in range(6)]
    assert [answer.status_code for answer in answers] == [403] * 5 + [429]
    assert b"Too many tries" in answers[5].content
    assert not User.objects.exists()


@pytest.mark.parametrize(
    ("changes", "status", "message"),
    [
        ({"email": "ann"}, 422, b"is not an e-mail address"),
        (WEAK, 422, b"too common"),
        ({"password_again": "other"}, 200, b"The two passwords differ"),
        ({"name": ""}, 200, b"This field is required"),
    ],
)
def test_mistakes_are_shown_beside_their_fields(
    browser: Client, changes: dict[str, str], status: int, message: bytes
):
    answer = send(browser, **changes)
    assert answer.status_code == status
    assert message in answer.content
    assert not User.objects.exists()


def test_page_is_closed_once_there_is_an_owner(browser: Client):
    person("owner")
    for answer in (browser.get("/setup"), Client().post("/setup", OWNER)):
        assert answer["Location"] == "/admin/login/"
    assert b"Setup already completed" in browser.get("/admin/login/").content
    assert User.objects.count() == 1


def test_form_of_another_site_is_refused(browser: Client):
    assert (
        browser.post("/setup", OWNER | {"setup_code": setup_code()}).status_code == 403
    )
    assert not User.objects.exists()
