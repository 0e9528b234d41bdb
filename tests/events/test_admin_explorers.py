"""The admin site shows the three streams and lets nobody write them."""

import re
from datetime import timedelta
from functools import partial
from itertools import product
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib import admin
from django.contrib.auth import get_user
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from events.admin import names
from events.admin import proxy as proxies
from events.admin.changetable import change_table, mentioned_ids
from events.admin.objectpages import ObjectPage
from events.models import AuditEvent, ProxyEntry, TrafficEvent
from events.streams import batches, rollups
from events.streams.catalogue import PROXY, TRAFFIC
from groups.services import group_delete
from meshmgmt.access.models import Policy
from meshmgmt.accounts.services.tokens import access_tokens
from meshmgmt.accounts.services.users import user_delete
from meshmgmt.core import clock
from meshmgmt.core.queries import execute
from meshmgmt.inventory.audit import fqdn
from meshmgmt.inventory.services.peers import peer_delete
from tests.events.samples import moment, proxy, traffic
from tests.factories import changed, group, peer, resource
from tests.people import person

pytestmark = pytest.mark.django_db

STREAMS: dict[Any, tuple[str, str]] = {
    AuditEvent: ("audit", "events"),
    TrafficEvent: ("network-traffic", "flows"),
    ProxyEntry: ("proxy", "requests"),
}
"""Of each model the path of its endpoint, and the metric that counts its rows."""
KNOWN, GONE = "0" * 20, "1" * 20
NONE = '<span class="quiet">none</span>'
UNCHANGED = '<div class="quiet">1 unchanged</div>'
PART = (
    '<div><div class="part">Name: a</div><div class="part">Ports: {ports}</div></div>'
    f"{UNCHANGED}"
)


def page(kind: str, model: Any, *arguments: Any) -> str:
    return reverse(f"admin:events_{model._meta.model_name}_{kind}", args=arguments)


def shown(site: Client, kind: str, model: Any, *arguments: Any) -> str:
    """Return the text of a page."""
    answer = site.get(page(kind, model, *arguments))
    assert answer.status_code == 200
    return answer.content.decode()


@pytest.fixture
def site(client: Client) -> Client:
    """The owner, signed in, with something in every stream."""
    changed(group("Before"), name="After <b>")
    flows = [traffic(id="flow-1", rx_bytes=2048), traffic(num_of_drops=1)]
    batches.ingest_events(TRAFFIC, flows)
    entries = [proxy(id="a/b", path="/<script>"), proxy(status_code=401)]
    batches.ingest_events(PROXY, entries)
    return client


def test_lists_offer_no_writing_and_nothing_can_be_added_changed_or_deleted(
    site: Client,
):
    for model in STREAMS:
        listed, add = page("changelist", model), page("add", model)
        text = shown(site, "changelist", model)
        assert add not in text
        assert "delete_selected" not in text
        row, count = model.objects.order_by("pk").first(), model.objects.count()
        change = page("change", model, row.pk)
        attempts = [
            site.post(add, {"id": "x"}),
            site.get(add),
            site.post(change, {"activity_code": "group.add"}),
            site.post(page("delete", model, row.pk), {"post": "yes"}),
        ]
        assert [answer.status_code for answer in attempts] == [403] * 4
        chosen = {"action": "delete_selected", "_selected_action": [row.pk]}
        site.post(listed, chosen | {"post": "yes"})
        assert model.objects.count() == count
        registered: Any = admin.site.get_model_admin(model)
        assert not registered.get_actions(site.get(change).wsgi_request)


@pytest.mark.usefixtures("site")
def test_models_refuse_writes_beside_ingest():
    models: tuple[Any, ...] = (TrafficEvent, ProxyEntry)
    for model in models:
        row = model.objects.order_by("pk").first()
        for write in (
            row.save,
            row.delete,
            model.objects.all().delete,
            partial(model.objects.update, search=""),
            partial(model.objects.create, id="x"),
            partial(model.objects.bulk_create, [row]),
        ):
            with pytest.raises(TypeError):
                write()


def test_one_event_is_shown_whole_and_escaped(site: Client):
    text = shown(site, "change", ProxyEntry, "a/b")
    assert "/&lt;script&gt;" in text
    assert "<script>&quot;" not in text
    assert "&quot;source_ip&quot;: &quot;192.0.2.7&quot;" in text


