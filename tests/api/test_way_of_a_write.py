"""How many of our files a reader goes through to follow a write."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Final

import pytest

from meshmgmt.env import BASE_DIR
from tests.api_client import Api
from tests.dns.bodies import record, zone
from tests.resource_contract import ok

pytestmark = pytest.mark.django_db

ROOMS: Final = tuple(
    f"{BASE_DIR / room}/"
    for room in ("meshmgmt", "dns", "groups", "events", "observability")
)


def entered(call: Callable[[], object]) -> list[str]:
    """Return our files that have a function which a call comes to."""
    found = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            found.add(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return sorted(
        path.removeprefix(f"{BASE_DIR}/") for path in found if path.startswith(ROOMS)
    )


def test_a_new_record_comes_through_few_files(api: Api):
    made = ok(api.post("/api/dns/zones", zone()))
    path = f"/api/dns/zones/{made['id']}/records"
    ok(api.post(path, record()))  # what is read once is known from here on

    files = entered(lambda: ok(api.post(path, record(name="db.svc.test"))))

    assert "dns/services/zones.py" in files
    assert len(files) <= 37, files


def test_the_deletion_of_an_unused_group_comes_through_few_files(api: Api):
    first, second = (
        f"/api/groups/{ok(api.post('/api/groups', {'name': name}))['id']}"
        for name in ("first", "second")
    )
    ok(api.delete(first))  # what is read once is known from here on

    files = entered(lambda: ok(api.delete(second)))

    assert "groups/services.py" in files
    assert len(files) <= 35, files
