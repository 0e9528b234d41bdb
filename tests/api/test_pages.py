"""Pages outside of the admin site's own: errors, the landing page, what all promise."""

import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.db import DatabaseError, OperationalError, connection
from django.test import Client

import meshmgmt
from groups.models import Group
from meshmgmt.api.pages import CONTENT_SECURITY_POLICY, SESSION_ENDED
from tests.people import person

pytestmark = pytest.mark.django_db

BROWSER: Any = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
SECRET = "10.0.0.1"


@pytest.fixture
def browser() -> Client:
    return Client(headers=BROWSER, raise_request_exception=False)


@pytest.fixture
def strict() -> Client:
    """A browser that has to send the token of a form, as the real ones do."""
    return Client(headers=BROWSER, enforce_csrf_checks=True)


@pytest.mark.parametrize("by_tls", [True, False])
def test_cookies_that_came_by_tls_go_back_by_tls_alone(browser: Client, by_tls: bool):
    data = {"username": "bob@mesh.dev", "password": "correct horse"}
    person("owner", email=data["username"], password=data["password"])
    browser.get("/admin/login/", secure=by_tls)
    browser.post("/admin/login/", data, secure=by_tls)
    secure = {name: bool(browser.cookies[name]["secure"]) for name in browser.cookies}
    assert secure == {"csrftoken": by_tls, "sessionid": by_tls}


@pytest.fixture
def operator(browser: Client) -> Client:
    browser.force_login(person("owner", name="Ada"))
    return browser


