"""The first page: each figure counts what its list shows, to those who may see it."""

import datetime as dt
import re
from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.test import Client, RequestFactory

from events.admin import homecards
from events.models import AuditEvent
from groups.services import group_create
from meshmgmt.access.services.enrolment import setup_keys
from meshmgmt.accounts.models import User
from meshmgmt.accounts.services.tokens import access_tokens
from meshmgmt.adminsite import home
from meshmgmt.adminsite.home import Card, Figure, Line, Place, Tone
from meshmgmt.control.models import StreamProcess
from meshmgmt.control.services.proxies import proxy_tokens
from meshmgmt.core import clock
from meshmgmt.core.transactions import account_write
from meshmgmt.explain import findings as kept_findings
from observability import registries
from tests import factories
from tests.accesstests.world import promise
from tests.admin.signed_in import client_of
from tests.api_client import Api
from tests.dns.bodies import zone
from tests.events.samples import PROXY_PATH, TRAFFIC_PATH, moment, proxy, traffic
from tests.people import api_of, person, robot
from tests.queries import asking
from tests.resource_contract import ok

pytestmark = pytest.mark.django_db

HOURS = dt.timedelta(hours=1)
DAY = 24 * 60 * 60
WORKERS = ("owner", "admin", "network_admin", "auditor")
BUDGET = 21
"""Queries of the page, whatever it counts: session, user, checks, one or two a card; on
PostgreSQL one more, whether workers hold the streams."""


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_findings, "_kept", [])
    monkeypatch.setattr(homecards, "_kept", {})


@pytest.fixture(autouse=True)
def served(db: None) -> None:
    """Another host serves peers, so this server is fit to take requests."""
    StreamProcess.objects.create()


@pytest.fixture
def busy(owner: User) -> User:
    """A mesh with something to count in every figure, and something beside it."""
    _peers(owner)
    _secrets(owner)
    api = api_of(owner)
    ok(api.post("/api/dns/zones", zone()))
    _streams(api)
    with account_write():
        User(email="new@mesh.dev", role="user", pending_approval=True).save()
    return owner


def _peers(owner: User) -> None:
    now = clock.now()
    factories.peers(3)
    factories.peer(connected=True)
    factories.peer(approval_required=True, connected=True)
    factories.peer(login_expired=True)
    owned: dict[str, Any] = {"user": owner, "login_expiration_enabled": True}
    owned["connected"] = True
    for hours in (1, 22, 23, 25):  # a login is good for a day
        factories.peer(last_login=now - hours * HOURS, **owned)
    factories.peer(created_at=now - 23 * HOURS, **owned)
    factories.peer(last_login=now - 23 * HOURS, connected=True)  # nobody's


def _secrets(owner: User) -> None:
    for days in (1, 6, 8):
        access_tokens.create({"name": f"{days} days", "expires_in": days}, owner.pk)
        factories.setup_key(f"{days} days", expires_in=days * DAY)
        proxy_tokens.create({"name": f"{days} days", "expires_in": days})
    access_tokens.create({"name": "a robot's", "expires_in": 2}, robot().pk)
    factories.setup_key("for ever")
    made = factories.setup_key("revoked", expires_in=DAY)
    setup_keys.update(made.pk, {"revoked": True})


def _streams(api: Api) -> None:
    answered = ((200, 5), (499, 5), (500, 5), (503, 50), (500, 70))
    requests = [
        proxy(status_code=code, timestamp=moment(ago)) for code, ago in answered
    ]
    ok(api.post(TRAFFIC_PATH, [*map(dropped, (5, 50, 70)), traffic()]))
    ok(api.post(PROXY_PATH, requests))


def dropped(ago: float) -> dict[str, Any]:
    """Return a flow that was dropped so many minutes ago."""
    drop = {"type": "TYPE_DROP", "timestamp": moment(ago)}
    return traffic(window_end=moment(ago), events=[drop])


def cards_of(client: Client) -> list[Card]:
    response = client.get("/admin/", headers={"X-Renewal": "1"})
    assert response.status_code == 200
    found: list[Card] = response.context["cards"]
    return found


def figures_of(client: Client) -> dict[str, Figure]:
    return {
        f"{figure.place or card.place}: {figure.noun}": figure
        for card in cards_of(client)
        for figure in card.figures
    }


def listed(client: Client, figure: Figure) -> int:
    """Return how many rows the page behind a figure shows in all."""
    response = client.get(figure.url)
    assert response.status_code == 200, figure.url
    if "cl" in response.context:
        return int(response.context["cl"].result_count)
    if "explorer" in response.context:
        assert response.context["errors"] == []
        return len(response.context["rows"])
    return int(response.context[figure.label.format(s="s")])


def test_figures_count_what_is_to_be_looked_after(busy: User):
    numbers = {name: f.number for name, f in figures_of(client_of(busy)).items()}
    assert numbers == {
        "Peers: online": 7,
        "Peers: offline": 3,
        "Peers: waiting for approval": 1,
        "Peers: must sign in again": 1,
        "Peers: to sign in again within 3 hours": 3,
        "Last hour: dropped flows": 2,
        "Last hour: 5xx of proxies": 2,
        "Ends within 7 days: access tokens": 4,  # with the one of `api_of`
        "Ends within 7 days: setup keys": 2,
        "Ends within 7 days: proxy tokens": 2,
        "People: to let in": 1,
        "DNS: warning": 1,
        "DNS: note": 1,
    }


