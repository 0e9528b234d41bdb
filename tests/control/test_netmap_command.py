"""`manage.py netmap`: what an operator sees of a peer's map."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from meshmgmt.access.models import Policy, PolicyPostureCheck, PostureCheck
from meshmgmt.accounts.services.users import user_set_blocked
from meshmgmt.core.orderedlinks import set_members
from meshmgmt.core.transactions import account_write
from meshmgmt.inventory.models import Peer
from tests.factories import changed, group, peer, rule
from tests.people import person

pytestmark = pytest.mark.django_db


def shown(reference: str, *options: str) -> str:
    out = StringIO()
    call_command("netmap", reference, *options, stdout=out)
    return out.getvalue()


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
    assert message["NetworkMap"]["firewallRulesIsEmpty"] is True
    assert message["NetworkMap"]["routesFirewallRulesIsEmpty"] is True
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
    call_command("seed", stdout=StringIO(), stderr=StringIO())
    assert not Peer.objects.filter(connected=True).exists()  # nobody holds a stream
    assert "why it has no DNS" in shown("gw-gbg-01")
    for peer_id in Peer.objects.values_list("pk", flat=True):
        text = shown(peer_id)
        assert "peers:" in text
        assert ("why it is empty" in text) is ("peers: none" in text)
        assert json.loads(shown(peer_id, "--json"))["peerConfig"]["address"]
