"""Somebody who follows `docs/admin.md`: clicks what is bold there, and nothing else."""

import os
import re
from pathlib import Path
from typing import Final

from playwright.sync_api import Locator, Page

from meshmgmt.env import BASE_DIR

MOST_STEPS: Final = 5
MOST_TABS: Final = 120
BAR: Final = """(number) => {
  const chart = Chart.getChart("chart-top");
  const bar = chart.getDatasetMeta(0).data[number];
  return { x: (chart.scales.x.left + bar.x) / 2, y: bar.y };
}"""


def _told(task: str) -> tuple[int, list[str]]:
    """Return the clicks that the heading of a task promises, and what is bold in it."""
    page = (BASE_DIR / "docs" / "admin.md").read_text("utf-8")
    [(clicks, text)] = re.findall(
        rf"^### {re.escape(task)}: (\d+) clicks?\n(.*?)(?=^#|\Z)",
        page,
        re.MULTILINE | re.DOTALL,
    )
    steps = re.findall(r"^\d+\. ", text, re.MULTILINE)
    assert 0 < len(steps) <= MOST_STEPS
    return int(clicks), re.findall(r"\*\*(.+?)\*\*", text)


class Operator:
    """A signed-in person at the first page, whose clicks are counted.

    With `keys`, what is to be clicked is gone to with Tab, and pressed with Enter.
    """

    def __init__(self, page: Page, pictures: Path, task: str, keys: bool) -> None:
        self.page = page
        self.keys = keys
        self.pictures = Path(os.environ.get("SCREENSHOTS") or pictures)
        self.promised, self.told = _told(task)
        self.clicks: list[str] = []

    def click(self, name: str, target: Locator | None = None) -> None:
        """Click `target`, by default the link or button of this name."""
        page = self.page
        link, button = (
            page.get_by_role(role, name=name, exact=True) for role in ("link", "button")
        )
        found = link.or_(button) if target is None else target
        found = found.filter(visible=True).first
        if self.keys:
            self._tab_to(found)
            page.keyboard.press("Enter")
        else:
            found.click()
        self.clicks.append(name)

    def _tab_to(self, target: Locator) -> None:
        target.wait_for()
        for _ in range(MOST_TABS):
            if target.evaluate("target => target === document.activeElement"):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"Tab does not reach {target}")

    def find(self, words: str) -> None:
        """Open the search over everything, type, and go where its first line leads."""
        self.page.keyboard.press("Control+k")
        self.page.keyboard.type(words)
        with self.page.expect_navigation():  # the answer is waited for
            self.page.keyboard.press("Enter")

    def type(self, field: str, *texts: str) -> None:
        """Type into the field that has the focus, and into those that Tab leads to."""
        self.page.locator(f"{field}:focus").wait_for()
        for number, text in enumerate(texts):
            if number:
                self.page.keyboard.press("Tab")
            self.page.keyboard.type(text)

    def copied(self) -> str:
        """Return what is copied as soon as a button says that it is."""
        self.page.get_by_role("button", name="Copied").first.wait_for()
        text: str = self.page.evaluate("navigator.clipboard.readText()")
        return text

    def click_bar(self, name: str, number: int = 0) -> None:
        """Click a bar of the chart, counted from the top."""
        self.page.get_by_text("in all").wait_for()
        place = self.page.evaluate(BAR, number)
        self.page.locator("#chart-top").click(position=place)
        self.page.wait_for_load_state()
        self.clicks.append(name)

    def look_up(self, text: str) -> None:
        """Type a part of a name into the field that has the focus, and Enter."""
        self.page.keyboard.type(text)
        found = ".select2-results__option--highlighted"
        self.page.locator(found, has_text=text).wait_for()
        self.page.keyboard.press("Enter")

    def done(self, within: int) -> None:
        """Check that the steps were those of the documentation, and as few."""
        assert self.clicks == self.told
        assert len(self.clicks) == self.promised <= within

    def picture(self, name: str) -> None:
        """Keep a picture of what is shown."""
        self.pictures.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=self.pictures / f"{name}.png")
