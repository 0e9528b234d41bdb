"""The explorers in a real browser."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.e2e.browsers import needs_a_browser, signed_in
from tests.events.samples import moment, proxy
from tests.servers import Server

pytestmark = [pytest.mark.slow, *needs_a_browser]

HOST, OTHER = "wiki.internal", "git.internal"


@dataclass
class Operator:
    """Somebody at the first page, and a program beside."""

    page: Page
    server: Server

    def send(self, path: str, *events: dict[str, Any]) -> None:
        self.server.ask("POST", f"/api/events/{path}", list(events))

    @property
    def rows(self) -> Locator:
        return self.page.locator("#result_list tbody tr")


@pytest.fixture
def operator(server: Server, browser: Browser) -> Iterator[Operator]:
    page = signed_in(browser, server, viewport={"width": 1280, "height": 900})
    yield Operator(page, server)
    page.close()


def test_a_live_list_follows_its_filter_and_holds_at_times(operator: Operator):
    def failed(host: str, path: str, status: int = 503) -> None:
        facts = {"host": host, "path": path, "status_code": status}
        operator.send("proxy", proxy(timestamp=moment(), **facts))

    failed(HOST, "/one")
    failed(HOST, "/two")
    failed(OTHER, "/other")
    page, rows = operator.page, operator.rows
    page.goto(f"{page.url}events/proxyentry/?status_class=5xx&host={HOST}&live=1")
    page.mouse.move(5, 5)
    expect(rows).to_have_count(2)
    expect(page.locator("[data-live]")).to_contain_text("live, updated")
    failed(HOST, "/well", 200)
    failed(OTHER, "/elsewhere")
    failed(HOST, "/three")
    expect(rows).to_have_count(3, timeout=10_000)
    expect(rows.first).to_contain_text("/three")

    rows.first.hover()
    expect(page.locator("[data-live]")).to_contain_text("held")
    failed(HOST, "/four")
    page.wait_for_timeout(4000)
    expect(rows).to_have_count(3)
    page.mouse.move(5, 5)
    expect(rows).to_have_count(4, timeout=10_000)

    page.evaluate("Object.defineProperty(document, 'hidden', { get: () => true })")
    page.wait_for_timeout(3000)
    failed(HOST, "/five")
    page.wait_for_timeout(4000)
    expect(rows).to_have_count(4)

    page.get_by_role("link", name="Stop following").click()
    expect(page.locator("[data-live]")).to_have_count(0)
    expect(rows).to_have_count(5)


def test_a_live_list_leaves_out_nothing_of_much_that_came_while_it_held(
    operator: Operator,
):
    def arrived(*numbers: int) -> None:
        facts = {"host": "much.test", "timestamp": moment()}
        operator.send("proxy", *(proxy(path=f"/{n}", **facts) for n in numbers))

    page, rows = operator.page, operator.rows
    arrived(0)
    page.goto(f"{page.url}events/proxyentry/?host=much.test&live=1")
    expect(rows).to_have_count(1)
    rows.first.hover()
    expect(page.locator("[data-live]")).to_contain_text("held")
    arrived(*range(1, 131))
    page.mouse.move(5, 5)
    expect(rows).to_have_count(100, timeout=10_000)
    page.get_by_role("link", name="Older").click()
    expect(rows).to_have_count(31)


def test_charts_have_a_table_whose_rows_lead_on_by_keyboard(operator: Operator):
    operator.send("proxy", proxy(host="only.internal", timestamp=moment()))
    page = operator.page
    page.goto(f"{page.url}events/proxyentry/?search=only.internal")
    page.get_by_text("in all").wait_for()
    page.locator(".chart-table summary").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**host=only.internal**")


def test_any_time_charts_what_the_list_shows(operator: Operator):
    times = moment(), moment(3 * 24 * 60)
    entries = [proxy(host="whole.internal", timestamp=time) for time in times]
    operator.send("proxy", *entries)
    page = operator.page
    page.goto(f"{page.url}events/proxyentry/?host=whole.internal")
    expect(operator.rows).to_have_count(2)
    expect(page.get_by_text("2 requests in all")).to_be_visible()


def test_a_name_is_suggested_and_taken_for_its_object(operator: Operator):
    [everybody] = operator.server.ask("GET", "/api/groups?name=All")
    page = operator.page
    page.goto(f"{page.url}events/auditevent/")
    page.locator("[name=group_id]").press_sequentially("al")
    option = page.locator("#options-group_id option[value=All]")
    expect(option).to_have_count(1)
    page.fill("[name=group_id]", "All")
    page.click("[value=Apply]")
    page.wait_for_url(f"**/auditevent/?group_id={everybody['id']}")
    expect(page.locator("[name=group_id]")).to_have_value("All")


def test_pages_that_ask_for_a_name_suggest_some(operator: Operator):
    page, first = operator.page, operator.page.url
    for path, field in (("graph/?focus=", "focus"), ("reach/", "destination")):
        page.goto(f"{first}access/{path}")
        suggested = page.locator(f"#known-{field} option")
        expect(suggested).to_have_count(0)
        made = f"al{field}"
        operator.server.ask("POST", "/api/groups", {"name": made})
        with page.expect_response("**/access/reach/names/**") as asked:
            page.locator(f"[name={field}]").press_sequentially("l")
        names = [name for name, _ in asked.value.json()]
        expect(suggested).to_have_count(len(names))
        assert (made in names) == (field == "focus")


def test_a_chosen_filter_is_in_the_address_and_empty_ones_are_not(operator: Operator):
    operator.send("proxy", proxy(host=HOST, timestamp=moment()))
    page = operator.page
    home = page.url
    page.goto(f"{home}events/proxyentry/")
    page.select_option("[name=status_class]", "5xx")
    page.fill("[name=host]", HOST)
    page.click("[value=Apply]")
    page.wait_for_url(f"{home}events/proxyentry/?status_class=5xx&host={HOST}")
    page.select_option("[data-span]", "-7d")
    page.wait_for_url("**?start_date=-7d&status_class=5xx&host=**")
    page.select_option("[name=group_by]", "path")
    page.wait_for_url("**group_by=path**")
    page.select_option("[data-span]", "between")
    page.fill("[name=start_date]", "2026-01-02")
    page.fill("[name=end_date]", "2026-01-03 12:00")
    page.click("[value=Apply]")
    page.wait_for_url("**?start_date=2026-01-02&end_date=2026-01-03+12%3A00&**")
    expect(page.locator("#result_list")).to_be_visible()
    expect(page.locator(".errornote")).to_have_count(0)


def test_an_export_of_the_page_is_a_file(operator: Operator):
    operator.send("proxy", proxy(host="file.internal", timestamp=moment()))
    page = operator.page
    page.goto(f"{page.url}events/proxyentry/?host=file.internal")
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    assert download.value.suggested_filename == "proxy.csv"
    lines = download.value.path().read_text().splitlines()
    assert lines[0].startswith("id,service_id,timestamp,")
    assert all("file.internal" in line for line in lines[1:])
    assert len(lines) > 1
