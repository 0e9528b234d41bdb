"""The demo company that `manage.py seed` makes, and its history."""

import datetime as dt
import ipaddress
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.admin import site
from django.core.management import CommandError, call_command
from django.db import transaction
from django.test import RequestFactory
from pytest_django.plugin import DjangoDbBlocker

from dns.models import NameserverGroup, Record, Zone
from events.admin.objectpages import ObjectPages
from events.audit.specs import all_specs
from events.models import AuditEvent
from groups.models import ALL, Group
from meshmgmt.access.models import Policy, Route, SetupKey
from meshmgmt.accounts.models import User
from meshmgmt.core import clock
from meshmgmt.demo import company, streams
from meshmgmt.demo.people import DOMAIN
from meshmgmt.demo.seeding import counts
from meshmgmt.env import BASE_DIR
from meshmgmt.inventory.models import Network, NetworkResource, Peer
from meshmgmt.inventory.services.expiry import expire_logins
from meshmgmt.mesh import Mesh
from meshmgmt.mesh.reach import Destination, Traffic, verdict
from meshmgmt.meshstate.loading import load
from tests import people
from tests.demo import replay
from tests.demo.test_seed import seed
from tests.events.commands import run

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("demo")]


@dataclass(frozen=True)
class Demo:
    """What the command printed, and the id of the newest event before it."""

    result: dict[str, Any]
    last_event: int


@pytest.fixture(scope="module")
def demo(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Demo]:
    """Seed once for all tests, which only look; undo it after them."""
    with django_db_blocker.unblock(), transaction.atomic():
        first = AuditEvent.objects.order_by("id").last()
        assert first is not None
        yield Demo(seed(), first.id)
        transaction.set_rollback(True)


def test_the_demo_has_the_promised_size(demo: Demo):
    assert demo.result["seeded"]
    models = (User, Peer, NameserverGroup, Zone, Record)
    assert [model.objects.count() for model in models] == [12, 40, 6, 4, 60]
    assert Group.objects.exclude(name=ALL).count() == 10
    for model in (Policy, Route, Network, NetworkResource, SetupKey):
        assert model.objects.exists()
    assert demo.result["counts"] == counts()


def test_a_second_run_changes_nothing_and_ends_well():
    before = (counts(), AuditEvent.objects.count())
    assert not seed()["seeded"]
    assert not seed("--if-empty")["seeded"]
    assert not seed("--random-seed", "99")["seeded"]
    assert (counts(), AuditEvent.objects.count()) == before


def test_the_large_profile_is_refused_where_the_demo_is():
    with pytest.raises(CommandError, match="40 peers"):
        call_command("seed", "--profile", "large")


def test_replaying_the_audit_trail_gives_the_present_state():
    told, stored = replay.replayed(), replay.stored()
    assert told.values == stored.values
    assert told.members == stored.members


def test_the_history_covers_a_week_in_order_and_names_the_actors(demo: Demo):
    events = list(AuditEvent.objects.filter(id__gt=demo.last_event).order_by("id"))
    moments = [event.timestamp for event in events]
    assert moments == sorted(moments)
    assert moments[-1] < clock.now()
    assert len({moment.date() for moment in moments}) == 7
    assert clock.now() - moments[0] < dt.timedelta(days=8)
    named = {event.initiator_email for event in events}
    assert len(named & set(User.objects.values_list("email", flat=True))) > 5
    assert all(event.request_id for event in events)


def test_the_history_shows_most_kinds_of_change():
    codes = set(AuditEvent.objects.values_list("activity_code", flat=True))
    assert len(codes) > 30
    assert {"user.block", "user.peer.delete", "group.delete", "policy.delete"} <= codes
    assert AuditEvent.objects.filter(meta__has_key="reason").exists()


def test_peers_of_the_demo_stay_signed_in_for_weeks():
    assert not Peer.objects.filter(login_expired=True).exists()
    with clock.set_to(clock.now() + dt.timedelta(days=30)):
        assert expire_logins() == 0
    assert Peer.objects.filter(login_expiration_enabled=True).exists()


