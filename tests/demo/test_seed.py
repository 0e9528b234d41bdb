"""`manage.py seed`: the demo company, its history, and when nothing is written."""

import datetime as dt
import itertools
import json
import re
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction

from dns.models import NameserverGroup, Record, Zone
from dns.selectors.nameservers import nameserver_group_rows
from dns.selectors.zones import zone_rows
from events.models import AuditEvent
from groups.models import ALL, Group
from groups.selectors import group_rows
from groups.services import group_create
from meshmgmt.access.models import Policy, Route, SetupKey
from meshmgmt.accounts.models import User
from meshmgmt.core import clock
from meshmgmt.demo import company, streams
from meshmgmt.demo.seeding import counts
from meshmgmt.inventory.expiry import expire_logins
from meshmgmt.inventory.models import Network, NetworkResource, Peer
from tests import people
from tests.demo import replay

pytestmark = pytest.mark.django_db


def seed(*arguments: str) -> dict[str, Any]:
    """Run the command and return its result."""
    printed = StringIO()
    call_command("seed", "--json", *arguments, stdout=printed)
    result: dict[str, Any] = json.loads(printed.getvalue())
    return result


def test_the_demo_has_the_promised_size() -> None:
    result = seed()
    assert result["seeded"]
    assert User.objects.count() == 12
    assert Peer.objects.count() == 40
    assert Group.objects.exclude(name=ALL).count() == 10
    assert NameserverGroup.objects.count() == 6
    assert (Zone.objects.count(), Record.objects.count()) == (4, 60)
    for model in (Policy, Route, Network, NetworkResource, SetupKey):
        assert model.objects.exists()
    assert result["counts"] == counts()


def test_replaying_the_audit_trail_gives_the_present_state() -> None:
    seed()
    told, stored = replay.replayed(), replay.stored()
    assert told.values == stored.values
    assert told.members == stored.members


def test_the_history_covers_a_week_in_order_and_names_the_actors() -> None:
    first = AuditEvent.objects.order_by("id").last()
    assert first is not None
    seed()
    events = list(AuditEvent.objects.filter(id__gt=first.id).order_by("id"))
    moments = [event.timestamp for event in events]
    assert moments == sorted(moments)
    assert moments[-1] < clock.now()
    assert len({moment.date() for moment in moments}) == 7
    assert clock.now() - moments[0] < dt.timedelta(days=8)
    named = {event.initiator_email for event in events}
    assert len(named & set(User.objects.values_list("email", flat=True))) > 5
    assert all(event.request_id for event in events)


def test_the_history_shows_most_kinds_of_change() -> None:
    seed()
    codes = set(AuditEvent.objects.values_list("activity_code", flat=True))
    assert len(codes) > 30
    assert {"user.block", "user.peer.delete", "group.delete", "policy.delete"} <= codes
    assert AuditEvent.objects.filter(meta__has_key="reason").exists()


def test_peers_of_the_demo_stay_signed_in_for_weeks() -> None:
    seed()
    assert not Peer.objects.filter(login_expired=True).exists()
    with clock.set_to(clock.now() + dt.timedelta(days=30)):
        assert expire_logins() == 0
    assert Peer.objects.filter(login_expiration_enabled=True).exists()


def test_times_of_objects_are_those_of_their_events() -> None:
    seed()
    for group in Group.objects.exclude(name=ALL):
        event = AuditEvent.objects.get(activity_code="group.add", target_id=group.pk)
        assert abs(event.timestamp - group.created_at) < dt.timedelta(seconds=30)


