"""`manage.py seed`: what it needs, when nothing is written, what a large inventory is."""

import json
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction

from dns.models import NameserverGroup, Record, Zone, ZoneGroup
from dns.selectors import zone_rows
from events.models import AuditEvent, ProxyEntry, TrafficEvent
from groups.models import ALL, Group, GroupPeer
from groups.selectors import group_rows
from groups.services import group_create
from meshmgmt.access.models import PolicyRule
from meshmgmt.accounts.models import User
from meshmgmt.core import clock
from meshmgmt.demo import streams
from meshmgmt.inventory.models import Peer
from tests import people
from tests.commands import printed

pytestmark = pytest.mark.django_db


def seed(*arguments: str) -> dict[str, Any]:
    """Run the command and return its result."""
    result: dict[str, Any] = json.loads(printed("seed", "--json", *arguments))
    return result


def shape() -> dict[str, Any]:
    """Return the mesh without ids, times and secrets."""
    names = dict(Group.objects.values_list("pk", "name"))
    events = AuditEvent.objects.order_by("id").exclude(activity_code="account.create")
    return {
        "peers": list(Peer.objects.values_list("name", "ip", "wg_public_key")),
        "groups": [(x["name"], [y["name"] for y in x["peers"]]) for x in group_rows()],
        "zones": [
            (
                row["name"],
                [names[group] for group in row["distribution_groups"]],
                [(r["name"], r["content"], r["ttl"]) for r in row["records"]],
            )
            for row in zone_rows()
        ],
        "nameservers": list(NameserverGroup.objects.values_list("name", "nameservers")),
        "history": list(events.values_list("activity_code", "initiator_email")),
    }


def seeded_shape(random_seed: int) -> dict[str, Any]:
    """Seed, return the shape, and undo everything."""
    with transaction.atomic():
        seed("--random-seed", str(random_seed))
        found = shape()
        transaction.set_rollback(True)
    return found


@pytest.mark.slow
def test_the_same_random_seed_gives_the_same_mesh():
    first, second, other = (seeded_shape(number) for number in (7, 7, 8))
    assert first == second
    assert first["peers"] != other["peers"]
    assert first["history"] != other["history"]


def test_a_database_with_other_data_is_refused():
    group_create(name="mine")
    before = AuditEvent.objects.count()
    with pytest.raises(CommandError, match="1 groups"):
        call_command("seed")
    assert AuditEvent.objects.count() == before
    assert not seed("--if-empty")["seeded"]
    assert not Peer.objects.exists()


def test_a_failure_in_the_middle_leaves_nothing(monkeypatch: pytest.MonkeyPatch):
    def fail(*facts: object) -> None:
        raise KeyboardInterrupt  # somebody pressed Ctrl-C

    before = AuditEvent.objects.count()
    monkeypatch.setattr("meshmgmt.demo.byname.ttl_changed", fail)
    with pytest.raises(KeyboardInterrupt):
        seed()
    assert AuditEvent.objects.count() == before
    assert not Peer.objects.exists()
    assert not User.objects.exists()


def test_its_events_are_no_older_than_what_is_kept(settings: Any):
    settings.SVC = replace(settings.SVC, traffic_retention_days=1)
    now, chance = clock.now(), Random(1)
    drawn = [streams._moment(chance, now) for _ in range(200)]
    assert timedelta(hours=20) < now - min(drawn) < timedelta(hours=22)


@pytest.mark.slow
def test_a_day_of_retention_is_enough_beside_users_and_shows_no_progress_bar(
    settings: Any, capsys: pytest.CaptureFixture[str]
):
    """Users and tokens are no other data, and nobody would see the bar."""
    people.token_of(people.person("owner"))
    day = {"traffic_retention_days": 1, "proxy_retention_days": 1}
    settings.SVC = replace(settings.SVC, **day)
    call_command("seed")
    assert capsys.readouterr().err == ""
    assert User.objects.count() == 13
    assert TrafficEvent.objects.count() == streams.FLOWS + streams.REFUSED
    assert ProxyEntry.objects.count() == streams.VISITS + streams.GUESSES


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


@pytest.mark.slow
def test_the_large_mesh_has_the_promised_size_and_shape():
    seed("--profile", "large")
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
