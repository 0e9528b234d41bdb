"""What axe-core finds on the pages of the admin site; the keyboard alone."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from meshmgmt.api.adminmenu import MENU, is_model
from tests.e2e.browsers import chromium, needs_a_browser, owner_password, sign_in
from tests.servers import Server, running_server

pytestmark = needs_a_browser

DEMO_OWNER = "mara.lindqvist@halden.internal"
DESKTOP, PHONE = 1280, 390
TOOLS = ".object-tools a:not([download])"
Theme = Literal["light", "dark"]


@dataclass
class Site:
    """The admin site over the demo data, and a browser in which its owner is signed in."""

    server: Server
    browser: Browser
    session: Any = None

    def page(self, width: int = DESKTOP, theme: Theme = "light") -> Page:
        """Return an empty page; axe-core comes into it from outside."""
        context = self.browser.new_context(
            base_url=self.server.url,
            viewport={"width": width, "height": 800},
            color_scheme=theme,
            storage_state=self.session,
            bypass_csp=True,
        )
        return context.new_page()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Yield the site with the demo data."""
    folder = tmp_path_factory.mktemp("accessible") / "var"
    with running_server(folder) as server, chromium() as browser:
        server.manage("seed", "--profile", "demo")
        server.manage("welcome")
        site = Site(server, browser)
        page = site.page()
        page.goto("/admin/login/")
        sign_in(page, DEMO_OWNER, owner_password(server))
        site.session = page.context.storage_state()
        yield site


def addresses(page: Page, selector: str) -> list[str]:
    """Return where the chosen links of a page lead within the admin site."""
    found = page.locator(selector).evaluate_all(
        "links => links.map(link => link.getAttribute('href'))"
    )
    return [address for address in found if address.startswith("/admin/")]


def all_pages(page: Page) -> list[str]:
    """Return what the menu leads to, and from there: one object, its tools, a new one."""
    page.goto("/admin/")
    lists = addresses(page, "#menu a") + [
        f"/admin/{model.replace('.', '/')}/"
        for section in MENU
        for entry in section.entries
        for model in entry.inner
        if is_model(model)
    ]
    found = [*lists]
    for address in lists:
        page.goto(address)
        objects = addresses(page, "#result_list tbody th a")[:1]
        found += [*objects, *addresses(page, TOOLS)]
        for one in objects:
            page.goto(one)
            found += addresses(page, f"{TOOLS}, a.deletelink")
    return list(dict.fromkeys(found))


def findings(page: Page, address: str) -> list[str]:
    """Return what is wrong on one page."""
    page.goto(address)
    page.wait_for_load_state("networkidle")
    return violations(page)


def violations(page: Page) -> list[str]:
    """Return what is wrong on the page as it is shown now."""
    return [
        f"{page.url}: {found['id']}: {node['target']} {node['failureSummary']}"
        for found in Axe().run(page).response["violations"]
        for node in found["nodes"]
    ]


def first(page: Page, address: str) -> str:
    """Return the address of the first object of a list."""
    page.goto(address)
    return addresses(page, "#result_list tbody th a")[0]


def test_pages_of_every_day_bar_nobody(site: Site) -> None:
    page = site.page()
    zone = first(page, "/admin/dns/zone/")
    peer = first(page, "/admin/inventory/peer/")
    for address in ("/admin/", "/admin/inventory/peer/", peer, zone):
        assert findings(page, address) == []


def test_menu_and_filters_are_drawers_on_phones(site: Site) -> None:
    page = site.page(PHONE)
    page.goto("/admin/inventory/peer/")
    for button, drawer in (("Menu", "#menu"), ("Filter", "#changelist-filter")):
        assert not page.locator(drawer).is_visible()
        page.get_by_role("button", name=button, exact=True).click()
        assert page.locator(drawer).is_visible()
        assert violations(page) == []
        page.keyboard.press("Escape")
        assert not page.locator(drawer).is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until what is chosen has the focus."""
    for _ in range(120):
        page.keyboard.press("Tab")
        if page.evaluate(f"document.activeElement.matches({selector!r})"):
            return
    pytest.fail(f"Tab does not reach {selector}")


def follow(page: Page, selector: str) -> None:
    """Go to a link or button with Tab, and through it with Enter."""
    tab_to(page, selector)
    with page.expect_navigation():
        page.keyboard.press("Enter")


def fill(page: Page, selector: str, text: str) -> None:
    """Go to a field with Tab and type."""
    tab_to(page, selector)
    page.keyboard.type(text)


def test_a_zone_and_its_record_are_made_with_the_keyboard_alone(site: Site) -> None:
    page = site.page()
    page.goto("/admin/")
    follow(page, "#menu a[href='/admin/dns/zone/']")
    follow(page, ".object-tools a.addlink")
    fill(page, "#id_name", "Typed")
    fill(page, "#id_domain", "typed.internal")
    fill(page, ".field-distribution_groups .select2-search__field", "Engin")
    page.locator(".select2-results__option--highlighted").wait_for()
    page.keyboard.press("Enter")
    fill(page, "#id_records-0-name", "www.typed.internal")
    fill(page, "#id_records-0-type", "A")
    fill(page, "#id_records-0-content", "10.9.8.7")
    follow(page, "[name=_save]")
    assert "was added successfully" in page.locator(".messagelist").inner_text()
    page.goto("/admin/dns/record/?q=typed")
    assert "10.9.8.7" in page.locator("#result_list tbody tr").inner_text()


@pytest.mark.sqlite
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_no_page_bars_anybody(site: Site, width: int, theme: Theme) -> None:
    pages = all_pages(site.page())
    assert len(pages) > 60
    page = site.page(width, theme)
    assert [text for address in pages for text in findings(page, address)] == []
