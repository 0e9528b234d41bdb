"""What axe-core finds on every page that people see; the keyboard alone."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, expect

from meshmgmt.adminsite.menu import MENU, is_model
from tests.e2e import browsers
from tests.e2e.browsers import DEMO_OWNER, OWNER, THEMES, owner_password, sign_in
from tests.servers import GUNICORN, Server, free_port, running_server

# What people click does not differ by database.
pytestmark = [*browsers.needs_a_browser, pytest.mark.sqlite]

DESKTOP, PHONE, NARROW = 1440, 390, 320
"""Pixels; the last is a desktop at 400 % (WCAG 2.2, 1.4.10)."""
PARTS: Final = 4
"""The walk over all pages in parts, which workers share."""
LONG: Final = "x" * 250
TOOLS = ".object-tools a:not([download])"
AXE: Final = Axe()
FIELDS: Final = "#content :is(input, select, textarea, [role=combobox])"
COLOURS: Final = ["color-contrast", "link-in-text-block"]
"""The rules that depend on the theme."""
STILL: Final = (
    "* { transition: none !important } .submit-row { position: static !important }"
)
LOADING: Final = """
() => document.readyState === "complete"
    && document.querySelector("[data-later]") === null
    && !/^Loading/.test(document.querySelector("#stream-charts [role=status]")?.textContent)
    && (!document.getElementById("swagger-ui") || document.querySelector(".opblock"))
"""


@dataclass
class Site:
    """The admin site over the demo data, and a browser in which its owner is signed in."""

    server: Server
    browser: Browser
    session: Any = None

    def context(self, session: Any = None) -> BrowserContext:
        """Return a browser's window; axe-core comes into its pages from outside."""
        return self.browser.new_context(
            base_url=self.server.url,
            viewport={"width": DESKTOP, "height": 800},
            reduced_motion="reduce",
            storage_state=session,
            bypass_csp=True,
        )

    def page(self, width: int = DESKTOP) -> Page:
        """Return an empty page of the owner."""
        page = self.context(self.session).new_page()
        page.set_viewport_size({"width": width, "height": 800})
        return page


@pytest.fixture(scope="module")
def site(demo: Server, browser: Browser) -> Site:
    """Return the site with the demo data."""
    site = Site(demo, browser)
    page = site.context().new_page()
    page.goto("/admin/login/")
    sign_in(page, DEMO_OWNER, owner_password(demo))
    site.session = page.context.storage_state()
    return site


@pytest.fixture(autouse=True)
def closed(site: Site) -> Iterator[None]:
    """Close each test's pages: those that renew themselves would go on doing so."""
    yield
    for context in site.browser.contexts:
        context.close()


def addresses(page: Page, selector: str) -> list[str]:
    """Return where the chosen links of a page lead within the admin site."""
    found = page.locator(selector).evaluate_all(
        "links => links.map(link => link.getAttribute('href'))"
    )
    return [address for address in found if address.startswith("/admin/")]


def walk(page: Page, part: int) -> Iterator[str]:
    """Go to what a part of the menu leads to, and from there: an object, its tools.

    Yields the address of each page while it is open.
    """
    page.goto("/admin/")
    lists = addresses(page, "#menu a") + [
        f"/admin/{model.replace('.', '/')}/"
        for entries in MENU.values()
        for entry in entries
        for model in entry.inner
        if is_model(model)
    ]
    waiting = [(address, "list") for address in lists[part::PARTS]]
    seen: set[str] = set()
    for address, kind in waiting:  # grows on the way
        if address in seen:
            continue
        seen.add(address)
        page.goto(address)
        yield address
        if kind == "list":
            objects = addresses(page, "#result_list tbody th a")[:1]
            waiting += [(one, "object") for one in objects]
        if kind != "tool":
            tools = addresses(page, f"{TOOLS}, a.deletelink")
            waiting += [(one, "tool") for one in tools]


