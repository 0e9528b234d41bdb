"""Daily tasks of DNS in a real browser, from the first page on, in few clicks."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page

from tests.e2e.browsers import (
    OWNER,
    chromium,
    needs_a_browser,
    owner_password,
    sign_in,
)
from tests.e2e.test_bad_input import Wire
from tests.servers import Server

pytestmark = needs_a_browser

LINES = """www A 10.9.0.1
@ A 10.9.0.2
docs CNAME www
*.dev A 10.9.0.3
mail 60 AAAA fd00::9
"""

LONELY = {
    "wg_public_key": base64.b64encode(b"lonely".ljust(32)).decode(),
    "name": "lonely",
}


class Operator:
    """Somebody at the first page whose clicks are counted."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.clicks = 0

    def click(self, *selectors: str) -> None:
        """Click what is found first and can be seen."""
        found: Locator = self.page.locator(", ".join(selectors))
        found.filter(visible=True).first.click()
        self.clicks += 1


@pytest.fixture
def operator(server: Server) -> Iterator[Operator]:
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        refused: list[str] = []
        page.on("console", lambda message: refused.append(message.text))
        page.goto(f"{server.url}/admin/login/")
        sign_in(page, OWNER, owner_password(server))
        yield Operator(page)
        assert [text for text in refused if "Content Security Policy" in text] == []


def asked(wire: Wire, path: str, body: dict[str, Any] | None = None) -> Any:
    """Ask the API, or send it something new."""
    if body is None:
        return wire.call("GET", f"/api{path}").json
    return wire.call("POST", f"/api{path}", json.dumps(body)).json


def test_new_zone_with_five_records_by_paste(
    operator: Operator, server: Server, token: str
) -> None:
    page = operator.page
    operator.click("a[href='/admin/dns/zone/']")
    operator.click("a[href^='/admin/dns/zone/add/']")
    page.fill("[name=name]", "Pasted")
    page.fill("[name=domain]", "pasted.test")
    page.locator("[name=paste]").press("Control+End")
    page.keyboard.insert_text(LINES)
    operator.click("[name=_save]")
    page.wait_for_url("**/admin/dns/zone/")
    assert operator.clicks <= 5

    wire = Wire(server, token)
    [made] = [z for z in asked(wire, "/dns/zones") if z["domain"] == "pasted.test"]
    assert sorted((r["name"], r["ttl"]) for r in made["records"]) == [
        ("*.dev.pasted.test", 300),
        ("docs.pasted.test", 300),
        ("mail.pasted.test", 60),
        ("pasted.test", 300),
        ("www.pasted.test", 300),
    ]


def test_why_a_peer_does_not_resolve_a_name_and_what_would_change_that(
    operator: Operator, server: Server, token: str
) -> None:
    wire = Wire(server, token)
    server.manage("import_peers", "-", text=json.dumps(LONELY))
    group = asked(wire, "/groups", {"name": "archivists"})["id"]
    zone = {
        "name": "Archive",
        "domain": "archive.test",
        "enable_search_domain": False,
        "distribution_groups": [group],
    }
    made = asked(wire, "/dns/zones", zone)["id"]
    record = {"name": "box.archive.test", "type": "A", "content": "10.9.1.1", "ttl": 60}
    asked(wire, f"/dns/zones/{made}/records", record)

    page = operator.page
    operator.click("a[href='/admin/dns/zone/explain/']")
    operator.click(".select2-selection")
    page.keyboard.type("lonely")
    page.locator(".select2-results__option", has_text="lonely").wait_for()
    page.keyboard.press("Enter")
    page.fill("[name=name]", "box.archive.test")
    page.keyboard.press("Enter")
    reason = page.locator(".dns-outcome")
    reason.wait_for()
    assert operator.clicks <= 3
    assert "Archive has the name, but the peer is in none of its" in reason.inner_text()
    remedy = page.locator(".dns-remedies li").first
    assert "would resolve to 10.9.1.1 if the peer were in group archivists" in (
        remedy.inner_text()
    )
    path = f"/admin/groups/group/{group}/change/"
    assert remedy.get_by_role("link").get_attribute("href") == path