def test_what_alarms_stands_first_and_what_there_is_none_of_nowhere(busy: User):
    cards = cards_of(client_of(busy))
    urgent = cards[0]
    assert urgent.place is Place.ATTENTION
    assert {figure.tone for figure in urgent.figures} <= {Tone.WARN, Tone.BAD}
    assert "waiting for approval" in {figure.noun for figure in urgent.figures}
    for card in cards[1:]:
        assert not [figure for figure in card.figures if figure.is_alarming]
        assert not [f for f in card.figures if not f.number and f.tone is not Tone.OK]


def test_a_failing_access_test_stands_there_with_its_reason(owner: User):
    source, destination = factories.peers(6)[:2]
    made = promise("kept", source, destination, "reach")
    client = client_of(owner)
    first = cards_of(client)[0]
    found = (first.place, first.figures[0].noun)
    assert found == (Place.ATTENTION, "failing access test")
    [line] = [line for line in first.lines if line.text == "kept"]
    assert made.pk in line.url
    assert line.detail
    assert client.get(line.url).status_code == 200


def trends_of(page: Any) -> dict[str, list[str]]:
    return {
        trend.label: [span.told for span in trend.spans]
        for card in page.context["cards"]
        for trend in card.trends
    }


def test_trends_tell_a_day_and_a_week_and_leave_out_what_was_not(busy: User):
    client = client_of(busy)
    assert trends_of(client.get("/admin/")) == {}
    shown = trends_of(client.get("/admin/?trends=1"))
    assert shown["Drops"] == ["3", "3"]
    assert shown["Refused and failed requests to proxies"] == ["4", "4"]
    assert shown["Changes"] == [f"{AuditEvent.objects.count():,}"] * 2
    page = client.get("/admin/").content.decode()
    assert page.count('<svg viewBox="0 0') == 2 * len(shown)
    link = "/admin/events/trafficevent/?type=TYPE_DROP&amp;start_date=-7d"
    assert link in page
    assert len(client.get(link.replace("&amp;", "&")).context["rows"]) == 3


def test_an_account_without_streams_shows_no_empty_trends(owner: User):
    shown = trends_of(client_of(owner).get("/admin/?trends=1"))
    assert shown.keys() <= {"Changes", "Peers online"}


def test_nothing_to_do_is_said(owner: User):
    factories.peers(6)
    first = cards_of(client_of(owner))[0]
    assert first.place is Place.ATTENTION
    assert [line.text for line in first.lines] == ["Nothing does"]


def test_each_figure_leads_to_a_list_of_as_many(busy: User):
    for role in WORKERS:
        client = client_of(person(role))
        figures = figures_of(client)
        assert len(figures) >= 9, role
        for name, figure in figures.items():
            assert listed(client, figure) == figure.number, (role, name)


def test_a_list_of_the_last_hour_stays_what_was_counted(busy: User):
    client = client_of(busy)
    figure = figures_of(client)["Last hour: dropped flows"]
    ok(api_of(busy).post(TRAFFIC_PATH, [dropped(0)]))
    assert listed(client, figure) == figure.number
    assert figures_of(client)["Last hour: dropped flows"].number == figure.number + 1


def test_roles_see_the_figures_of_what_they_may_read(busy: User):
    shown = {
        role: {figure.label for figure in figures_of(client_of(person(role))).values()}
        for role in WORKERS
    }
    own = {"access token{s}"}  # whose are counted is another test's
    assert shown["owner"] - own == shown["admin"] - own == shown["auditor"] - own
    beyond = shown["owner"] - shown["network_admin"] - own
    assert beyond == {"proxy token{s}"}


def test_only_owners_count_the_tokens_of_others(busy: User):
    numbers = {
        role: sum(
            figure.number
            for name, figure in figures_of(client_of(person(role))).items()
            if name.startswith("Ends within 7 days: access token")
        )
        for role in WORKERS
    }
    assert numbers == {"owner": 4, "admin": 1, "network_admin": 0, "auditor": 0}


def test_who_may_read_nothing_gets_no_card(busy: User, rf: RequestFactory):
    request = rf.get("/admin/")
    for request.user in (person("user"), AnonymousUser()):
        assert home.cards(request) == []
    assert Client().get("/admin/").status_code == 302


def test_the_number_of_queries_does_not_grow(owner: User):
    client = client_of(owner)
    factories.peers(6)  # or there were first steps to show
    cards_of(client)
    _, few = asking(lambda: cards_of(client))
    factories.peers(40)
    for number in range(20):
        group_create(name=f"group {number}")
        access_tokens.create({"name": f"{number}", "expires_in": 2}, owner.pk)
    cards_of(client)  # computes the DNS findings anew
    _, many = asking(lambda: cards_of(client))
    assert len(many) == len(few) <= BUDGET


