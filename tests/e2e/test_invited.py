"""Inviting a person who then signs in, in a real browser, as `docs/admin.md` tells it."""

import re

import pytest

from tests.e2e.browsers import OWNER, chromium, needs_a_browser, owner_password, sign_in
from tests.servers import Server

pytestmark = needs_a_browser

STRONG = "Correct-Horse-1"


@pytest.mark.slow
def test_an_invited_person_joins_by_the_copied_link_and_signs_in(
    server: Server,
) -> None:
    with chromium() as browser:
        desk = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
        operator = desk.new_page()
        operator.goto(f"{server.url}/admin/login/?next=/admin/")
        sign_in(operator, OWNER, owner_password(server))
        operator.goto(f"{server.url}/admin/access/invite/add/")
        operator.fill("[name=email]", "ann@mesh.dev")
        operator.fill("[name=name]", "Ann")
        operator.select_option("[name=role]", "auditor")
        operator.click("[name=_save]")
        operator.click("[data-copy]")
        operator.get_by_role("button", name="Copied").wait_for()
        link = operator.evaluate("navigator.clipboard.readText()")
        assert re.fullmatch(rf"{server.url}/invite/mpi_\w{{36}}", link)

        invited = browser.new_context().new_page()
        sent: list[str] = []
        invited.on(
            "request", lambda request: sent.append(request.headers.get("referer", ""))
        )
        invited.goto(link)
        assert invited.input_value("[name=name]") == "Ann"
        invited.fill("[name=password]", STRONG)
        invited.fill("[name=password_again]", STRONG)
        invited.click("text=Join")
        invited.get_by_text("Welcome, Ann: you can sign in now.").wait_for()
        sign_in(invited, "ann@mesh.dev", STRONG)
        assert sent
        assert not [referer for referer in sent if "mpi_" in referer]
