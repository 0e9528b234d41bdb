"""How many of our files a reader goes through to follow a write."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Final

import pytest

from meshmgmt.env import BASE_DIR
from tests.dns.bodies import created, record, zone
from tests.people import api_as

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


def test_a_new_record_comes_through_few_files() -> None:
    api = api_as("owner")
    made = created(api.post("/api/dns/zones", zone()))
    path = f"/api/dns/zones/{made['id']}/records"
    created(api.post(path, record()))  # what is read once is known from here on

    files = entered(lambda: created(api.post(path, record(name="db.svc.test"))))

    assert "dns/services/records.py" in files
    assert len(files) <= 47, files


def test_the_deletion_of_an_unused_group_comes_through_few_files() -> None:
    api = api_as("owner")
    first, second = (
        f"/api/groups/{created(api.post('/api/groups', {'name': name}))['id']}"
        for name in ("first", "second")
    )
    created(api.delete(first))  # what is read once is known from here on

    files = entered(lambda: created(api.delete(second)))

    assert "groups/services.py" in files
    assert len(files) <= 46, files