def test_an_audit_event_shows_its_changes_and_its_object_and_is_found_from_there(
    site: Client,
):
    event = AuditEvent.objects.get(activity_code="group.update")
    text = shown(site, "change", AuditEvent, event.pk)
    assert "<td>Before</td><td>After &lt;b&gt;</td>" in text
    assert "historylink" not in text
    assert f"?target_id={event.target_id}" in text
    its_object = reverse("admin:groups_group_change", args=[event.target_id])
    assert its_object in text
    back = f"{page('changelist', AuditEvent)}?search={event.target_id}"
    assert back in site.get(its_object).content.decode()
    listed = site.get(back, follow=True).content.decode()
    assert "group.add" in listed
    assert "group.update" in listed


def test_a_token_event_leads_to_the_token_and_back(site: Client):
    owner: Any = get_user(site)
    token = access_tokens.create({"name": "cli", "expires_in": 1}, owner.pk)
    event = AuditEvent.objects.get(
        activity_code="personal.access.token.create", target_id=owner.pk
    )
    token_page = reverse("admin:accounts_accesstoken_change", args=[token.pk])
    assert token_page in shown(site, "change", AuditEvent, event.pk)
    back = f"{page('changelist', AuditEvent)}?search={owner.pk}"
    assert back in site.get(token_page).content.decode()
    listed = site.get(page("changelist", AuditEvent), {"target_id": owner.pk})
    assert f"access token of {owner.name}" in listed.content.decode()


def test_lists_show_seconds_in_utc_and_names(site: Client):
    text = shown(site, "changelist", TrafficEvent)
    time = TrafficEvent.objects.get(id="flow-1").time
    told = (f"{time:%Y-%m-%d %H:%M:%S}", "Time (UTC)", "laptop", "2.0 KiB")
    assert [part for part in told if part not in text] == []


def test_what_only_a_later_version_knows_is_shown_by_its_code(site: Client):
    event = AuditEvent(activity_code="of.tomorrow")
    event.save()
    back = reverse("admin-audit-revert", args=[event.pk])
    for path in ("/admin/", page("change", AuditEvent, event.pk), back):
        answer = site.get(path)
        assert answer.status_code == 200
        assert "of.tomorrow" in answer.content.decode(), path


def sides(before: Any, after: Any) -> dict[str, Any]:
    return {"before": before, "after": after}


def rules(*ports: str) -> list[dict[str, Any]]:
    return [{"name": "a", "ports": [*ports]}, {"name": "b"}]


@pytest.mark.parametrize(
    ("changes", "before", "after"),
    [
        ({"ttl": sides(60, 300)}, "60", "300"),
        ({"on": sides(True, False)}, "yes", "no"),
        ({"name": sides(None, "<b>")}, NONE, "&lt;b&gt;"),
        (
            {"servers": sides([], [{"ip": "192.0.2.1", "port": 53}])},
            NONE,
            "<div>IP: 192.0.2.1, Port: 53</div>",
        ),
        (
            {"rules": sides(rules("22"), rules("22", "80"))},
            PART.format(ports="22"),
            PART.format(ports="22, 80"),
        ),
        (
            {"rules": sides([{"a": 1}], [{"a": 1}, {"X-Trace_id": 2}])},
            UNCHANGED,
            f"<div>X-Trace_id: 2</div>{UNCHANGED}",
        ),
        ({"filters": sides({"a": None}, {"a_b": 1})}, NONE, "A b: 1"),
        (
            {"rules": sides([{"a": 1}, {"a": 2}], [{"a": 2}, {"a": 1}])},
            "<div>A: 1</div><div>A: 2</div>",
            "<div>A: 2</div><div>A: 1</div>",
        ),
        (
            {"peers": {"added": [GONE], "removed": [KNOWN]}},
            '<div>- <a href="/p">laptop</a></div>',
            f"<div>+ {GONE}</div>",
        ),
    ],
)
def test_changes_read_as_text_with_names(
    changes: dict[str, Any], before: str, after: str
):
    assert KNOWN in mentioned_ids([KNOWN])
    table = change_table(changes, {KNOWN: ObjectPage("laptop", "/p")})
    assert f"<td>{before}</td><td>{after}</td>" in table