@pytest.fixture
def problem(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a readiness check answers; nothing at first."""
    said: list[str] = [""]
    check = registries.ReadinessCheck(lambda: said[0])
    monkeypatch.setitem(registries.READINESS_CHECKS, "moon", check)
    return said


def health_of(client: Client) -> list[Line]:
    [card] = [card for card in cards_of(client) if card.place is Place.HEALTH]
    return card.lines


def test_the_light_is_red_with_its_reasons(owner: User, problem: list[str]):
    client = client_of(owner)
    before = health_of(client)
    assert before[0].tone in {Tone.OK, Tone.WARN}  # housekeeping may not run
    problem[0] = "the moon is not full"
    light, *reasons = health_of(client)
    assert (light.tone, light.badge) == (Tone.BAD, "failing")
    assert Line("the moon is not full", badge="moon", tone=Tone.BAD) in reasons
    page = client.get("/admin/").content.decode()
    assert 'data-headline="Health: failing"' in page


def test_the_light_is_yellow_when_the_relay_does_not_answer(
    owner: User, monkeypatch: pytest.MonkeyPatch
):
    nobody = "ws://127.0.0.1:9"
    monkeypatch.setattr(
        settings, "SVC", replace(settings.SVC, relay_listeners=(nobody,))
    )
    light, *reasons = health_of(client_of(owner))
    assert light.tone is Tone.WARN
    assert [line for line in reasons if line.badge == "relay" and nobody in line.text]


def test_what_takes_long_is_left_to_the_first_renewal(busy: User):
    client = client_of(busy)
    for later in (True, False):
        page = client.get("/admin/")
        assert ("data-later" in page.content.decode()) is later
        figures = {f.noun for card in page.context["cards"] for f in card.figures}
        assert ("warning" in figures) is not later
        cards_of(client)


def test_nothing_to_count_is_not_alarming(owner: User):
    client = client_of(owner)
    assert "home-warn" not in client.get("/admin/").content.decode()
    factories.peer(approval_required=True)
    assert "home-warn" in client.get("/admin/").content.decode()


def test_big_streams_are_counted_so_far(busy: User, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(home, "MOST_COUNTED", 1)
    figures = figures_of(client_of(busy))
    assert figures["Last hour: dropped flow"].shown == "1+"


def test_what_is_counted_to_its_end_is_shown_as_it_is():
    assert Figure("peer{s}", 12_345, "/").shown == "12,345"


def test_the_page_says_when_it_was_made(owner: User):
    page = client_of(owner).get("/admin/").content.decode()
    assert 'data-refresh="30"' in page
    assert " UTC</time>" in page
    assert not re.search("<style| style=", page)


def test_the_newest_changes_stand_there_with_their_initiator(client: Client):
    group_create(name="just <b>made")
    page = client.get("/admin/").content.decode()
    for text in ("A group was created", "just &lt;b&gt;made", "system"):
        assert text in page
    assert "<b>" not in page


def steps(client: Client) -> dict[str, str]:
    """Return the first steps that the page shows, and what stands behind each."""
    shown: Any = client.get("/admin/").context
    cards: list[Card] = shown["cards"]
    lines = [
        line for card in cards if card.place is Place.FIRST_STEPS for line in card.lines
    ]
    return {line.text.partition(" ")[0]: line.detail for line in lines}


def test_an_empty_mesh_is_led_from_its_first_key_to_its_first_guest(owner: User):
    client = client_of(owner)
    text = client.get("/admin/").content.decode()
    port = settings.SVC.grpc_bind.rpartition(":")[2]
    command = f"netbird up --management-url http://testserver:{port} --setup-key KEY"
    assert f"<code>{command}</code>" in text
    assert f'data-copy="{command}"' in text
    assert "done" not in steps(client).values()
    factories.setup_key("first", expires_in=DAY)
    factories.peer("laptop")
    done = [x for x, detail in steps(client).items() if detail == "done"]
    assert done == ["2.", "3.", "4."]
    factories.rule([], [])
    person("admin")
    factories.account_settings(dns_domain="named.internal")
    assert steps(client) == {}


def test_first_steps_go_for_all_when_one_waves_them_off(owner: User):
    client, other = client_of(owner), client_of(person("admin"))
    way = "/admin/first-steps/dismiss/"
    page = client.get("/admin/").content.decode()
    assert f'<form method="post" action="{way}">' in page
    assert client.get(way).headers["Location"] == "/admin/"
    assert client_of(person("auditor")).post(way).status_code == 403
    assert steps(other)
    trail = factories.Trail()
    assert client.post(way).headers["Location"] == "/admin/"
    assert client.post(way).status_code == 302
    assert steps(client) == steps(other) == {}
    assert trail.codes == ["account.setting.update"]


def test_first_steps_go_when_the_mesh_is_not_empty(owner: User):
    client = client_of(owner)
    assert "data-soon" in client.get("/admin/").content.decode()
    factories.peer("first")
    assert "data-soon" not in client.get("/admin/").content.decode()
    assert steps(client)
    assert steps(client_of(person("auditor"))) == {}
    factories.peers(5)
    assert steps(client) == {}
