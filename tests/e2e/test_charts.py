"""The charts of the explorers in a real browser."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.e2e.browsers import OWNER, needs_a_browser, owner_password, sign_in
from tests.events.samples import traffic
from tests.servers import Server

LONG_NAME = "a-machine-with-a-name-" + "m" * 40

# What browsers show does not differ by database.
pytestmark = [*needs_a_browser, pytest.mark.sqlite]

DRAWN = """() => {
  const top = Chart.getChart("chart-top"), series = Chart.getChart("chart-series");
  const variable = (name) =>
    getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const hint = (chart, axis) => chart.options.plugins.tooltip.callbacks.label(
    { dataset: { label: "bytes" }, parsed: { [axis]: 3 * 1024 * 1024 } });
  const room = ({ ctx, options, ticks, width }) => {
    ctx.font = Chart.helpers.toFont(options.ticks.font).string;
    const widest = Math.max(...ticks.map((tick) => ctx.measureText(tick.label).width));
    return width - options.ticks.padding - options.grid.tickLength - widest;
  };
  return {
    amounts: top.scales.x.ticks.concat(series.scales.y.ticks).map((tick) => tick.label),
    names: top.scales.y.ticks.map((tick) => tick.label),
    room: room(top.scales.y),
    hints: [hint(top, "x"), hint(series, "y")],
    colours: [top, series].flatMap((chart) =>
      ["x", "y"].map((axis) => chart.options.scales[axis].ticks.color)),
    text: variable("--body-fg"),
    background: getComputedStyle(document.querySelector(".panel")).backgroundColor,
    wide: document.documentElement.scrollWidth > window.innerWidth,
  };
}"""


@pytest.fixture
def explorer(server: Server, browser: Browser) -> Iterator[Page]:
    """The traffic explorer on a small dark screen, with something to draw."""
    names = [
        LONG_NAME,
        f"{LONG_NAME}-01.internal",
        f"{LONG_NAME}-02.internal",
        "m" * 60,
    ]
    events = [
        traffic(source={"id": name, "name": name}, rx_bytes=5 * 1024 * 1024)
        for name in names
    ]
    server.ask("POST", "/api/events/network-traffic", events)
    page = browser.new_page(viewport={"width": 400, "height": 900}, color_scheme="dark")
    page.goto(f"{server.url}/admin/login/")
    sign_in(page, OWNER, owner_password(server))
    page.goto(f"{server.url}/admin/events/trafficevent/")
    page.get_by_text("in all").wait_for()
    yield page
    page.close()


def test_charts_write_bytes_with_units_and_follow_the_theme(explorer: Page):
    dark: dict[str, Any] = explorer.evaluate(DRAWN)
    assert "4 MiB" in dark["amounts"]
    assert dark["hints"] == ["bytes: 3 MiB"] * 2
    assert set(dark["colours"]) == {dark["text"]}
    ends = {n.partition("…")[2] for n in dark["names"] if n.startswith("a-mach")}
    assert ends == {"", "1.internal", "2.internal"}
    assert dark["room"] >= 0
    assert not dark["wide"]
    explorer.evaluate("document.documentElement.dataset.theme = 'light'")
    explorer.wait_for_function(
        f"Chart.getChart('chart-top').options.scales.x.ticks.color != '{dark['text']}'"
    )
    light: dict[str, Any] = explorer.evaluate(DRAWN)
    assert set(light["colours"]) == {light["text"]}
    assert light["text"] != dark["text"]
    assert light["background"] != dark["background"]