def shown_and_charted(
    site: Client, model: Any, query: str
) -> tuple[list[str], list[int]]:
    """Return what a list says is wrong, and how many rows it and its chart show."""
    answer: Any = site.get(f"{page('changelist', model)}?{query}", follow=True)
    chart = f"metric={STREAMS[model][1]}&{answer.request['QUERY_STRING']}"
    groups = site.get(f"{answer.context['chart']['url']}?{chart}").json()["groups"]
    rows = answer.content.decode().count(' data-key="')
    return answer.context["errors"], [rows, sum(each["events"] for each in groups)]


def test_a_page_its_charts_and_the_api_show_the_same_for_the_same_query(site: Client):
    asked = [
        (TrafficEvent, "type=TYPE_DROP", 1),
        (TrafficEvent, "protocol=6", 2),
        (TrafficEvent, "protocol=17", 0),
        (TrafficEvent, "direction=DIRECTION_UNKNOWN", 2),
        (TrafficEvent, "direction=egress", 0),
        (TrafficEvent, "connection_type=P2P", 2),
        (TrafficEvent, "connection_type=ROUTED", 0),
        (TrafficEvent, "source=peer-1&destination=peer-2", 2),
        (TrafficEvent, "start_date=2019-01-01&end_date=2019-12-31", 0),
        (TrafficEvent, "start_date=-1h", 2),
        (TrafficEvent, "search=LAPTOP", 2),
        (TrafficEvent, "search=zz", 0),
        (ProxyEntry, "status=failed", 1),
        (ProxyEntry, "status_class=4xx", 1),
        (ProxyEntry, "status_class=5xx", 0),
        (ProxyEntry, "method=POST", 0),
        (ProxyEntry, "host=wiki.internal&source_ip=192.0.2.7", 2),
        (ProxyEntry, "search=%3Cscript", 1),
        (AuditEvent, "activity_code=group.*&search=after", 1),
        (AuditEvent, "activity_code=group.add&activity_code=group.update", 3),
        (AuditEvent, "activity_code=route.*", 0),
        (AuditEvent, "target_id=nobody", 0),
    ]
    found = []
    for model, query, _ in asked:
        listed = site.get(f"/api/events/{STREAMS[model][0]}?{query}").json()
        in_api = len(listed if model is AuditEvent else listed["data"])
        _, counts = shown_and_charted(site, model, query)
        found.append((model, query, [*counts, in_api]))
    assert found == [(model, query, [rows] * 3) for model, query, rows in asked]


def test_a_list_costs_a_fixed_number_of_queries_and_counts_nothing(site: Client):
    batches.ingest_events(TRAFFIC, [traffic() for _ in range(150)])
    batches.ingest_events(PROXY, [proxy(user_id="u") for _ in range(150)])
    queries = ("", "live=1", "search=a", f"user_id={GONE}&start_date=-7d", "cursor=x")
    for model, query in product(STREAMS, queries):
        with CaptureQueriesContext(connection) as made:
            site.get(f"{page('changelist', model)}?{query}")
        assert len(made) <= 12, (model, query)
        ours = [sent["sql"] for sent in made if 'FROM "events_' in sent["sql"]]
        assert not any("COUNT(" in sql for sql in ours)


def test_charts_ask_the_summary_and_load_nothing_from_elsewhere(site: Client):
    for model, (stream, _) in STREAMS.items():
        text = shown(site, "changelist", model)
        assert f'data-url="/api/events/{stream}/summary"' in text
        assert re.search(r"/static/events/chart\.umd[.\w]*\.js", text)
        assert "//cdn" not in text


