"""Forms of the admin site in a browser: sent once, left with a question, in reach."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Dialog, Page, expect

from tests.dns import bodies
from tests.e2e.browsers import needs_a_browser, signed_in
from tests.servers import Server

# What people click does not differ by database.
pytestmark = [*needs_a_browser, pytest.mark.sqlite]


@pytest.fixture
def page(server: Server, browser: Browser) -> Iterator[Page]:
    """Yield a page of the owner."""
    page = signed_in(browser, server, viewport={"width": 1280, "height": 800})
    yield page
    page.close()


@pytest.fixture
def zone(server: Server) -> str:
    """Return the admin's address of a zone of its own."""
    for known in server.ask("GET", "/api/dns/zones"):
        server.ask("DELETE", f"/api/dns/zones/{known['id']}")
    everybody = server.ask("GET", "/api/groups?name=All")[0]["id"]
    body = bodies.zone(domain="forms.test", distribution_groups=[everybody])
    made = server.ask("POST", "/api/dns/zones", body)
    return f"/admin/dns/zone/{made['id']}/"


def test_a_form_that_is_sent_twice_makes_one_object(page: Page, server: Server):
    page.goto("/admin/access/setupkey/add/")
    page.fill("[name=name]", "twice")
    save = "document.querySelector('[name=_save]').click()"
    page.evaluate(f"for (const _ of '12') {save}")
    expect(page.locator(".messagelist")).to_be_visible()
    names = [key["name"] for key in server.ask("GET", "/api/setup-keys")]
    assert names.count("twice") == 1


def questions(page: Page, answer: Callable[[Dialog], None]) -> list[str]:
    """Answer whatever the page will ask; return what it asked so far."""
    asked: list[str] = []

    def note(dialog: Dialog) -> None:
        asked.append(dialog.type)
        answer(dialog)

    page.on("dialog", note)
    return asked


def test_what_was_typed_is_not_left_without_a_question(page: Page, zone: str):
    asked = questions(page, Dialog.dismiss)
    page.goto(f"{zone}change/")
    page.get_by_role("searchbox", name="Search:").press("Enter")
    page.wait_for_url("**?q=")
    assert asked == []
    page.fill("#id_name", "typed")
    page.get_by_role("searchbox", name="Search:").press("Enter")
    expect(page.locator("#id_name")).to_have_value("typed")
    assert asked == ["beforeunload"]
    page.click("[name=_continue]")
    expect(page.locator(".messagelist")).to_be_visible()
    assert asked == ["beforeunload"]


def test_a_form_that_was_refused_is_not_left_without_a_question(page: Page):
    asked = questions(page, Dialog.accept)
    page.goto("/admin/access/setupkey/add/")
    page.fill("[name=name]", "refused")
    page.fill("[name=usage_limit]", "-5")
    page.click("[name=_save]")
    expect(page.locator(".errornote")).to_be_visible()
    page.locator("[name=name]").click()
    page.get_by_role("link", name="Overview").first.click()
    page.wait_for_url("**/admin/")
    assert asked == ["beforeunload"]


def test_the_import_of_a_long_file_is_in_reach(page: Page, zone: str):
    page.goto(f"{zone}import/")
    lines = [f"host-{number} 300 A 10.0.0.{number}" for number in range(1, 60)]
    page.fill("textarea", "\n".join(lines))
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("button", name="Import: 59 changes").click(timeout=5000)
    expect(page.locator(".messagelist")).to_contain_text("59")


def test_arrow_keys_pass_by_choices_and_enter_takes_one(page: Page):
    page.goto("/admin/events/auditevent/")
    span = page.locator("[data-span]")
    span.focus()
    for _ in range(3):
        span.press("ArrowDown")
    expect(span).to_be_focused()
    assert "?" not in page.url
    wanted = span.input_value()
    # Once opens the list, and takes what it stands at the second time.
    span.press("Enter")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**start_date={wanted}*")


def test_the_fields_of_a_span_of_ones_own_come_by_keyboard(page: Page):
    page.goto("/admin/events/auditevent/")
    span = page.locator("[data-span]")
    span.focus()
    span.press("End")
    span.press("Enter")
    page.keyboard.press("Enter")
    expect(page.locator("#filter-start")).to_be_focused()
