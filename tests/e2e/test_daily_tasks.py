"""The daily tasks of `docs/admin.md`, done as it says, on the demo data in Chromium."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from meshmgmt.env import BASE_DIR
from tests.control.deployment import Deployment
from tests.dns.bodies import zone
from tests.e2e import browsers
from tests.e2e.browsers import DEMO_OWNER, THEMES, owner_password, sign_in
from tests.e2e.operators import Operator
from tests.events.samples import moment, proxy, traffic
from tests.servers import Server

# What people click does not differ by database.
pytestmark = [*browsers.needs_a_browser, pytest.mark.sqlite]

PEERS = 30
MOST_BYTES = 150_000
"""Of a picture in the documentation."""
STRONG = "Correct-Horse-1"
LINES = """www A 10.9.0.1
@ A 10.9.0.2
docs CNAME www
*.dev A 10.9.0.3
mail 60 AAAA fd00::9
"""
TOO_WIDE = """() => {
  const table = document.querySelector(".results");
  return table.scrollWidth > table.clientWidth;
}"""

Begin = Callable[..., Operator]
by_mouse_and_keys = pytest.mark.parametrize(
    "keys", [False, True], ids=["mouse", "keyboard"]
)


@pytest.fixture
def begin(browser: Browser, demo: Server, tmp_path: Any) -> Iterator[Begin]:
    """Return who begins a task on the first page, as an owner."""
    clipboard = ["clipboard-read", "clipboard-write"]
    page = browser.new_page(
        viewport={"width": 1280, "height": 800}, permissions=clipboard
    )
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(f"{demo.url}/admin/login/?next=/admin/")
    sign_in(page, DEMO_OWNER, owner_password(demo))
    yield lambda task, keys=False: Operator(page, tmp_path / "pictures", task, keys)
    page.close()
    assert [text for text in refused if "Content Security Policy" in text] == []


def named(demo: Server, path: str, name: str) -> list[Any]:
    """Return the objects of a name that the API shows at a path."""
    return [x for x in demo.ask("GET", f"/api/{path}") if x["name"] == name]


def test_new_zone_with_five_records_by_paste(begin: Begin, demo: Server):
    operator = begin("New zone with five records by paste")
    page = operator.page
    operator.click("Zones")
    operator.click("Add zone")
    operator.type("[name=name]", "Pasted", "pasted.test")
    operator.click("Records by paste", page.locator("[name=paste]"))
    page.keyboard.insert_text(LINES)
    operator.picture("new-zone")
    operator.click("Save")
    page.wait_for_url("**/admin/dns/zone/")
    operator.done(within=5)

    [made] = named(demo, "dns/zones", "Pasted")
    assert sorted((r["name"], r["ttl"]) for r in made["records"]) == [
        ("*.dev.pasted.test", 300),
        ("docs.pasted.test", 300),
        ("mail.pasted.test", 60),
        ("pasted.test", 300),
        ("www.pasted.test", 300),
    ]


@pytest.mark.slow
def test_move_30_peers_into_a_group(begin: Begin, demo: Server):
    peers = [peer["id"] for peer in demo.ask("GET", "/api/peers")][:PEERS]
    for name, members in (("old office", peers), ("new office", peers[:2])):
        demo.ask("POST", "/api/groups", {"name": name, "peers": members})
    operator = begin("Move 30 peers into a group")
    page = operator.page
    operator.click("Peers")
    operator.type("#searchbar", "old office")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=old*")
    assert page.evaluate(TOO_WIDE) is False
    operator.click("the box in the head of the list", page.locator("#action-toggle"))
    operator.click("Action", page.locator("select[name=action]"))
    page.keyboard.type("Move")
    page.keyboard.press("Enter")
    operator.click("Go")
    expect(page.get_by_text("old office: 30 peers would")).to_be_visible()
    page.locator(".select2-search__field:focus").wait_for()
    operator.look_up("new off")
    expect(page.get_by_text("new office: 28 peers would")).to_be_visible()
    expect(page.get_by_text("2 are in it already")).to_be_visible()
    operator.picture("move-peers")
    operator.click("Change 58 memberships")
    told = page.locator(".messagelist")
    expect(told).to_contain_text("30 peers left old office")
    expect(told).to_contain_text("28 peers joined new office (2 were in it)")
    operator.done(within=5)

    told.get_by_role("link", name="What was changed").click()
    expect(page.get_by_text("58 events in all")).to_be_visible()


def test_who_removed_a_peer_from_a_group(begin: Begin):
    operator = begin("Who removed a peer from a group last week, and from which group")
    operator.click("Audit trail")
    operator.click("Membership removed, last 7 days")
    operator.done(within=3)
    row = operator.page.locator("#result_list tbody tr", has_text="rui-laptop").last
    expect(row.locator(".field-initiator")).to_contain_text("Tomás Ferreira")
    expect(row.locator(".field-group")).to_have_text(re.compile(r"\w"))
    operator.picture("who-removed")


@pytest.mark.slow
def test_what_became_different_and_one_of_it_taken_back(begin: Begin, demo: Server):
    body = zone(name="compared", domain="compared.test")
    made = demo.ask("POST", "/api/dns/zones", body)
    operator = begin("What became different today, and one of it taken back")
    page = operator.page
    operator.click("Compare two moments")
    operator.click("The last 24 hours")
    changed = page.locator(".compared", has_text="Zone compared.test")
    expect(changed).to_contain_text("created")
    operator.picture("compare")
    operator.click("Take back", changed.get_by_role("link", name="Take back"))
    expect(page.locator("#content-main")).to_contain_text("will be deleted")
    operator.click("Take back")
    operator.done(within=4)
    expect(page.locator(".messagelist")).to_contain_text("Taken back: 1 event.")
    assert made["id"] not in [x["id"] for x in demo.ask("GET", "/api/dns/zones")]


def test_why_a_peer_does_not_resolve_a_name(begin: Begin):
    operator = begin("Why does a peer not resolve a name, and what would change that")
    page = operator.page
    operator.find("elin-laptop")
    tools = page.locator(".object-tools")
    operator.click("Explain a look-up", tools.get_by_text("Explain a look-up"))
    operator.click("Name", page.locator("[name=name]"))
    page.keyboard.type("telemetry-b.db.halden.internal")
    page.keyboard.press("Enter")
    reason = page.locator(".dns-outcome")
    expect(reason).to_contain_text("Databases has the name, but the peer is in none")
    remedy = page.locator(".dns-remedies li").first
    expect(remedy).to_contain_text("would resolve to 10.11.30.32 if the peer were in")
    operator.done(within=2)
    operator.picture("explain")
    remedy.get_by_role("link", name="Operations").click()
    expect(page.locator("[name=name]")).to_have_value("Operations")


@pytest.mark.slow
def test_what_breaks_if_a_group_goes_and_delete_it(begin: Begin, demo: Server):
    operator = begin("What breaks if a group goes, and delete it")
    page = operator.page
    operator.click("Groups")
    row = page.locator("#result_list tr", has_text="Field service")
    operator.click("Delete", row.get_by_role("link", name="Delete Field service"))
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_have_text("Delete group Field service")
    lines = page.locator("#deleted-objects li")
    expect(lines.last).to_have_text("group Field service: will be deleted")
    assert "leaves group Field service" in page.locator("#deleted-objects").inner_text()
    operator.picture("delete-group")
    operator.click("Delete")
    page.wait_for_url("**/admin/groups/group/")
    operator.done(within=3)
    assert named(demo, "groups", "Field service") == []


@pytest.mark.slow
def test_revoke_a_leaked_token(begin: Begin, demo: Server):
    printed = demo.manage("create_token", "--user", DEMO_OWNER, "--name", "leaked")
    [secret] = re.findall(r"mpt_\w+", printed)
    operator = begin("Revoke a leaked token")
    page = operator.page
    operator.click("Access tokens")
    page.locator("#searchbar:focus").wait_for()
    page.keyboard.insert_text(secret)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("leaked")
    assert secret not in page.url
    operator.click("Revoke")
    operator.picture("revoke")
    operator.click("Revoke")
    operator.done(within=3)
    expect(page.locator("#result_list")).not_to_contain_text("leaked")
    leaked = {"Authorization": f"Token {secret}"}
    assert demo.get("/api/groups", **leaked).status == 401


@pytest.mark.slow
def test_invite_a_person_who_then_signs_in(
    begin: Begin, browser: Browser, demo: Server
):
    operator = begin("Invite a person, who then signs in")
    page = operator.page
    operator.click("Invite a person")
    operator.type("[name=email]", "ann@mesh.dev", "Ann", "auditor")
    operator.click("Save")
    page.get_by_role("button", name="Copy").wait_for()
    operator.picture("invite")
    operator.click("Copy")
    link = operator.copied()
    operator.done(within=3)
    assert re.fullmatch(rf"{demo.url}/invite/mpi_\w{{36}}", link)
    join(browser.new_context().new_page(), link)


def join(page: Page, link: str) -> None:
    """Accept an invite and sign in; the secret reaches no other page."""
    referers: list[str] = []
    page.on("request", lambda asked: referers.append(asked.headers.get("referer", "")))
    page.goto(link)
    assert page.input_value("[name=name]") == "Ann"
    page.fill("[name=password]", STRONG)
    page.fill("[name=password_again]", STRONG)
    page.click("text=Join")
    page.get_by_text("Welcome, Ann: you can sign in now.").wait_for()
    sign_in(page, "ann@mesh.dev", STRONG)
    assert referers
    assert not [referer for referer in referers if "mpi_" in referer]
    page.context.close()


@pytest.mark.slow
def test_top_talkers_of_dropped_traffic(begin: Begin, demo: Server):
    loud = {"id": "loud", "name": "loud-peer"}
    drops = [
        traffic(source=loud, num_of_drops=10**6, window_end=moment()) for _ in range(3)
    ]
    others = [traffic(source=loud, window_end=moment())]
    demo.ask("POST", "/api/events/network-traffic", drops + others)
    task = "Top talkers of dropped traffic today, and the rows behind one bar"
    operator = begin(task)
    page = operator.page
    operator.click("Network traffic")
    operator.click("Dropped today, top peers")
    operator.click_bar("The longest bar")
    operator.done(within=3)
    rows = page.locator("#result_list tbody tr")
    expect(rows).to_have_count(3)
    for row in rows.all():
        expect(row).to_contain_text("loud-peer")
    operator.picture("dropped")
    page.get_by_role("link", name="Remove Source: loud-peer").click()
    expect(rows).not_to_have_count(3)


@pytest.mark.slow
def test_watch_the_5xx_of_one_host_live(begin: Begin, demo: Server):
    def answered(path: str, status: int, host: str = "failing.test") -> None:
        entry = proxy(host=host, path=path, status_code=status, timestamp=moment())
        demo.ask("POST", "/api/events/proxy", [entry])

    for number in range(60):
        answered(f"/before/{number}", 503)
    operator = begin("Watch the 5xx of one host live")
    page = operator.page
    operator.click("Proxy logs")
    operator.click("5xx live, by host")
    operator.click_bar("The bar of the host")
    operator.done(within=3)
    page.mouse.move(5, 5)
    newest = page.locator("#result_list tbody tr").first
    expect(newest).to_contain_text("/before/59")
    answered("/well", 200)
    answered("/elsewhere", 503, "other.test")
    answered("/now", 502)
    expect(newest).to_contain_text("/now", timeout=10_000)
    expect(page.locator("#result_list")).not_to_contain_text("/elsewhere")
    operator.picture("live")


@pytest.mark.slow
@by_mouse_and_keys
def test_log_level_debug_for_ten_minutes(begin: Begin, keys: bool):
    operator = begin("Log level debug for ten minutes", keys)
    page = operator.page
    operator.click("Metrics and checks")
    operator.click("Set the level")
    operator.done(within=2)
    expect(page.locator(".levels")).to_contain_text("debug until")
    operator.picture("log-level")
    page.get_by_role("button", name="Back to info now").click()
    expect(page.locator(".levels")).not_to_contain_text("debug")


@pytest.mark.slow
def test_add_a_record_to_a_zone(begin: Begin, demo: Server):
    operator = begin("Add a record to a zone")
    page = operator.page
    operator.click("Zones")
    row = page.locator("#result_list th", has_text="Office services")
    operator.click("Office services", row.get_by_role("link"))
    operator.click("Add a record")
    for word in ("typed", "A", "10.9.8.7"):
        page.keyboard.type(word)
        page.keyboard.press("Tab")
    operator.click("Save")
    expect(page.locator(".messagelist")).to_contain_text("was changed successfully")
    operator.done(within=4)
    [office] = named(demo, "dns/zones", "Office services")
    made = [(record["name"], record["content"]) for record in office["records"]]
    typed = f"typed.{office['domain']}"
    assert [content for name, content in made if name == typed] == ["10.9.8.7"]


@pytest.mark.slow
def test_undo_a_change(begin: Begin, demo: Server):
    demo.ask("POST", "/api/groups", {"name": "by mistake", "peers": []})
    operator = begin("Undo a change")
    operator.page.reload()
    operator.click("A group was created")
    operator.click("take it back")
    operator.picture("take-back")
    operator.click("Take back")
    expect(operator.page.locator(".messagelist")).to_be_visible()
    operator.done(within=4)
    assert named(demo, "groups", "by mistake") == []


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_setup_key_and_the_peer_that_comes_online(begin: Begin, demo: Server):
    operator = begin("Make a setup key and watch the peer come online")
    page = operator.page
    operator.click("Setup keys")
    operator.click("Add setup key")
    operator.type("[name=name]", "new laptops")
    operator.click("Save")
    operator.click("Copy", page.locator("[data-copy]"))
    key = operator.copied()
    operator.click("Overview")
    online = page.locator("a[href*='state=connected']").first
    expect(online).to_contain_text("0")
    deployment = Deployment(demo)
    deployment.start()
    command = [sys.executable, str(BASE_DIR / "manage.py"), "simulate_peers", "1"]
    machine = subprocess.Popen(
        [*command, "--url", deployment.url, "--setup-key", key.split()[-1]],
        env=demo.environ,
    )
    try:
        expect(online).to_contain_text("1", timeout=120_000)  # it renews itself
        operator.picture("online")
        operator.click("The number online", online)
        expect(page.locator("#result_list tbody tr")).to_have_count(1)
        operator.done(within=6)
    finally:
        machine.terminate()
        machine.wait(60)
        deployment.stop()
    [used] = named(demo, "setup-keys", "new laptops")
    assert used["used_times"] == 1


@pytest.mark.slow
@by_mouse_and_keys
def test_block_a_peer(begin: Begin, demo: Server, keys: bool):
    name = "nuno-tablet" if keys else "rui-simulator"
    operator = begin("Block a peer", keys)
    operator.find(f"block {name}")
    expect(operator.page.get_by_role("heading", level=1)).to_contain_text("Block")
    operator.picture("block-peer")
    operator.click("Block")
    expect(operator.page.locator(".messagelist")).to_contain_text("1 peer blocked")
    operator.done(within=2)
    [peer] = named(demo, "peers", name)
    assert peer["approval_required"]


@pytest.mark.slow
def test_where_a_request_was_refused(begin: Begin, demo: Server):
    entry = proxy(host="refusing.test", path="/door", status_code=403)
    entry |= {"reason": "no such group", "timestamp": moment()}
    demo.ask("POST", "/api/events/proxy", [entry])
    operator = begin("Where a request was refused")
    operator.click("Proxy logs")
    operator.click("Refused today, top addresses")
    operator.done(within=2)
    row = operator.page.locator("#result_list tbody tr", has_text="refusing.test").first
    for said in ("/door", "403", "no such group"):
        expect(row).to_contain_text(said)
    operator.picture("refused")


@pytest.mark.slow
def test_export_a_week_of_the_traffic_of_a_peer(begin: Begin, demo: Server):
    peers = {peer["name"]: peer["id"] for peer in demo.ask("GET", "/api/peers")}
    mine = {"reporter_id": peers["elin-laptop"]}
    ages = (1, 6 * 24 * 60, 8 * 24 * 60)
    flows = [traffic(id=f"week-{n}", window_end=moment(n), **mine) for n in ages]
    other = traffic(id="week-other", reporter_id=peers["build-01"])
    demo.ask("POST", "/api/events/network-traffic", [*flows, other])
    operator = begin("Export a peer's week of traffic")
    operator.find("elin-laptop")
    operator.click("Its own reports of 7 days")
    with operator.page.expect_download() as started:
        operator.click("CSV")
    operator.done(within=3)
    text = started.value.path().read_text("utf-8")
    assert re.findall(r"week-\w+", text) == [f"week-{n}" for n in ages[:2]]


@pytest.mark.slow
@by_mouse_and_keys
def test_rotate_a_key(begin: Begin, demo: Server, keys: bool):
    name = "gateways" if keys else "build servers"
    operator = begin("Rotate a token or key", keys)
    operator.find(f"rotate {name}")
    operator.click("Rotate")
    operator.click("Copy", operator.page.locator("[data-copy]"))
    assert re.search(r"[0-9A-F]{8}-", operator.copied())
    operator.done(within=3)
    assert len(named(demo, "setup-keys", name)) == 2


@pytest.mark.slow
def test_subscribe_a_webhook(begin: Begin, demo: Server):
    operator = begin("Send events to a webhook")
    page = operator.page
    operator.click("Subscriptions")
    operator.click("Add subscription")
    operator.click("Webhook address", page.locator("[name=url]"))
    page.keyboard.type("https://alerts.example/hook")
    page.keyboard.press("Tab")
    page.keyboard.type("alerts")
    operator.click("Save")
    operator.click("Copy")
    assert operator.copied().startswith("whsec_")
    operator.done(within=5)
    kept = demo.ask("GET", "/api/events/subscriptions")
    urls = [subscription["target"]["url"] for subscription in kept]
    assert urls.count("https://alerts.example/hook") == 1


@pytest.mark.slow
def test_pictures_of_the_documentation(begin: Begin, demo: Server):
    """`make pictures` runs this one alone, so that they show the demo data as it comes."""
    peer = named(demo, "peers", "elin-laptop")[0]["id"]
    asked = f"peer={peer}&name=telemetry-b.db.halden.internal&type=A"
    operator = begin("Log level debug for ten minutes")
    for name, path, ready in (
        ("overview", "/admin/", "warning"),
        ("explain", f"/admin/dns/zone/explain/?{asked}", "What would change that"),
        ("traffic", "/admin/events/trafficevent/", "in all"),
    ):
        for theme in THEMES:
            file = name if theme == "light" else f"{name}-{theme}"
            operator.page.emulate_media(color_scheme=theme)
            operator.page.goto(f"{demo.url}{path}")
            operator.page.get_by_text(ready).first.wait_for()
            operator.page.wait_for_load_state("networkidle")
            operator.picture(file)
            assert (operator.pictures / f"{file}.png").stat().st_size < MOST_BYTES