@pytest.fixture
def named(site: Client) -> dict[str, str]:
    """Return the ids of what the streams tell of, by name."""
    made = {
        "rui-laptop": peer("rui-laptop", ip="100.64.7.1").pk,
        "db-01": resource("db-01").pk,
        "Porto": group("Porto").pk,
        "rui@mesh.internal": person("user", email="rui@mesh.internal", name="Rui").pk,
        "To databases": Policy.objects.create(name="To databases").pk,
    }
    flow = traffic(
        reporter_id=made["rui-laptop"],
        source={"id": made["rui-laptop"], "type": "PEER", "name": "rui-laptop"},
        destination={"id": made["db-01"], "type": "HOST_RESOURCE", "name": "db-01"},
        user={"id": made["rui@mesh.internal"]},
        policy={"id": made["To databases"]},
    )
    batches.ingest_events(TRAFFIC, [flow])
    where = {"service_id": "svc-1", "host": "a.internal", "source_ip": "100.64.7.1"}
    entry = proxy(user_id=made["rui@mesh.internal"], **where)
    batches.ingest_events(PROXY, [entry])
    return made


@pytest.mark.usefixtures("named")
def test_filters_take_what_people_call_it(site: Client):
    asked = [
        (TrafficEvent, ("source", "RUI-laptop"), 1),
        (TrafficEvent, ("source", "100.64.7.1"), 1),
        (TrafficEvent, ("destination", "db-01"), 1),
        (TrafficEvent, ("policy_id", "databases"), 1),
        (TrafficEvent, ("user_id", "rui@mesh.internal"), 1),
        (TrafficEvent, ("user_id", "Rui"), 1),
        (TrafficEvent, ("reporter_id", "rui-lap"), 1),
        (TrafficEvent, ("protocol", "tcp"), 3),
        (ProxyEntry, ("user_id", "rui"), 1),
        (ProxyEntry, ("source_ip", "rui-laptop"), 1),
        (ProxyEntry, ("service_id", "a.internal"), 1),
        (ProxyEntry, ("host", "a.int"), 1),
        (AuditEvent, ("group_id", "porto"), 1),
        (AuditEvent, ("target_id", "rui-laptop"), 1),
        (AuditEvent, ("activity_code", "A group was created"), 3),
        (AuditEvent, ("target_type", "posture check"), 0),
    ]
    found = [
        (model, typed, *shown_and_charted(site, model, urlencode([typed])))
        for model, typed, _ in asked
    ]
    assert found == [(model, typed, [], [rows] * 2) for model, typed, rows in asked]


