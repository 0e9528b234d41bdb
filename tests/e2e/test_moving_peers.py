"""Moving 30 peers into a group in a real browser takes six clicks."""

import json
import os
import shutil
from collections.abc import Iterator
from ctypes.util import find_library
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tests.e2e.test_bad_input import Wire
from tests.servers import Server

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PEERS = 30
TOO_WIDE = """() => {
  const table = document.querySelector(".results");
  return table.scrollWidth > table.clientWidth;
}"""

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
    pytest.mark.skipif(
        find_library("atomic") is None,
        reason="libatomic, which playwright needs, is not",
    ),
]


@pytest.fixture
def home(server: Server, token: str, tmp_path: Path) -> Iterator[Page]:
    """The home page of the admin site, over 60 peers of which 30 are in a group."""
    lines = [
        {"name": f"mover-{n}", "wg_public_key": f"{n:042d}A="} for n in range(PEERS * 2)
    ]
    file = tmp_path / "peers.json"
    file.write_text("\n".join(map(json.dumps, lines)))
    server.manage("import_peers", str(file))
    wire = Wire(server, token)
    known = wire.call("GET", "/api/peers").json
    ids = [one["id"] for one in known if one["name"].startswith("mover-")]
    for name, members in (("old office", ids[:PEERS]), ("new office", ids[:2])):
        wire.call("POST", "/api/groups", json.dumps({"name": name, "peers": members}))
    password = (server.folder / "admin_password").read_text().strip()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(f"{server.url}/admin/login/")
        page.fill("[name=username]", "owner@mesh.internal")
        page.fill("[name=password]", password)
        page.click("[type=submit]")
        page.wait_for_url(f"{server.url}/admin/")
        yield page
        browser.close()


def test_thirty_peers_move_into_a_group_within_six_clicks(home: Page) -> None:
    clicks = 0

    def click(selector: str) -> None:
        nonlocal clicks
        clicks += 1
        home.locator(selector).first.click()

    click("a[href='/admin/inventory/peer/']")
    home.fill("#searchbar", "old office")
    home.keyboard.press("Enter")
    home.wait_for_url("**q=old*")
    assert home.evaluate(TOO_WIDE) is False
    click("#action-toggle")
    home.select_option("select[name=action]", "move_to_group")
    clicks += 1  # choosing from the list
    click("button[name=index]")
    expect(home.get_by_text("old office: 30 peers would")).to_be_visible()
    click(".form-row:has([name=join]) .select2-selection")
    home.keyboard.type("new off")
    home.locator(
        ".select2-results__option--highlighted", has_text="new office"
    ).wait_for()
    home.keyboard.press("Enter")
    expect(home.get_by_text("new office: 28 peers would")).to_be_visible()
    expect(home.get_by_text("2 are in it already")).to_be_visible()
    click("button[name=apply]")

    told = home.locator(".messagelist")
    expect(told).to_contain_text("30 peers left old office")
    expect(told).to_contain_text("28 peers joined new office (2 were in it)")
    assert clicks <= 6
    told.get_by_role("link", name="Audit trail").click()
    expect(home.locator("#changelist")).to_contain_text("58")
    if folder := os.environ.get("SCREENSHOTS"):
        home.screenshot(path=f"{folder}/moved-peers.png")
