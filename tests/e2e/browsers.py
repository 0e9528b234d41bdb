"""A real browser for tests that need one."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes.util import find_library
from typing import Any, Final, Literal

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.servers import Server

OWNER: Final = "owner@mesh.internal"
DEMO_OWNER: Final = "mara.lindqvist@halden.internal"
THEMES: Final[tuple[Literal["light", "dark"], ...]] = ("light", "dark")
_CHROMIUM: Final = (
    shutil.which("chromium-headless-shell")
    or shutil.which("chromium")
    or shutil.which("chromium-browser")
)

needs_a_browser: Final = [
    pytest.mark.slow,
    # Where all must run, a browser that is not found is a failure.
    pytest.mark.skipif(
        _CHROMIUM is None and "CI" not in os.environ,
        reason="chromium is not installed",
    ),
    pytest.mark.skipif(
        find_library("atomic") is None,
        reason="libatomic, which playwright needs, is not",
    ),
]


@contextmanager
def chromium() -> Iterator[Browser]:
    """Yield a browser without pages."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=_CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


def sign_in(page: Page, email: str, password: str) -> None:
    """Fill in the sign-in page that is shown, and wait for the next one."""
    page.fill("[name=username]", email)
    page.fill("[name=password]", password)
    page.click("[type=submit]")
    page.wait_for_url("**/admin/")


def signed_in(browser: Browser, server: Server, **options: Any) -> Page:
    """Return the first page of the admin site, of the owner."""
    page = browser.new_page(base_url=server.url, **options)
    page.goto("/admin/login/?next=/admin/")
    sign_in(page, OWNER, owner_password(server))
    return page


def owner_password(server: Server) -> str:
    """Return the password that `manage.py welcome` made."""
    return (server.folder / "admin_password").read_text().strip()
