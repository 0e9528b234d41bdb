"""The first page in a real browser: it renews itself, and its numbers lead somewhere."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browsers import OWNER, needs_a_browser, owner_password
from tests.servers import Server

DAY = 24 * 60 * 60
LATER = 31_000
"""Milliseconds after which a page is due."""

pytestmark = needs_a_browser


@pytest.fixture
def page(server: Server, browser: Browser) -> Iterator[Page]:
    """The first page, of an owner; its clock is the test's."""
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto(f"{server.url}/admin/login/")
    page.fill("[name=username]", OWNER)
    page.fill("[name=password]", owner_password(server))
    page.clock.install()
    page.click("[type=submit]")
    page.locator(".home-attention").wait_for()
    page.locator("[data-later]").first.wait_for(state="detached")
    yield page
    page.close()


def test_the_page_renews_itself_and_a_number_leads_to_its_list(
    page: Page, server: Server
):
    def end_soon(name: str) -> None:
        body = {"name": name, "type": "reusable", "expires_in": DAY, "auto_groups": []}
        server.ask("POST", "/api/setup-keys", body)

    keys = page.locator(".home-attention").get_by_role("link", name="setup key")
    end_soon("first")
    page.clock.run_for(LATER)
    keys.wait_for()
    before = keys.inner_text().split()[0]
    wide = page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
    assert not wide
    keys.focus()
    end_soon("soon")
    page.clock.run_for(LATER)
    after = str(int(before) + 1)
    expect(keys).to_contain_text(after)
    expect(keys).to_be_focused()
    # What is new stands before what had the focus.
    change = page.locator("#content a[href*='/auditevent/']").first
    meant = str(change.get_attribute("href"))
    change.focus()
    end_soon("another")
    page.clock.run_for(LATER)
    expect(keys).to_contain_text(str(int(after) + 1))
    expect(page.locator(f"#content a[href='{meant}']")).to_be_focused()
    keys.press("Enter")
    after = str(int(after) + 1)
    expect(page.locator(".paginator")).to_contain_text(after)
    expect(page.locator("#result_list")).to_contain_text("soon")


def test_a_page_that_nobody_sees_asks_for_nothing(page: Page):
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.evaluate("Object.defineProperty(document, 'hidden', {get: () => window.away})")
    page.evaluate("window.away = true")
    page.clock.run_for(2 * LATER)
    assert asked == []
    page.evaluate("window.away = false")
    with page.expect_response("**/admin/"):
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    assert len(asked) == 1


def test_a_page_that_cannot_be_renewed_says_so_and_stays(page: Page):
    shown = page.locator("#home time").inner_text()
    page.context.clear_cookies()
    page.clock.run_for(LATER)
    status = page.get_by_role("status")
    expect(status).to_contain_text("Not renewed: you are signed out")
    assert page.locator("#home time").inner_text() == shown
