"""No page does what the content security policy forbids, in a real browser."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page

from tests.e2e.browsers import DEMO_OWNER, needs_a_browser, owner_password, sign_in
from tests.servers import GUNICORN, Server, running_server

# What browsers show does not differ by database.
pytestmark = [*needs_a_browser, pytest.mark.sqlite]

TELL: Final = """document.addEventListener("securitypolicyviolation", (event) =>
  violated(`${location.pathname}: ${event.violatedDirective} ${event.blockedURI}`))"""
PAGES: Final = "a[href]:not([download])"
LINKS: Final = (
    "anchors => anchors.map((x) => new URL(x.getAttribute('href'), x.baseURI).href)"
)
"""Of drawings, too, whose `href` is no text."""
FEWEST_PAGES: Final = 40
DEPTH: Final = 6
"""Slashes in the deepest address that is looked at: `/admin/room/kind/id/change/`."""


class Visitor:
    """A browser window that remembers violations and errors of scripts."""

    def __init__(self, page: Page, url: str) -> None:
        self.page, self.url = page, url
        self.complaints: list[str] = []
        note = self.complaints.append
        page.context.expose_binding("violated", lambda source, text: note(text))
        page.context.add_init_script(TELL)
        page.on("pageerror", lambda error: note(f"{page.url} {error}"))

    def open(self, path: str) -> None:
        self.page.goto(f"{self.url}{path}", wait_until="load")

    def links(self) -> Iterator[str]:
        """Yield paths of the admin site that the page leads to."""
        for address in self.page.eval_on_selector_all(PAGES, LINKS):
            found = urlsplit(address)
            is_file = found.path.endswith((".ndjson", ".csv"))
            if f"{found.scheme}://{found.netloc}" == self.url and not is_file:
                yield found.path


def kind_of(path: str) -> str:
    """Return what pages of different objects of a kind have in common."""
    parts = path.split("/")
    if len(parts) == DEPTH + 1:
        parts[4] = "*"
    return "/".join(parts)


def test_public_pages_break_nothing(server: Server, browser: Browser):
    visitor = Visitor(browser.new_page(), server.url)
    for path in ("/", "/nothing", "/invite/nobody", "/admin/login/"):
        visitor.open(path)
    visitor.open("/api/docs")
    visitor.page.locator(".opblock").first.click()
    visitor.page.click(".authorize.unlocked")
    visitor.page.wait_for_selector(".modal-ux")
    visitor.page.close()
    assert visitor.complaints == []


def test_the_listener_hears_of_violations(server: Server, browser: Browser):
    visitor = Visitor(browser.new_page(), server.url)
    visitor.open("/")
    visitor.page.evaluate("document.body.setAttribute('style', 'color: red')")
    visitor.page.wait_for_timeout(50)
    visitor.page.close()
    [complaint] = visitor.complaints
    assert complaint.partition(" ")[2] == "style-src-attr inline"


@pytest.mark.slow
def test_no_page_of_the_admin_site_breaks_the_policy(demo: Server, browser: Browser):
    visitor = Visitor(browser.new_page(), demo.url)
    visitor.open("/admin/login/")
    sign_in(visitor.page, DEMO_OWNER, owner_password(demo))
    todo, kinds = ["/admin/"], {"/admin/"}
    for path in todo:  # which grows meanwhile
        visitor.open(path)
        for link in visitor.links():
            deep = link.count("/") > DEPTH or not link.startswith("/admin/")
            if not deep and kind_of(link) not in kinds:
                kinds.add(kind_of(link))
                todo.append(link)
    visitor.page.close()
    assert len(todo) > FEWEST_PAGES
    assert visitor.complaints == []


@pytest.mark.slow
def test_the_page_that_makes_the_first_owner_breaks_nothing(
    tmp_path: Path, browser: Browser
):
    with running_server(tmp_path / "var", command=GUNICORN) as server:
        visitor = Visitor(browser.new_page(), server.url)
        visitor.open("/setup")
        assert "Become the owner" in visitor.page.content()
        visitor.page.close()
    assert visitor.complaints == []
