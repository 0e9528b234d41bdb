"""Daily questions to the explorers in a real browser, and the clicks they take."""

import base64
import json
import shutil
from collections.abc import Iterator
from ctypes.util import find_library
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect, sync_playwright

from tests.e2e.test_bad_input import Wire
from tests.events.samples import moment, proxy, traffic
from tests.servers import Server

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
    pytest.mark.skipif(
        find_library("atomic") is None,
        reason="libatomic, which playwright needs, is not",
    ),
]

KEY = base64.b64encode(b"rui's laptop".ljust(32)).decode()
HOST, OTHER = "wiki.internal", "git.internal"
BAR = """(number) => {
  const chart = Chart.getChart("chart-top");
  const bar = chart.getDatasetMeta(0).data[number];
  return { x: (chart.scales.x.left + bar.x) / 2, y: bar.y };
}"""


@dataclass
class Operator:
    """Somebody at the first page, whose clicks are counted."""

    page: Page
    wire: Wire
    clicks: int = 0

    def click(self, what: Locator, **how: Any) -> None:
        what.click(**how)
        self.clicks += 1

    def click_menu(self, model: str) -> None:
        self.click(self.page.locator(f'a[href="/admin/events/{model}/"]').first)

    def click_view(self, label: str) -> None:
        self.click(self.page.get_by_role("link", name=label))
        self.page.get_by_text("in all").wait_for()

    def click_bar(self, number: int) -> None:
        place = self.page.evaluate(BAR, number)
        self.click(self.page.locator("#chart-top"), position=place)
        self.page.wait_for_load_state()

    def send(self, path: str, *events: dict[str, Any]) -> None:
        self.ask("POST", f"/api/events/{path}", list(events))

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Ask the API and return its answer."""
        answer = self.wire.call(method, path, body and json.dumps(body))
        assert answer.status == 200, answer.body
        return json.loads(answer.body)

    @property
    def rows(self) -> Locator:
        return self.page.locator("#result_list tbody tr")


@pytest.fixture
def operator(server: Server, token: str) -> Iterator[Operator]:
    password = (server.folder / "admin_password").read_text().strip()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(f"{server.url}/admin/login/?next=/admin/")
        page.fill("[name=username]", "owner@mesh.internal")
        page.fill("[name=password]", password)
        page.click("[type=submit]")
        page.wait_for_url("**/admin/")
        yield Operator(page, Wire(server, token))
        browser.close()


def test_top_talkers_of_dropped_traffic_and_the_rows_behind_one_take_three_clicks(
    operator: Operator,
) -> None:
    loud = {"id": "loud", "name": "loud-peer"}
    quiet = {"id": "quiet", "name": "quiet-peer"}
    operator.send(
        "network-traffic",
        *(traffic(source=loud, num_of_drops=9, window_end=moment()) for _ in range(3)),
        traffic(source=quiet, num_of_drops=1, window_end=moment()),
        traffic(source=loud, window_end=moment()),
    )
    operator.click_menu("trafficevent")
    operator.click_view("Dropped today, top peers")
    operator.click_bar(0)
    assert operator.clicks <= 3
    expect(operator.rows).to_have_count(3)
    for row in operator.rows.all():
        expect(row).to_contain_text("loud-peer")
    chips = operator.page.locator(".chips")
    expect(chips).to_contain_text("Source: loud-peer")
    chips.get_by_role("link", name="Remove Source: loud-peer").click()
    expect(operator.rows).to_have_count(4)


def test_watching_the_5xx_of_one_host_takes_three_clicks(operator: Operator) -> None:
    def failed(host: str, path: str, status: int = 503) -> None:
        now = moment()
        operator.send(
            "proxy", proxy(host=host, path=path, status_code=status, timestamp=now)
        )

    failed(HOST, "/one")
    failed(HOST, "/two")
    failed(OTHER, "/other")
    operator.click_menu("proxyentry")
    operator.click_view("5xx live, by host")
    operator.click_bar(0)
    assert operator.clicks <= 3
    page, rows = operator.page, operator.rows
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


def test_who_removed_a_peer_from_which_group_takes_three_clicks(
    operator: Operator, server: Server
) -> None:
    file = server.folder / "peers.ndjson"
    file.write_text(json.dumps({"name": "rui-laptop", "wg_public_key": KEY}))
    server.manage("import_peers", str(file))
    peers = operator.ask("GET", "/api/peers")
    [peer] = [peer["id"] for peer in peers if peer["name"] == "rui-laptop"]
    name = "Field service"
    group = operator.ask("POST", "/api/groups", {"name": name, "peers": [peer]})
    path = f"/api/groups/{group['id']}"
    operator.ask("PUT", path, {"name": name, "peers": []})
    operator.click_menu("auditevent")
    operator.click_view("Membership removed, last 7 days")
    assert operator.clicks <= 3
    row = operator.rows.first
    expect(row.locator(".field-initiator")).to_contain_text("Owner")
    expect(row.locator(".field-target")).to_contain_text("rui-laptop")
    expect(row.locator(".field-group")).to_have_text(name)


def test_charts_have_a_table_whose_rows_lead_on_by_keyboard(operator: Operator) -> None:
    operator.send("proxy", proxy(host="only.internal", timestamp=moment()))
    page = operator.page
    page.goto(f"{page.url}events/proxyentry/?search=only.internal")
    page.get_by_text("in all").wait_for()
    page.locator(".chart-table summary").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**host=only.internal**")


def test_a_chosen_filter_is_in_the_address_and_empty_ones_are_not(
    operator: Operator,
) -> None:
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


def test_an_export_of_the_page_is_a_file(operator: Operator) -> None:
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
