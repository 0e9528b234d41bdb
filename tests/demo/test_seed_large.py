"""`manage.py seed --profile large`: its size, and what one of its peers gets."""

import pytest
from django.core.management import call_command

from dns.models import NameserverGroup, Record, Zone, ZoneGroup
from events.models import AuditEvent
from groups.models import ALL, Group, GroupPeer
from meshmgmt.access.models import PolicyRule
from meshmgmt.inventory.models import Peer

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def visible_by_policy(peer: Peer) -> set[str]:
    """Return the peers on the other side of every rule that names a group of `peer`."""
    mine = set(GroupPeer.objects.filter(peer=peer).values_list("group_id", flat=True))
    others: set[str] = set()
    for rule in PolicyRule.objects.prefetch_related(
        "source_links", "destination_links"
    ):
        sides = [
            {link.group_id for link in rule.source_links.all()},
            {link.group_id for link in rule.destination_links.all()},
        ]
        for near, far in (sides, sides[::-1]):
            if mine & near:
                members = GroupPeer.objects.filter(group__in=far)
                others.update(members.values_list("peer_id", flat=True))
    return others - {peer.pk}


def test_the_large_mesh_has_the_promised_size_and_shape():
    call_command("seed", "--profile", "large", "--json")
    assert Peer.objects.count() == 5000
    assert Group.objects.exclude(name=ALL).count() == 500
    assert GroupPeer.objects.count() == 50_000
    assert (Zone.objects.count(), Record.objects.count()) == (200, 20_000)
    assert NameserverGroup.objects.count() >= 6
    added = AuditEvent.objects.filter(activity_code="peer.group.add")
    assert added.count() == 50_000
    for peer in Peer.objects.all()[::500]:
        assert 190 <= len(visible_by_policy(peer)) <= 200
        # Ids in lists: the planner knows nothing of rows that are not committed.
        groups = list(
            GroupPeer.objects.filter(peer=peer).values_list("group", flat=True)
        )
        served = ZoneGroup.objects.filter(group__in=groups)
        zones = set(served.values_list("zone", flat=True))
        assert 8 <= len(zones) <= 10
        assert 800 <= Record.objects.filter(zone__in=zones).count() <= 1000
