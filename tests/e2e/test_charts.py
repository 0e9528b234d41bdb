"""The charts of the explorers in a real browser."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from meshmgmt.core import clock
from tests.e2e.browsers import needs_a_browser, signed_in
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

POINTS = """() => {
  const chart = Chart.getChart("chart-series");
  return chart.data.datasets.flatMap((dataset, n) => dataset.data.flatMap((value, at) => {
    const point = chart.getDatasetMeta(n).data[at];
    const x = Math.min(point.x, chart.width - 1);
    return value ? [{ group: dataset.label, value, x, y: point.y }] : [];
  }));
}"""


@pytest.fixture
def owner(server: Server, browser: Browser) -> Iterator[Page]:
    """A small dark screen, with the owner signed in."""
    small = {"width": 400, "height": 900}
    page = signed_in(browser, server, viewport=small, color_scheme="dark")
    yield page
    page.close()


@pytest.fixture
def explorer(server: Server, owner: Page) -> Page:
    """The traffic explorer, with something to draw."""
    ends = ("", "-01.internal", "-02.internal")
    names = [*(f"{LONG_NAME}{end}" for end in ends), "m" * 60]
    events = [
        traffic(source={"id": name, "name": name}, rx_bytes=5 * 1024 * 1024)
        for name in names
    ]
    server.ask("POST", "/api/events/network-traffic", events)
    owner.goto(f"{server.url}/admin/events/trafficevent/")
    owner.get_by_text("in all").wait_for()
    return owner


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


def test_a_point_leads_to_the_events_that_it_counts(server: Server, owner: Page):
    day = (clock.now() - timedelta(days=2)).date()
    times = {
        "one": ["10:20:29.9", "10:20:30.5", "10:40:59.999700", "11:20:10", "11:20:20"],
        "two": ["10:40:00", "10:40:01", "10:41:00", "11:20:20.25", "11:20:20.250001"],
    }
    events = [
        traffic(source={"id": name, "name": name}, window_end=f"{day}T{at}Z")
        for name, each in times.items()
        for at in each
    ]
    server.ask("POST", "/api/events/network-traffic", events)
    span = f"start_date={day}T10:20:30.5Z&end_date={day}T11:20:20.25Z"
    address = f"{server.url}/admin/events/trafficevent/?group_by=source&metric=flows"
    found = []
    for number in range(6):
        owner.goto(f"{address}&{span}")
        owner.get_by_text("8 flows in all").wait_for()
        point = owner.evaluate(POINTS)[number]
        with owner.expect_navigation():
            place: Any = {axis: point[axis] for axis in "xy"}
            owner.locator("#chart-series").click(position=place)
        sources = owner.locator("[data-key] .field-source").all_inner_texts()
        group, value = point["group"], point["value"]
        assert [text.split()[0] for text in sources] == [group] * value
        found.append((group, value))
    wanted = {"one": (1, 1, 2), "two": (2, 1, 1)}
    assert found == [(name, n) for name, numbers in wanted.items() for n in numbers]


def test_one_hour_is_drawn_by_the_minute(server: Server, owner: Page):
    # The server is that of all tests here: a day on which others have no events.
    day = (clock.now() - timedelta(days=3)).date()
    events = [traffic(window_end=f"{day}T10:{minute}:00Z") for minute in (20, 40)]
    server.ask("POST", "/api/events/network-traffic", events)
    span = f"start_date={day}T10:00:00Z&end_date={day}T10:59:59.999999Z"
    owner.goto(f"{server.url}/admin/events/trafficevent/?metric=flows&{span}")
    owner.get_by_text("in all").wait_for()
    assert owner.evaluate("Chart.getChart('chart-series').data.labels.length") == 60