def findings(page: Page, address: str = "", leaving_out: str = "") -> list[str]:
    """Return what is wrong on the page, in both themes and widths.

    It is loaded once: what depends on theme and width does so in its stylesheets.
    """
    if address:
        page.goto(address)
    page.wait_for_function(LOADING)
    # What lies under the bar of a form is scrolled to.
    page.add_style_tag(content=STILL)
    found = []
    for theme in THEMES:
        page.emulate_media(color_scheme=theme)
        for width in (DESKTOP, NARROW):
            page.set_viewport_size({"width": width, "height": 800})
            rules = COLOURS if theme == "dark" else None
            wrong = violations(page, rules, leaving_out)
            found += [f"{theme} {width} {text}" for text in wrong]
            if page.evaluate("document.documentElement.scrollWidth") > width:
                found.append(f"{width} {page.url} scrolls sideways")
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": DESKTOP, "height": 800})
    return found


def violations(
    page: Page, rules: list[str] | None = None, leaving_out: str = ""
) -> list[str]:
    """Return what is wrong on the page as it is shown now."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.axe_script)
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    options["rules"] = {"target-size": {"enabled": True}}
    if rules:
        options["runOnly"] = rules
    context = {"exclude": [leaving_out]} if leaving_out else {}
    answer = page.evaluate(
        "([context, options]) => axe.run(context || document, options)",
        [context or None, options],
    )
    return [
        f"{page.url}: {found['id']}: {node['target']} {node['failureSummary']}"
        for found in answer["violations"]
        for node in found["nodes"]
    ]


def check_themes(page: Page) -> None:
    """See that nothing is wrong on the page as it is shown now, in both themes."""
    for theme in THEMES:
        page.emulate_media(color_scheme=theme)
        assert violations(page) == []


def first(page: Page, address: str) -> str:
    """Return the address of the first object of a list."""
    page.goto(address)
    return addresses(page, "#result_list tbody th a")[0]


def test_pages_of_every_day_bar_nobody(site: Site):
    page = site.page()
    lists = [f"/admin/{kind}/" for kind in ("access/policy", "dns/zone")]
    for address in ("/admin/", *(first(page, each) for each in lists)):
        assert findings(page, address) == []


def test_pages_of_the_beginning_bar_nobody(site: Site, tmp_path: Path):
    for_peers = {"SVC_GRPC_BIND": f"127.0.0.1:{free_port()}"}
    with running_server(tmp_path / "var", for_peers, command=GUNICORN) as server:
        page = site.context().new_page()
        for address in ("/setup", "/admin/login/"):  # before there is an owner
            assert findings(page, f"{server.url}{address}") == []
        server.manage("welcome")
        page.goto(f"{server.url}/admin/login/?next=/admin/")
        sign_in(page, OWNER, owner_password(server))
        expect(page.get_by_role("heading", name="First steps")).to_be_visible()
        assert findings(page) == []


def test_what_a_webhook_was_sent_and_answered_bars_nobody(site: Site):
    page = site.page()
    page.goto("/admin/delivery/subscription/add/")
    page.fill("[name=url]", "https://127.0.0.1/hook")
    page.fill("[name=name]", LONG[:90])
    send(page, "[name=_save]")
    address = first(page, "/admin/delivery/subscription/")
    page.goto(re.sub("change/$", "sending/", address))
    send(page, "[name=now]")
    expect(page.locator("#talk")).to_be_visible()
    assert findings(page) == []


@pytest.mark.slow
def test_names_of_250_characters_bar_nobody_and_widen_no_page(site: Site):
    page = site.page()
    peer = first(page, "/admin/inventory/peer/") + "?edit=1"
    renamed = (peer, first(page, "/admin/access/policy/"))
    before = {address: rename(page, address, LONG) for address in renamed}
    page.goto("/admin/groups/group/add/")
    page.fill("[name=name]", LONG)
    send(page, "[name=_save]")
    for address in (*renamed, "/admin/access/policy/", "/admin/dns/zone/lint/"):
        assert findings(page, address) == []
        for width in (DESKTOP, NARROW):
            page.set_viewport_size({"width": width, "height": 800})
            page.goto(address)
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, address
    for address, name in before.items():
        rename(page, address, name)


def rename(page: Page, address: str, name: str) -> str:
    """Give an object another name; return the one it had."""
    page.goto(address)
    before = page.input_value("[name=name]")
    page.fill("[name=name]", name)
    send(page, "[name=_save]")
    return before


def test_the_skip_link_leads_to_the_first_field_within_five_tabs(site: Site):
    page = site.page()
    zone, peer = (first(page, f"/admin/{x}/") for x in ("dns/zone", "inventory/peer"))
    others = ("/admin/dns/zone/explain/", "/admin/events/auditevent/")
    for address in (zone, f"{peer}?edit=1", *others):
        page.goto(address)
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        for _ in range(5):
            page.keyboard.press("Tab")
            if page.evaluate(f"document.activeElement.matches({FIELDS!r})"):
                break
        else:
            pytest.fail(f"no field within five tabs on {address}")


def test_a_row_of_a_long_table_is_added_with_a_few_keys(site: Site):
    page = site.page()
    page.goto(first(page, "/admin/dns/zone/"))
    page.get_by_role("link", name="Add a record", exact=True).focus()
    page.keyboard.press("Enter")
    page.keyboard.type("typed")
    rows = page.locator("#id_records-INITIAL_FORMS").get_attribute("value")
    expect(page.locator(f"#id_records-{rows}-name")).to_have_value("typed")


def test_menu_and_filters_are_drawers_on_phones(site: Site):
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


def test_a_zone_and_its_record_are_made_with_the_keyboard_alone(site: Site):
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
    page.goto("/admin/dns/record/?q=www.typed.internal")
    assert "10.9.8.7" in page.locator("#result_list tbody tr").inner_text()


def test_views_columns_and_files_of_a_list_bar_nobody(site: Site):
    page = site.page()
    page.goto("/admin/access/policy/?enabled__exact=1")
    page.get_by_text("Views", exact=True).click()
    page.get_by_label("Keep filters, columns and order as").fill("in force")
    send(page, "[name=keep_view]")
    page.add_style_tag(content=STILL)
    for name in ("Views", "Columns", "Export"):
        page.get_by_text(name, exact=True).click()
        check_themes(page)
    page.get_by_text("Columns", exact=True).click()
    page.get_by_label("Posture").uncheck()
    send(page, "#changelist-filter form[method=get] button")
    headings = page.get_by_role("columnheader").all_inner_texts()
    assert "Posture" not in headings
    page.get_by_text("Export", exact=True).click()
    with page.expect_download() as started:
        page.get_by_role("link", name="CSV").click()
    text = started.value.path().read_text("utf-8")
    assert text.startswith("id,name,")
    assert "posture" not in text.splitlines()[0]


def test_the_search_over_everything_is_used_with_the_keyboard_alone(site: Site):
    page = site.page()
    page.goto("/admin/dns/zone/")
    page.locator("#searchbar").focus()
    page.keyboard.type("/")  # typed, as the field has the focus
    expect(page.locator("#palette")).not_to_be_visible()
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("/")
    box = page.get_by_role("combobox", name="A page, an object")
    expect(box).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#palette")).not_to_be_visible()
    page.keyboard.press("Control+k")
    page.keyboard.type("db-0")
    second = page.get_by_role("option").nth(1)
    expect(second).to_contain_text("db-02")
    page.keyboard.press("ArrowDown")
    expect(second).to_have_attribute("aria-selected", "true")
    assert box.get_attribute("aria-activedescendant") == second.get_attribute("id")
    page.add_style_tag(content=STILL)
    check_themes(page)
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert "db-02" in page.locator("h1").inner_text()
    page.keyboard.press("Control+k")
    page.keyboard.type("audit trail")
    with page.expect_navigation():  # the answer is waited for
        page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/admin/events/auditevent/$"))
    assert findings(page, "/admin/search/") == []


def send(page: Page, button: str = "[type=submit]") -> None:
    """Send a form, and wait for the next page."""
    with page.expect_navigation():
        page.click(button)


def test_pages_of_those_who_are_not_signed_in_bar_nobody(site: Site):
    made = site.page()
    made.goto("/admin/access/invite/add/")
    made.fill("[name=email]", "new@halden.internal")
    made.fill("[name=name]", "New")
    send(made, "[name=_save]")
    link = made.locator(".messagelist code").inner_text()
    assert findings(made) == []
    page = site.context().new_page()
    for address in ("/", "/admin/login/", link, "/invite/unknown", "/nothing"):
        assert findings(page, address) == []
    page.goto(link)
    send(page)
    assert findings(page) == []  # with what is wrong at its fields
    page.goto("/admin/login/")
    page.context.clear_cookies()
    page.fill("[name=username]", DEMO_OWNER)
    page.fill("[name=password]", "wrong")
    send(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("This form is too old")
    assert findings(page) == []


def test_pages_of_errors_bar_nobody(site: Site):
    page = site.page()
    group = first(page, "/admin/groups/group/")
    forbidden = re.sub("change/$", "delete/", group)  # `All` stays
    for address in ("/admin/nothing/", forbidden, "/admin/password_change/"):
        assert findings(page, address) == []
    page.goto("/admin/groups/group/add/")
    send(page, "[name=_save]")
    assert findings(page) == []
    page.fill("[name=name]", "Night shift")
    send(page, "[name=_continue]")
    assert findings(page) == []
    page.context.clear_cookies()
    send(page, "[name=_save]")
    expect(page.locator(".messagelist")).to_contain_text("session")
    assert findings(page) == []


def test_the_frame_of_the_api_documentation_bars_nobody(site: Site):
    # The viewer inside comes bundled; it has pale colours and buttons within buttons.
    assert findings(site.page(), "/api/docs", leaving_out="#swagger-ui > *") == []


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", range(PARTS))
def test_no_page_bars_anybody(site: Site, part: int):
    page, wrong, walked = site.page(), [], 0
    for _ in walk(page, part):
        wrong += findings(page)
        walked += 1
    assert wrong == []
    assert walked > 60 / PARTS


@pytest.mark.slow
def test_no_page_that_asks_before_a_deed_bars_anybody(site: Site):
    page = site.page()
    for kind, deed in (("inventory/peer", "block"), ("access/setupkey", "rotate")):
        asking = first(page, f"/admin/{kind}/").replace("/change/", f"/{deed}/")
        assert findings(page, asking) == []


def test_a_list_on_a_phone_is_sorted_and_chosen_whole(site: Site):
    page = site.page(PHONE)
    page.goto("/admin/access/policy/")
    page.locator("#result_list thead").get_by_role("link", name="Name").click()
    page.wait_for_url("**/?o=*")
    names = page.locator("#result_list tbody th a").all_inner_texts()
    assert names in (sorted(names), sorted(names, reverse=True))
    page.locator("#action-toggle").check()
    boxes = page.locator("#result_list tbody input[type=checkbox]").count()
    expect(page.locator("#result_list tbody input:checked")).to_have_count(boxes)


def test_fields_that_are_looked_up_have_the_focus_in_sight_and_tell_their_faults(
    site: Site,
):
    page = site.page()
    page.goto("/admin/accounts/accesstoken/add/")
    expect(page.locator("[role=combobox][aria-labelledby]").first).to_be_focused()
    page.goto("/admin/access/route/add/")
    send(page, "[name=_save]")
    field = page.get_by_label("Groups", exact=True).and_(page.locator("[type=search]"))
    expect(field).to_have_attribute("aria-invalid", "true")
    parts = str(field.get_attribute("aria-describedby")).split()
    told = [page.locator(f"#{part}").inner_text() for part in parts]
    assert "at least one group" in " ".join(told)
    field.focus()
    box = page.locator(".select2-container--focus .select2-selection--multiple")
    expect(box).to_have_css("outline-style", "solid")


def test_rows_that_come_and_go_take_the_focus_along(site: Site):
    page = site.page()
    page.goto("/admin/dns/zone/add/")
    add = page.get_by_role("button", name="Add another Record")
    add.press("Enter")
    add.press("Enter")
    expect(page.locator("#id_records-2-name")).to_be_focused()
    page.get_by_role("button", name="Remove added row 3").press("Enter")
    expect(add).to_be_focused()
    expect(page.get_by_role("button", name="Remove added row")).to_have_count(2)
