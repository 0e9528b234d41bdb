"""What an operator sees of a peer's map: `manage.py netmap`, and the admin's page."""

import json
import os
import time
from collections.abc import Iterator
from functools import partial

import pytest
from django.core.management import CommandError

from meshmgmt.access.models import Policy, PolicyPostureCheck, PostureCheck
from meshmgmt.accounts.services.users import user_set_blocked
from meshmgmt.control.admin import ROWS, standing
from meshmgmt.control.server import figures
from meshmgmt.core import runtime
from meshmgmt.core.orderedlinks import set_members
from meshmgmt.core.transactions import account_write
from meshmgmt.inventory.models import Peer
from tests.admin.signed_in import client_of
from tests.dns.test_commands import run
from tests.factories import changed, group, peer, peers, rule
from tests.people import person

pytestmark = pytest.mark.django_db


shown = partial(run, "netmap")


def test_map_is_shown_as_tables():
    left = group("left", peer("web", dns_label="web", version="0.77.1"))
    right = group("right", peer("db", dns_label="db", ip="100.80.0.7"))
    made = rule([left], [right])
    text = shown("web")
    assert "peers: 1\n  db  100.80.0.7" in text
    assert f"policy {made.policy.name}" in text
    assert "out  accept  all  1 peer" in text
    assert "why it is empty" not in text


def test_json_is_the_message():
    peer("web")
    message = json.loads(shown("web", "--json"))
    empty = dict.fromkeys(("firewallRulesIsEmpty", "routesFirewallRulesIsEmpty"), True)
    assert message["NetworkMap"] | empty == message["NetworkMap"]
    assert message["remotePeersIsEmpty"] is True


def test_unknown_peer_is_an_error():
    with pytest.raises(CommandError, match="no peer is known"):
        shown("nobody")


def test_reason_for_an_empty_map_is_told():
    owner = person()
    lonely, waiting = peer("lonely"), peer("waiting", approval_required=True)
    expired = peer("expired", login_expired=True, user=owner)
    assert "no policy names the peer" in shown(lonely.pk)
    assert "waits for approval" in shown(waiting.pk)
    assert "login of the peer expired" in shown(expired.pk)
    other = person()
    peer("blocked", user=other)
    user_set_blocked(user_id=other.pk, blocked=True)
    assert "owner of the peer is blocked" in shown("blocked")


def test_policies_that_name_the_peer_say_why_they_show_nobody():
    left, right = group("left", peer("web")), group("right")
    made = rule([left], [right])
    assert "nobody else is on its other side" in shown("web")
    with account_write():
        check = PostureCheck(
            name="new", checks={"nb_version_check": {"min_version": "9.0.0"}}
        )
        check.save()
        set_members(PolicyPostureCheck, made.policy, [check.pk])
    assert "does not pass new" in shown("web")
    changed(made, action="drop")
    assert "it only drops" in shown("web")
    changed(Policy.objects.get(pk=made.policy_id), enabled=False)
    assert "it is switched off" in shown("web")


@pytest.mark.slow
def test_every_demo_peer_has_a_map():
    run("seed")
    assert not Peer.objects.filter(connected=True).exists()  # nobody holds a stream
    assert "why it has no DNS" in shown("gw-gbg-01")
    for peer_id in Peer.objects.values_list("pk", flat=True):
        text = shown(peer_id)
        assert "peers:" in text
        assert ("why it is empty" in text) is ("peers: none" in text)
        assert json.loads(shown(peer_id, "--json"))["peerConfig"]["address"]


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