def test_times_of_objects_are_those_of_their_events():
    for group in Group.objects.exclude(name=ALL):
        event = AuditEvent.objects.get(activity_code="group.add", target_id=group.pk)
        assert abs(event.timestamp - group.created_at) < dt.timedelta(seconds=30)


def test_names_stay_clear_of_what_examples_and_tests_use():
    texts = [
        str(text)
        for model in (Group, Peer, User, Zone, NameserverGroup, Record)
        for row in model._default_manager.values()
        for name in ("name", "email", "domain")
        for text in [row.get(name, "")]
    ]
    for domains in NameserverGroup.objects.values_list("domains", flat=True):
        texts += domains
    taken = re.compile(r"example\.|company\.com|^test|branch", re.IGNORECASE)
    assert [text for text in texts if taken.search(text)] == []


def test_every_event_leads_to_its_object_while_it_exists(rf: RequestFactory):
    request = rf.get("/")
    request.user = people.person("owner")
    pages = ObjectPages(request)
    existing = {
        str(key)
        for spec in all_specs()
        if site.is_registered(spec.model)
        for key in spec.model._default_manager.values_list("pk", flat=True)
    }
    leading = 0
    for event in AuditEvent.objects.all():
        changed = event.changes.get("id", {})
        key = changed.get("after") or changed.get("before") or event.target_id
        if key in existing:
            leading += 1
            page = pages.of_event(event)
            assert page is not None, f"{event} {event.target_type}"
            if event.target_type != "dnssettings":  # their events name the account
                assert key in page.url, f"{event} {event.target_type}"
    assert leading > 100


def test_flows_go_where_policies_allow_and_never_to_the_source_itself():
    mesh = Mesh(load(), clock.now().timestamp())
    born = {each.pk: each.created_at for each in Peer.objects.all()}
    born |= {each.pk: each.created_at for each in NetworkResource.objects.all()}
    flows = people.api_as("auditor").get("/api/events/network-traffic?page_size=50000")
    assert len(flows.json["data"]) == streams.FLOWS + streams.REFUSED
    for flow in flows.json["data"]:
        source, target = flow["source"]["id"], flow["destination"]["id"]
        address, colon, port = flow["destination"]["address"].rpartition(":")
        assert source != target
        assert colon
        ipaddress.ip_address(address)
        begun = dt.datetime.fromisoformat(flow["window_start"])
        assert begun >= max(born[source], born[target])
        dropped = flow["events"][0]["type"] == "TYPE_DROP"
        traffic = Traffic(streams.protocol_at(int(port)), int(port))
        kind = "peer" if target in mesh.snapshot.peers else "resource"
        meant = Destination(kind, target, address)
        assert verdict(mesh, source, meant, traffic).allowed is not dropped
        assert bool(flow["policy"]["id"]) is not dropped


def test_people_have_signed_in_lately():
    rows = people.api_as("auditor").get("/api/users?service_user=false").json
    company_rows = [row for row in rows if row["email"].endswith(DOMAIN)]
    assert len(company_rows) == len(company.rows_of("person"))
    begin = clock.now() - dt.timedelta(days=8)
    for row in company_rows:
        assert dt.datetime.fromisoformat(row["last_login"]) > begin


@pytest.mark.slow
def test_the_streams_hold_the_companys_traffic_and_a_guesser():
    api = people.api_as("auditor")
    page = api.get("/api/events/network-traffic?page_size=1").json
    assert page["total_records"] == streams.FLOWS + streams.REFUSED
    assert page["data"][0]["source"]["dns_label"]
    query = "group_by=source_ip,host&status=failed&metric=failures"
    top = api.get(f"/api/events/proxy/summary?{query}").json["groups"][0]
    guesser = streams.SAME["guess"]["source_ip"]
    assert top["key"] == {"source_ip": guesser, "host": f"wiki.{DOMAIN}"}
    assert top["value"] == streams.GUESSES


REACHED = re.compile(r"\$ manage\.py (reach .*)\n((?:(?!\$ |```).*\n)+)")


def test_what_the_page_about_access_shows_is_what_is_printed():
    page = (BASE_DIR / "docs" / "access.md").read_text(encoding="utf-8")
    examples = REACHED.findall(page)
    assert len(examples) == 3
    for command, shown in examples:
        assert run(*shlex.split(command))[0] == shown
