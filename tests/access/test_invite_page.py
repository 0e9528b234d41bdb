"""The page that an invite's link opens."""

import datetime as dt
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.test import Client

from meshmgmt.access.models import Invite, UserAutoGroup
from meshmgmt.access.services.enrolment import invite_create, invites
from meshmgmt.accounts.models import User
from meshmgmt.core import clock
from meshmgmt.core.context import Actor, scope
from meshmgmt.core.orderedlinks import member_keys
from tests.factories import Trail, group
from tests.logscan import LogScan
from tests.people import person

pytestmark = pytest.mark.django_db

STRONG = "Correct-Horse-1"
CHOSEN = {"name": "Ann", "password": STRONG, "password_again": STRONG}


def invite(role: str = "auditor", **more: Any) -> Invite:
    person_asked = {"email": "ann@mesh.dev", "name": "A. Nonym", "role": role, **more}
    ada = person("owner", name="Ada")
    with scope(actor=Actor(ada.pk, ada.name, ada.email)):
        return invite_create(by=ada, **person_asked)


def page_of(made: Invite) -> str:
    return f"/invite/{made.token}"


def test_page_says_who_invited_and_asks_for_name_and_password():
    page = Client().get(page_of(invite()))
    text = page.content.decode()
    assert page.status_code == 200
    assert "<bdi>Ada</bdi> invited you" in text
    assert 'value="ann@mesh.dev"' in text
    assert 'value="A. Nonym"' in text
    assert text.count('autocomplete="new-password"') == 2


def test_who_joins_can_sign_in_under_the_name_they_chose():
    team = group("team")
    made = invite(auto_groups=[team.pk])
    browser, trail = Client(enforce_csrf_checks=True), Trail()
    browser.get(page_of(made))
    sent = CHOSEN | {"csrfmiddlewaretoken": browser.cookies["csrftoken"].value}

    joined = browser.post(page_of(made), sent)

    assert joined["Location"] == "/admin/login/"
    assert "Welcome, Ann" in browser.get("/admin/login/").content.decode()
    ann = User.objects.with_email("ann@mesh.dev").get()
    assert (ann.name, ann.role) == ("Ann", "auditor")
    assert member_keys(UserAutoGroup, ann) == [team.pk]
    accepted = trail.events[trail.codes.index("user.invite.link.accept")]
    assert accepted.meta == {"email": "ann@mesh.dev", "username": "Ann"}
    signed_in = Client().post(
        "/admin/login/?next=/admin/", {"username": ann.email, "password": STRONG}
    )
    assert signed_in["Location"] == "/admin/"


def test_who_may_not_enter_the_admin_site_is_not_led_there():
    joined = Client().post(page_of(invite("user")), CHOSEN)
    assert joined.status_code == 200
    text = joined.content.decode()
    assert "Your account is ready. There is nothing here for the role user" in text
    assert "you sign in on your machine" in text


@pytest.mark.parametrize(
    ("changes", "status", "message"),
    [
        ({"password": "x", "password_again": "x"}, 422, "8 to 128 characters"),
        ({"password_again": "other"}, 200, "The two passwords differ"),
        ({"name": ""}, 200, "This field is required"),
        ({"name": "n" * 300}, 422, "at most 255"),
    ],
)
def test_mistakes_are_shown_and_the_link_stays_good(
    changes: dict[str, str], status: int, message: str
):
    made, trail = invite(), Trail()
    answer = Client().post(page_of(made), CHOSEN | changes)
    assert (answer.status_code, trail.codes) == (status, [])
    assert message in answer.content.decode()
    assert Client().post(page_of(made), CHOSEN).status_code == 302


def test_address_taken_meanwhile_is_said():
    made = invite()
    person("user", email="ANN@mesh.dev")
    answer = Client().post(page_of(made), CHOSEN)
    assert answer.status_code == 409
    assert "another user has this e-mail" in answer.content.decode().lower()


def test_expired_link_is_over():
    made = invite()
    with clock.set_to(made.expires_at + dt.timedelta(seconds=1)):
        for answer in (
            Client().get(page_of(made)),
            Client().post(page_of(made), CHOSEN),
        ):
            assert answer.status_code == 410
            assert "has expired" in answer.content.decode()
    assert not User.objects.with_email("ann@mesh.dev").exists()


def test_used_and_unknown_links_say_what_to_do():
    used, gone = invite(), f"/invite/mpi_{'x' * 36}"
    Client().post(page_of(used), CHOSEN)
    for path in (page_of(used), gone):
        answer = Client().get(path)
        assert answer.status_code == 404
        assert "was used already" in answer.content.decode()
        assert answer["Content-Type"].startswith("text/html")


def test_guessing_is_slow_and_an_open_link_is_no_guess():
    made = invite()
    for _ in range(7):
        assert Client().get(page_of(made)).status_code == 200
    guesses = [
        Client().get(f"/invite/mpi_{n}", headers={"Accept": "text/html"})
        for n in range(6)
    ]
    assert [guess.status_code for guess in guesses] == [404] * 5 + [429]
    assert "Please wait" in guesses[5].content.decode()
    assert int(guesses[5]["Retry-After"]) > 0


def test_secret_is_told_to_nobody(log_scan: LogScan):
    made = invite()
    invites.delete(made.pk)
    for answer in (Client().get(page_of(invite())), Client().get(page_of(made))):
        assert answer["Referrer-Policy"] == "strict-origin"
        assert "no-store" in answer["Cache-Control"]
    assert log_scan.records
    assert not [line for line in log_scan.lines if made.token in line]
    assert not list(get_messages(answer.wsgi_request))
