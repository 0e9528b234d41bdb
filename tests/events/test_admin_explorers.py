"""The admin site shows the three streams and lets nobody write them."""

import re
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth import get_user
from django.db import connection
from django.http import QueryDict
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from events.admin.changetable import change_table, mentioned_ids
from events.admin.objectpages import ObjectPage
from events.admin.oldnames import SEARCH, renewed
from events.models import AuditEvent, ProxyEntry, TrafficEvent
from events.streams import batches
from events.streams.catalogue import PROXY, TRAFFIC
from groups.models import Group
from meshmgmt.accounts.services.tokens import token_create
from tests.admin.signed_in import client_of
from tests.events.samples import proxy, traffic
from tests.people import person

pytestmark = pytest.mark.django_db

MODELS = (AuditEvent, TrafficEvent, ProxyEntry)
KNOWN = "0" * 20
GONE = "1" * 20
NONE = '<span class="quiet">none</span>'
COUNTING: dict[Any, str] = {
    AuditEvent: "events",
    TrafficEvent: "flows",
    ProxyEntry: "requests",
}


def page(kind: str, model: Any, *arguments: Any) -> str:
    return reverse(f"admin:events_{model._meta.model_name}_{kind}", args=arguments)


@pytest.fixture
def site() -> Client:
    """The owner, signed in, with something in every stream."""
    client = client_of(person("owner"))
    group = Group(name="Before")
    group.save()
    group.name = "After <b>"
    group.save()
    batches.ingest_events(
        TRAFFIC, [traffic(id="flow-1", rx_bytes=2048), traffic(num_of_drops=1)]
    )
    batches.ingest_events(
        PROXY, [proxy(id="a/b", path="/<script>"), proxy(status_code=401)]
    )
    return client


@pytest.mark.parametrize("model", MODELS)
def test_lists_open_and_offer_no_writing(site: Client, model: Any) -> None:
    answer = site.get(page("changelist", model))
    assert answer.status_code == 200
    text = answer.content.decode()
    assert page("add", model) not in text
    assert "delete_selected" not in text
    assert 'class="toplinks"' in text or "change-list" in text