def assert_page(answer: Any, status: int, *texts: str) -> None:
    assert answer.status_code == status
    assert answer["Content-Type"].startswith("text/html")
    assert answer["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
    page = answer.content.decode()
    assert "Mesh management" in page
    assert answer["X-Request-Id"] in page
    for text in texts:
        assert text in page


class TestWhoGetsAPage:
    @pytest.mark.parametrize("path", ["/nothing", "/admin/nothing/"])
    def test_browsers_see_a_page_for_an_unknown_path(self, operator: Client, path: str):
        assert_page(operator.get(path), 404, "Nothing is here")

    def test_the_api_answers_in_json_whoever_asks(self, browser: Client):
        answer = browser.get("/api/nothing")
        assert (answer.status_code, answer.json()["code"]) == (404, 404)

    def test_programs_get_json_outside_of_the_admin_site(self):
        assert Client().get("/nothing").json()["code"] == 404

    def test_the_admin_site_shows_pages_whatever_is_accepted(self, client: Client):
        assert_page(client.get("/admin/nothing/"), 404)


class TestErrors:
    def test_what_a_role_may_not_do(self, browser: Client):
        browser.force_login(person("auditor"))
        answer = browser.get("/admin/groups/group/add/")
        assert_page(answer, 403, "You may not do this", "Permission denied.")

    def test_method_that_a_page_does_not_have(self, browser: Client):
        answer = browser.post("/", {})
        assert_page(answer, 405, "does not work that way")
        assert answer["Allow"] == "GET, HEAD"

    def test_foreign_host(self, browser: Client):
        answer = browser.get("/", headers={"Host": "evil.company"})
        assert_page(answer, 400, "SVC_ALLOWED_HOSTS")

    def test_unforeseen_error_tells_nothing_of_the_inside(
        self, operator: Client, monkeypatch: pytest.MonkeyPatch
    ):
        def fail(*args: object) -> None:
            raise RuntimeError(SECRET)

        monkeypatch.setattr(Group.objects, "get_queryset", fail)
        monkeypatch.setattr(Group._default_manager, "get_queryset", fail)
        answer = operator.get("/admin/groups/group/")
        assert_page(answer, 500, "Something went wrong here", "it was logged")
        assert SECRET not in answer.content.decode()

    def test_names_are_escaped(self, operator: Client):
        answer = operator.get("/", headers={"Host": "<b>x"})
        assert_page(answer, 400)
        assert "<b>x" not in answer.content.decode()


@pytest.fixture
def away(operator: Client) -> Iterator[Client]:
    """A signed-in browser, and a database that cannot be reached."""

    def refuse(*args: object) -> None:
        raise OperationalError(f"connection refused to {SECRET}")

    with connection.execute_wrapper(refuse):
        with pytest.raises(DatabaseError):
            Session.objects.exists()
        yield operator


@pytest.mark.parametrize("path", ["/admin/", "/admin/groups/group/", "/"])
def test_database_that_is_away_is_a_page_of_its_own(away: Client, path: str):
    answer = away.get(path)
    assert_page(answer, 503, "Not available at this moment", "try again")
    assert answer["Retry-After"] == "1"
    assert SECRET not in answer.content.decode()


class TestForms:
    def sent(self, client: Client, **data: str) -> Any:
        return client.post("/admin/groups/group/add/?x=1", {"name": "team", **data})

    def test_an_ended_session_leads_to_the_sign_in_page_and_back(
        self, operator: Client
    ):
        Session.objects.all().delete()
        answer = self.sent(operator)
        there = "/admin/login/?next=%2Fadmin%2Fgroups%2Fgroup%2Fadd%2F%3Fx%3D1"
        assert (answer.status_code, answer["Location"]) == (302, there)
        assert SESSION_ENDED in operator.get(answer["Location"]).content.decode()
        assert not Group.objects.filter(name="team").exists()

    def test_who_lost_the_cookies_too_gets_the_same(self, strict: Client):
        answer = self.sent(strict)
        assert answer["Location"].startswith("/admin/login/?next=")
        assert SESSION_ENDED in strict.get(answer["Location"]).content.decode()

    def test_nobody_is_told_so_who_only_opens_a_page(self, browser: Client):
        answer = browser.get("/admin/groups/group/", follow=True)
        assert SESSION_ENDED not in answer.content.decode()

    def test_form_without_its_token_is_explained(self, strict: Client):
        strict.force_login(person("owner"))
        assert_page(self.sent(strict), 403, "This form is too old", "reload the page")
        assert not Group.objects.filter(name="team").exists()

    def test_sign_in_form_of_who_signed_in_elsewhere_leads_home(self, strict: Client):
        strict.force_login(person("owner"))
        answer = strict.post("/admin/login/", {"username": "x", "password": "y"})
        assert answer["Location"] == "/admin/"


@pytest.mark.parametrize(
    ("wanted", "led"),
    [
        ("/admin/groups/group/?q=a", "/admin/groups/group/?q=a"),
        ("https://evil.company/", "/admin/"),
        ("//evil.company/", "/admin/"),
        ("javascript:alert(1)", "/admin/"),
        ("", "/admin/"),
    ],
)
def test_sign_in_leads_to_pages_of_ours_alone(wanted: str, led: str):
    ann = person("admin", email="ann@mesh.dev", password="correct horse")
    sent = {"username": ann.email, "password": "correct horse", "next": wanted}
    assert Client().post("/admin/login/", sent)["Location"] == led


class TestFront:
    def test_people_find_everything_without_an_account(self, browser: Client):
        answer = browser.get("/")
        page = answer.content.decode()
        assert answer.status_code == 200
        for path in ("/admin/", "/api/docs", "/api/schema", "/health"):
            assert f'href="{path}"' in page
            assert browser.get(path).status_code in {200, 302}
        assert f"Version {meshmgmt.__version__}" not in page
        assert set(answer["Vary"].split(", ")) >= {"Accept", "Cookie"}

    def test_the_version_is_for_those_who_are_signed_in(self, operator: Client):
        assert f"Version {meshmgmt.__version__}" in operator.get("/").content.decode()
        assert '<a href="/">View site</a>' in operator.get("/admin/").content.decode()

    def test_programs_get_the_same_as_json(self):
        api = {"docs": "/api/docs", "schema": "/api/schema"}
        assert (
            Client().get("/").json() == {"admin": "/admin/", "health": "/health"} | api
        )

    @pytest.mark.parametrize(
        ("shown", "stranger", "member"), [("token", 0, 1), ("off", 0, 0)]
    )
    def test_documentation_is_shown_to_those_who_may_see_it(
        self, settings: Any, shown: str, stranger: int, member: int
    ):
        settings.SVC = replace(settings.SVC, api_docs=shown)
        client = Client(headers=BROWSER)
        assert client.get("/").content.count(b'"/api/docs"') == stranger
        client.force_login(person("owner"))
        assert client.get("/").content.count(b'"/api/docs"') == member

    def test_icon_is_a_static_file(self, browser: Client):
        answer: Any
        with closing(browser.get("/favicon.ico", follow=True)) as answer:
            assert answer["Content-Type"] == "image/svg+xml"
            assert b"<svg" in b"".join(answer.streaming_content)
        assert b"/static/api/favicon" in browser.get("/admin/login/").content


@pytest.mark.parametrize("path", ["/", "/admin/login/", "/setup", "/api/docs"])
def test_every_page_has_the_policy(browser: Client, path: str):
    answer = browser.get(path)
    assert answer.status_code == 200
    assert answer["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
    assert "unsafe" not in CONTENT_SECURITY_POLICY
    assert not re.search(b"<style|style=", answer.content)


class TestDocumentationWithToken:
    @pytest.fixture(autouse=True)
    def asked_for(self, settings: Any) -> None:
        settings.SVC = replace(settings.SVC, api_docs="token")

    def test_people_are_led_through_the_sign_in_page(self, browser: Client):
        assert browser.get("/api/docs")["Location"] == "/admin/login/?next=/api/docs"
        browser.force_login(person("owner"))
        assert b'id="swagger-ui"' in browser.get("/api/docs").content

    @pytest.mark.parametrize("headers", [{}, {"Authorization": "Token nonsense"}])
    def test_programs_and_bad_tokens_get_401(self, headers: Any):
        answer = Client().get("/api/docs", headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (401, 401)


class TestSchema:
    def test_is_made_once_and_not_sent_to_who_has_it(
        self, monkeypatch: pytest.MonkeyPatch
    ):
        first = Client().get("/api/schema")
        from drf_spectacular.generators import SchemaGenerator  # noqa: PLC0415

        monkeypatch.delattr(SchemaGenerator, "get_schema")
        again = Client().get("/api/schema")
        assert (again.status_code, again.content) == (200, first.content)
        known = Client().get("/api/schema", headers={"If-None-Match": first["ETag"]})
        assert (known.status_code, known.content) == (304, b"")

    def test_each_form_is_known_by_its_own_tag(self):
        yaml = Client().get("/api/schema")
        json = Client().get("/api/schema", {"format": "json"})
        assert json.json()["openapi"] == "3.1.1"
        assert yaml["ETag"] != json["ETag"]
        assert yaml["Content-Type"] == "application/vnd.oai.openapi"
        stale = {"If-None-Match": yaml["ETag"]}
        answer = Client().get("/api/schema", {"format": "json"}, headers=stale)
        assert answer.status_code == 200
