"""The admin's page of a peer's network map."""

import os
import time
from collections.abc import Iterator

import pytest

from meshmgmt.control.admin import ROWS, standing
from meshmgmt.control.server import figures
from meshmgmt.core import runtime
from meshmgmt.inventory.models import Peer
from tests.admin.signed_in import client_of
from tests.factories import group, peer, peers, rule
from tests.people import person

pytestmark = pytest.mark.django_db
PAGE = "/admin/control/proxytoken/netmap/"


@pytest.fixture
def process(settings) -> Iterator[figures.Figures]:
    """Yield what a process left that lives."""
    folder = settings.SVC.runtime_dir
    held = runtime.lock(folder, "peers.lock", "a test")
    left = figures.Figures(os.getpid(), time.time(), "", 1, 0, 0.0, 7, "this", {})
    figures.write(folder, left)
    yield left
    figures.forget(folder)
    os.close(held)


def connected(process_id: str) -> Peer:
    return peer("web", connected=True, stream_process=process_id)


def test_the_page_of_a_peer_leads_to_its_map_as_tables_with_links():
    web, db = peer("web"), peer("db", dns_label="db", ip="100.80.0.7")
    made = rule([group("left", web)], [group("right", db)])
    client = client_of(person("owner"))
    at = f"{PAGE}{web.pk}/"
    assert at in client.get(f"/admin/inventory/peer/{web.pk}/change/").content.decode()
    text = client.get(at).content.decode()
    assert "Peers: 1" in text
    assert f'<a href="/admin/inventory/peer/{db.pk}/change/"><bdi>db</bdi></a>' in text
    assert "100.80.0.7" in text
    assert f"/admin/access/policy/{made.policy_id}/change/" in text
    assert "Routes: none" in text
    assert "serial" in text
    assert "not connected" in text
    assert client.get(f"{PAGE}nobody/").status_code == 404


def test_a_large_map_comes_in_pages_and_is_searched():
    web, *others = peers(120)
    wanted = peer("needle", dns_label="needle")
    everybody = group("everybody", web, wanted, *others)
    rule([everybody], [everybody])
    client = client_of(person("owner"))
    first = client.get(f"{PAGE}{web.pk}/")
    [part] = [p for p in first.context["parts"] if p["table"].name == "peers"]
    assert (part["page"].paginator.count, len(part["rows"])) == (120, ROWS)
    [(word, following)] = part["ways"]
    assert word == "Next"
    second = client.get(f"{PAGE}{web.pk}/{following}")
    shown = second.context["parts"][0]["rows"]
    assert shown[0] != part["rows"][0]
    found = client.get(f"{PAGE}{web.pk}/", {"search": "NEEDLE"})
    assert "Peers: 1 of 120" in found.content.decode()
    assert wanted.pk in found.content.decode()


@pytest.mark.parametrize(
    ("serving", "serial", "text"),
    [
        ("this", 7, "Up to date"),
        ("this", 8, "on its way"),
        ("other", 7, "on the host that serves it"),
    ],
)
def test_a_peer_is_told_to_have_its_map_by_the_process_that_serves_it_alone(
    process, serving, serial, text
):
    assert text in standing(connected(serving), serial)


@pytest.mark.parametrize(
    ("held", "text"),
    [(6, "has the map of serial 6 and waits"), (0, "has none yet and waits")],
)
def test_a_peer_that_waits_is_shown_with_the_map_it_has(process, settings, held, text):
    web = connected("this")
    waiting = {web.pk: (time.time() - 9, held)}
    waits = figures.Figures(os.getpid(), time.time(), "", 1, 0, 9.0, 7, "this", waiting)
    figures.write(settings.SVC.runtime_dir, waits)
    assert text in standing(web, 7)