@pytest.mark.parametrize("model", MODELS)
def test_nothing_can_be_added_changed_or_deleted(site: Client, model: Any) -> None:
    row = model.objects.order_by("pk").first()
    count = model.objects.count()
    change = page("change", model, row.pk)
    attempts = [
        site.post(page("add", model), {"id": "x"}),
        site.get(page("add", model)),
        site.post(change, {"activity_code": "group.add"}),
        site.post(page("delete", model, row.pk), {"post": "yes"}),
    ]
    assert [answer.status_code for answer in attempts] == [403] * 4
    chosen = {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"}
    site.post(page("changelist", model), chosen)
    assert model.objects.count() == count
    registered: Any = admin.site.get_model_admin(model)
    assert not registered.get_actions(site.get(change).wsgi_request)


@pytest.mark.parametrize("model", [TrafficEvent, ProxyEntry])
def test_models_refuse_writes_beside_ingest(site: Client, model: Any) -> None:
    row = model.objects.order_by("pk").first()
    for write in (
        row.save,
        row.delete,
        model.objects.all().delete,
        lambda: model.objects.update(search=""),
        lambda: model.objects.create(id="x"),
        lambda: model.objects.bulk_create([row]),
    ):
        with pytest.raises(TypeError):
            write()


def test_one_event_is_shown_whole_and_escaped(site: Client) -> None:
    text = site.get(page("change", ProxyEntry, "a/b")).content.decode()
    assert "/&lt;script&gt;" in text
    assert "<script>&quot;" not in text
    assert "&quot;source_ip&quot;: &quot;192.0.2.7&quot;" in text


def test_an_audit_event_shows_its_changes_and_links_to_its_object(site: Client) -> None:
    event = AuditEvent.objects.get(activity_code="group.update")
    text = site.get(page("change", AuditEvent, event.pk)).content.decode()
    assert "<td>Before</td><td>After &lt;b&gt;</td>" in text
    assert reverse("admin:groups_group_change", args=[event.target_id]) in text
    assert f"?target_id={event.target_id}" in text


def test_a_token_event_leads_to_the_token_and_back(site: Client) -> None:
    owner: Any = get_user(site)
    token = token_create(user_id=owner.pk, name="cli", expires_in=1).token
    event = AuditEvent.objects.get(
        activity_code="personal.access.token.create", target_id=owner.pk
    )
    token_page = reverse("admin:accounts_accesstoken_change", args=[token.pk])
    assert token_page in site.get(page("change", AuditEvent, event.pk)).content.decode()
    back = f"{page('changelist', AuditEvent)}?search={owner.pk}"
    assert back in site.get(token_page).content.decode()
    listed = site.get(page("changelist", AuditEvent), {"target_id": owner.pk})
    assert f"access token of {owner.name}" in listed.content.decode()


def test_lists_show_seconds_in_utc_and_names(site: Client) -> None:
    text = site.get(page("changelist", TrafficEvent)).content.decode()
    row = TrafficEvent.objects.get(id="flow-1")
    assert row.time.strftime("%Y-%m-%d %H:%M:%S") in text
    assert "Time (UTC)" in text
    assert "laptop" in text
    assert "2.0 KiB" in text


def test_an_event_has_no_history_of_its_own(site: Client) -> None:
    event = AuditEvent.objects.latest("id")
    assert (
        "historylink"
        not in site.get(page("change", AuditEvent, event.pk)).content.decode()
    )


@pytest.mark.parametrize(
    ("changes", "before", "after"),
    [
        ({"ttl": {"before": 60, "after": 300}}, "60", "300"),
        ({"on": {"before": True, "after": False}}, "true", "false"),
        ({"name": {"before": None, "after": "<b>"}}, NONE, "&lt;b&gt;"),
        (
            {"servers": {"before": [], "after": [{"ip": "192.0.2.1", "port": 53}]}},
            NONE,
            "<div>ip: 192.0.2.1, port: 53</div>",
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
) -> None:
    assert KNOWN in mentioned_ids([KNOWN])
    table = change_table(changes, {KNOWN: ObjectPage("laptop", "/p")})
    assert f"<td>{before}</td><td>{after}</td>" in table


def test_the_page_of_an_object_links_back_to_its_events(site: Client) -> None:
    event = AuditEvent.objects.get(activity_code="group.update")
    text = site.get(
        reverse("admin:groups_group_change", args=[event.target_id])
    ).content.decode()
    back = f"{page('changelist', AuditEvent)}?search={event.target_id}"
    assert back in text
    listed = site.get(back, follow=True).content.decode()
    assert "group.add" in listed
    assert "group.update" in listed


def keys(text: str) -> list[str]:
    """Return the keys of the rows of a list."""
    return re.findall(r'data-key="([^"]*)"', text)


@pytest.mark.parametrize(
    ("model", "query", "shown"),
    [
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
    ],
)
def test_a_page_its_charts_and_the_api_show_the_same_for_the_same_query(
    site: Client, model: Any, query: str, shown: int
) -> None:
    answer: Any = site.get(f"{page('changelist', model)}?{query}")
    assert len(keys(answer.content.decode())) == shown
    summary = answer.context["chart"]["url"]
    charted: Any = site.get(f"{summary}?metric={COUNTING[model]}&{query}")
    assert sum(group["events"] for group in charted.json()["groups"]) == shown
    listed = site.get(f"{summary.removesuffix('/summary')}?{query}").json()
    assert len(listed if model is AuditEvent else listed["data"]) == shown


@pytest.mark.parametrize(
    ("model", "old", "new"),
    [
        (TrafficEvent, "q=db&protocol__exact=6", {"search": "db", "protocol": "6"}),
        (TrafficEvent, "direction__exact=2", {"direction": "EGRESS"}),
        (TrafficEvent, "connection_type__exact=1", {"connection_type": "ROUTED"}),
        (ProxyEntry, "outcome=failed", {"status": "failed"}),
        (ProxyEntry, "with_method=POST&host=a", {"method": "POST", "host": "a"}),
        (AuditEvent, "family=group", {"activity_code": "group.*"}),
        (AuditEvent, "target_id__exact=x", {"target_id": "x"}),
        (AuditEvent, "q=", {}),
    ],
)
def test_addresses_of_old_lead_to_what_they_meant(
    site: Client, model: Any, old: str, new: dict[str, str]
) -> None:
    answer = site.get(f"{page('changelist', model)}?{old}")
    assert answer.status_code == 302
    assert QueryDict(answer.headers["Location"].partition("?")[2]).dict() == new


@pytest.mark.parametrize(("role", "status"), [("auditor", 200), ("network_admin", 200)])
@pytest.mark.parametrize("model", MODELS)
def test_who_may_read_events_may_look(
    site: Client, model: Any, role: str, status: int
) -> None:
    client = client_of(person(role))
    assert client.get(page("changelist", model)).status_code == status


@pytest.mark.parametrize(
    "query", ["", "live=1", "search=a", "user_id=nobody&start_date=-7d", "cursor=x"]
)
def test_a_list_costs_a_fixed_number_of_queries_and_counts_nothing(
    site: Client, query: str
) -> None:
    batches.ingest_events(TRAFFIC, [traffic() for _ in range(150)])
    batches.ingest_events(PROXY, [proxy(user_id="u") for _ in range(150)])
    for model in MODELS:
        with CaptureQueriesContext(connection) as queries:
            site.get(f"{page('changelist', model)}?{query}")
        assert len(queries) <= 12
        assert not any("COUNT(" in sent["sql"] for sent in queries)


@pytest.mark.parametrize(
    ("model", "summary"),
    [
        (AuditEvent, "/api/events/audit/summary"),
        (TrafficEvent, "/api/events/network-traffic/summary"),
        (ProxyEntry, "/api/events/proxy/summary"),
    ],
)
def test_charts_ask_the_summary_and_load_nothing_from_elsewhere(
    site: Client, model: Any, summary: str
) -> None:
    text = site.get(page("changelist", model)).content.decode()
    assert f'data-url="{summary}"' in text
    assert re.search(r"/static/events/chart\.umd[.\w]*\.js", text)
    assert "//cdn" not in text
    assert site.get(summary).status_code == 200


@pytest.mark.parametrize(
    ("query", "start", "end"),
    [
        ({"time__year": "2024"}, "2024-01-01", "2024-12-31"),
        ({"time__year": "2024", "time__month": "2"}, "2024-02-01", "2024-02-29"),
        (
            {"time__year": "2024", "time__month": "2", "time__day": "3"},
            "2024-02-03",
            "2024-02-03",
        ),
        ({"time__month": "2"}, None, None),
        ({"time__year": "2024", "time__month": "13"}, None, None),
        ({"time__year": "0", "time__day": "x"}, None, None),
    ],
)
def test_the_date_hierarchy_of_old_is_first_and_last_day(
    query: dict[str, str], start: str | None, end: str | None
) -> None:
    asked = QueryDict(mutable=True)
    asked.update(query)
    found = renewed(asked, SEARCH, "time")
    assert found is not None
    assert (found.get("start_date"), found.get("end_date")) == (start, end)
    assert not any(name.startswith("time") for name in found)