def shape() -> dict[str, Any]:
    """Return the mesh without ids, times and secrets."""
    names = dict(Group.objects.values_list("pk", "name"))
    events = AuditEvent.objects.order_by("id").exclude(activity_code="account.create")
    return {
        "peers": list(Peer.objects.values_list("name", "ip", "wg_public_key")),
        "groups": [
            (row["name"], [peer["name"] for peer in row["peers"]])
            for row in group_rows()
        ],
        "zones": [
            (
                row["name"],
                [names[group] for group in row["distribution_groups"]],
                [(r["name"], r["content"], r["ttl"]) for r in row["records"]],
            )
            for row in zone_rows()
        ],
        "nameservers": [(r["name"], r["nameservers"]) for r in nameserver_group_rows()],
        "history": list(events.values_list("activity_code", "initiator_email")),
    }


def seeded_shape(random_seed: int) -> dict[str, Any]:
    """Seed, return the shape, and undo everything."""
    with transaction.atomic():
        seed("--random-seed", str(random_seed))
        found = shape()
        transaction.set_rollback(True)
    return found


def test_the_same_random_seed_gives_the_same_mesh() -> None:
    first, second, other = (seeded_shape(number) for number in (7, 7, 8))
    assert first == second
    assert first["peers"] != other["peers"]
    assert first["history"] != other["history"]


def test_a_second_run_changes_nothing_and_ends_well() -> None:
    seed()
    before = (counts(), AuditEvent.objects.count())
    assert not seed()["seeded"]
    assert not seed("--if-empty")["seeded"]
    assert not seed("--random-seed", "99")["seeded"]
    assert (counts(), AuditEvent.objects.count()) == before


def test_users_and_tokens_are_no_other_data() -> None:
    people.token_of(people.person("owner"))
    assert seed()["seeded"]
    assert User.objects.count() == 13


def test_a_database_with_other_data_is_refused() -> None:
    group_create(name="mine")
    before = AuditEvent.objects.count()
    with pytest.raises(CommandError, match="1 groups"):
        call_command("seed")
    assert AuditEvent.objects.count() == before
    assert not seed("--if-empty")["seeded"]
    assert not Peer.objects.exists()


def test_the_large_profile_is_refused_where_the_demo_is() -> None:
    seed()
    with pytest.raises(CommandError, match="40 peers"):
        call_command("seed", "--profile", "large")


def test_a_failure_in_the_middle_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*facts: object) -> None:
        raise KeyboardInterrupt  # somebody pressed Ctrl-C

    before = AuditEvent.objects.count()
    monkeypatch.setattr("meshmgmt.demo.week._change_ttl", fail)
    with pytest.raises(KeyboardInterrupt):
        seed()
    assert AuditEvent.objects.count() == before
    assert not Peer.objects.exists()
    assert not User.objects.exists()


def test_names_stay_clear_of_what_examples_and_tests_use() -> None:
    seed()
    texts = itertools.chain(
        Group.objects.values_list("name", flat=True),
        Peer.objects.values_list("name", flat=True),
        User.objects.values_list("email", flat=True),
        Zone.objects.values_list("domain", flat=True),
        Zone.objects.values_list("name", flat=True),
        NameserverGroup.objects.values_list("name", flat=True),
        Record.objects.values_list("name", flat=True),
        itertools.chain.from_iterable(
            NameserverGroup.objects.values_list("domains", flat=True)
        ),
    )
    taken = re.compile(r"example\.|company\.com|^test|branch", re.IGNORECASE)
    assert [text for text in texts if taken.search(text)] == []


def test_no_progress_bar_where_nobody_would_see_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    call_command("seed")
    assert capsys.readouterr().err == ""


def test_the_streams_hold_the_companys_traffic_and_a_guesser() -> None:
    seed()
    api = people.api_as("auditor")
    page = api.get("/api/events/network-traffic?page_size=1").json
    assert page["total_records"] == streams.FLOWS
    assert page["data"][0]["source"]["dns_label"]
    assert page["data"][0]["user"]["email"]
    query = "group_by=source_ip,host&status=failed&metric=failures"
    top = api.get(f"/api/events/proxy/summary?{query}").json["groups"][0]
    assert top["key"] == {
        "source_ip": streams.GUESSER,
        "host": f"wiki.{company.DOMAIN}",
    }
    assert top["value"] == streams.GUESSES