def test_a_text_that_events_have_is_not_taken_for_one_in_another_case(
    site: Client, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(proxies, "_RECENT", 1)  # so many entries make suggestions
    texts = {"host": "Case.Example", "reason": "Not Allowed"}
    texts |= {"country_code": "De", "service_id": "Billing"}
    newest = {name: text.lower() for name, text in texts.items()}
    newest["timestamp"] = moment()
    batches.ingest_events(PROXY, [proxy(**texts), proxy(**newest)])
    AuditEvent.objects.bulk_create([AuditEvent(target_type="Group")])
    asked = [(ProxyEntry, *pair) for pair in texts.items()]
    for model, name, text in [*asked, (AuditEvent, "target_type", "Group")]:
        answer: Any = site.get(page("changelist", model), {name: text})
        assert answer.status_code == 200, name
        assert answer.context["errors"] == []


@pytest.mark.usefixtures("named")
def test_a_word_that_stands_for_nothing_is_said(site: Client):
    every: Any = [(model, admin.site.get_model_admin(model)) for model in STREAMS]
    for model, name in [(model, n) for model, known in every for n in known.named]:
        text = site.get(page("changelist", model), {name: "<xyzzy>"}).content.decode()
        said = r'errornote">[^<]*: no [\w ]+ is called “&lt;xyzzy&gt;”'
        assert re.search(said, text), name
        assert "Nothing matches" not in text


def test_a_word_that_fits_several_asks_which(site: Client):
    first, second = peer("twin-1", ip="100.64.7.2"), peer("twin-2")
    answer = site.get(page("changelist", TrafficEvent), {"source": "twin"})
    text = answer.content.decode()
    assert f'<a href="?source={first.pk}"><bdi>twin-1</bdi></a> 100.64.7.2' in text
    assert f'<a href="?source={second.pk}"><bdi>twin-2</bdi></a>' in text


def test_the_trail_of_a_deleted_group_is_found_by_its_name(site: Client):
    gone = group("Interns")
    group_delete(group_id=gone.pk)
    for name in ("target_id", "group_id"):
        answer = site.get(page("changelist", AuditEvent), {name: "interns"})
        assert answer.headers["Location"] == f"?{name}={gone.pk}"


def test_deleted_users_and_peers_are_found_by_name_email_and_address(site: Client):
    by, user = person("owner"), person("user", email="ann@gone.internal", name="Ann")
    left = peer(
        "ann-phone", ip="100.64.7.1", ipv6="fd00::7:1", dns_label="phone-of-ann"
    )
    peer("other", ip="100.64.7.10")  # what begins alike is not meant
    user_delete(user_id=user.pk, by=by)
    peer_delete(peer_id=left.pk)
    at = [("ann-phone", left.pk), ("100.64.7.1", left.pk), ("FD00::7:1", left.pk)]
    ends = [*at, (fqdn(left), left.pk)]
    people = [("Ann", user.pk), ("ANN@gone.internal", user.pk)]
    asked = [
        (TrafficEvent, "source", ends),
        (AuditEvent, "target_id", [*ends, *people]),
        (AuditEvent, "initiator_id", people),
        (ProxyEntry, "user_id", people),
        (ProxyEntry, "source_ip", [("ann-phone", "100.64.7.1")]),
    ]
    for model, name, words in asked:
        for word, meant in words:
            answer = site.get(page("changelist", model), {name: word})
            assert answer.status_code == 302, (model, name, word)
            assert answer.headers["Location"] == f"?{urlencode({name: meant})}"


def test_deleted_peers_that_had_the_same_address_are_told_apart(site: Client):
    keys = {}
    for name in ("first", "second"):
        keys[name] = peer(name, ip="100.64.7.1").pk
        peer_delete(peer_id=keys[name])
    answer = site.get(page("changelist", TrafficEvent), {"source": "100.64.7.1"})
    for name, key in keys.items():
        way = f'<a href="?source={key}"><bdi>{name}</bdi></a> deleted'
        assert way in answer.content.decode()


def test_a_name_of_two_letters_is_looked_for_in_the_newest_events(
    site: Client, monkeypatch: pytest.MonkeyPatch
):
    gone = group("qz")
    group_delete(group_id=gone.pk)
    path = page("changelist", AuditEvent)
    found = site.get(path, {"group_id": "qz"})
    assert found.headers["Location"] == f"?group_id={gone.pk}"
    monkeypatch.setattr(names, "SHORT_SEARCH_ROWS", 0)
    assert "no group is called" in site.get(path, {"group_id": "qz"}).content.decode()


def test_what_is_filtered_by_is_shown_by_its_name_and_found_as_one_types(
    site: Client, named: dict[str, str]
):
    path = page("changelist", TrafficEvent)
    text = site.get(path, {"source": named["rui-laptop"]}).content.decode()
    assert 'name="source" value="rui-laptop"' in text
    part = {"filter": "source", "part": "rui"}
    assert site.get(f"{path}names/", part).json() == [["rui-laptop", "100.64.7.1"]]
    assert site.get(f"{path}names/", {"filter": "search"}).status_code == 404


def test_any_time_charts_all_that_the_list_holds(site: Client):
    batches.ingest_events(TRAFFIC, [traffic(), traffic(window_end=moment(3 * 24 * 60))])
    chart = site.get(page("changelist", TrafficEvent)).context["chart"]
    query = {"metric": "flows", "start_date": chart["oldest"]}
    assert site.get(chart["url"], query).json()["total"] == 4


def test_charts_of_whole_hours_need_no_events(site: Client):
    day = (clock.now() - timedelta(days=2)).date()
    event = traffic(rx_bytes=1, window_end=f"{day}T03:20:00Z")
    batches.ingest_events(TRAFFIC, [event])
    rollups.roll_up(least=1)
    execute("DELETE FROM events_trafficevent")
    dates = {"start_date": f"{day}", "end_date": f"{day}T11:59:59.999999"}
    query = {**dates, "group_by": "direction"}
    chart = site.get(page("changelist", TrafficEvent), query).context["chart"]
    [group] = site.get(chart["url"], query).json()["groups"]
    assert group["series"] == [{"time": f"{day}T03:00:00Z", "value": 1}]


def test_failed_says_what_it_counts(site: Client):
    text = shown(site, "changelist", ProxyEntry)
    assert "failed (any but 200 to 399, connections too)</option>" in text
    assert "failures (any status but 200 to 399)</option>" in text
