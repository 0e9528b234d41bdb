"""The explorers: places in lists, links into filters, what follows, exports, one event."""

import html
import re
from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import reverse

from events.admin import explorer
from events.admin.here import link_to
from events.models import AuditEvent, ProxyEntry, TrafficEvent
from events.streams import batches
from events.streams.catalogue import PROXY, TRAFFIC
from meshmgmt.core import clock
from tests.admin.signed_in import client_of
from tests.events.samples import moment, proxy, traffic
from tests.factories import group
from tests.factories import peer as make_peer
from tests.people import person

pytestmark = pytest.mark.django_db

AUDIT_PAGE = "/admin/events/auditevent/"
TRAFFIC_PAGE = "/admin/events/trafficevent/"
PROXY_PAGE = "/admin/events/proxyentry/"
PAGES: dict[str, Any] = {
    AUDIT_PAGE: AuditEvent,
    TRAFFIC_PAGE: TrafficEvent,
    PROXY_PAGE: ProxyEntry,
}


@pytest.fixture
def site(client: Client) -> Client:
    """The owner, signed in, with rows in every stream, some of them at the same time."""
    AuditEvent.objects.prune()
    now = clock.now()
    AuditEvent.objects.bulk_create(
        AuditEvent(
            timestamp=now - timedelta(minutes=n // 3),
            activity_code=("group.add", "route.add")[n % 2],
            initiator_id=f"user-{n % 3}",
            target_id=f"object-{n % 4}",
            target_type=("group", "peer")[n % 2],
            source_address=("192.0.2.1", "")[n % 2],
        )
        for n in range(25)
    )
    times = [moment(number // 3) for number in range(25)]
    flows = [
        traffic(
            id=f"flow.{n}",
            window_end=time,
            source={"id": ("", "peer-1")[n % 2]},
            user={"id": ("ann", "bob")[n % 2]},
            policy={"id": ("", "p")[n % 2], "name": "Office"},
            protocol=(6, 17, 1)[n % 3],
            direction=("INGRESS", "EGRESS")[n % 2],
            num_of_drops=n % 2,
        )
        for n, time in enumerate(times)
    ]
    batches.ingest_events(TRAFFIC, flows)
    entries = [
        proxy(
            id=f"entry.{n}",
            timestamp=time,
            status_code=(200, 404, 503)[n % 3],
            path=("/start", "/start/more")[n % 2],
            duration_ms=n * 7 % 25,
            user_id=("", "ann")[n % 2],
            reason=("", "no leave")[n % 2],
            auth_method_used=("", "password")[n % 2],
            country_code=("", "DE")[n % 2],
            source_ip=("192.0.2.7", "")[n % 2],
        )
        for n, time in enumerate(times)
    ]
    batches.ingest_events(PROXY, entries)
    return client


def text_of(site: Client, address: str) -> str:
    answer = site.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def shown_on(address: str) -> Any:
    """Return what the admin site knows of the rows of a page."""
    return admin.site.get_model_admin(PAGES[address])


def keys(text: str) -> list[str]:
    return [html.unescape(key) for key in re.findall(r'data-key="([^"]*)"', text)]


def link(text: str, relation: str) -> str | None:
    found = re.search(rf'rel="{relation}" href="([^"]*)"', text)
    return html.unescape(found[1]) if found else None


def in_order(model: Any) -> list[str]:
    time = "time" if model is TrafficEvent else "timestamp"
    return [str(row.pk) for row in model.objects.order_by(f"-{time}", "-pk")]


def test_older_and_newer_lead_over_every_row_once_while_others_come_in(
    site: Client, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(explorer.Explorer, "page_rows", 7)
    for address, model in PAGES.items():
        expected = in_order(model)
        text = text_of(site, address)
        assert link(text, "prev") is None
        pages = [keys(text)]
        while following := link(text, "next"):
            batches.ingest_events(TRAFFIC, [traffic(window_end=moment(-1))])
            batches.ingest_events(PROXY, [proxy(timestamp=moment(-1))])
            text = text_of(site, address + following)
            pages.append(keys(text))
        assert [key for page in pages for key in page] == expected
        for page in reversed(pages[:-1]):
            before = link(text, "prev")
            assert before is not None
            text = text_of(site, address + before)
            assert keys(text) == page


NO_PLACES = ("x", "before.1", "before.9e9.1", f"newer.{'9' * 18}.1", "before.1.%00")
BAD = [
    *(
        (page, f"cursor={each}", "cursor: is no place in this list")
        for page, each in product(PAGES, NO_PLACES)
    ),
    (AUDIT_PAGE, "activity_code=nothing", "Activity: "),
    (TRAFFIC_PAGE, "protocol=ptc", "Protocol: "),
    (PROXY_PAGE, "status_class=9xx", "status_class: "),
    (PROXY_PAGE, "sort_by=colour", "sort_by: "),
    (PROXY_PAGE, "host=a&host=b", "Host: "),
    (AUDIT_PAGE, "start_date=soon", "start_date: "),
]


def test_a_bad_filter_or_place_is_named_and_nothing_listed(site: Client):
    for address, query, told in BAD:
        text = text_of(site, f"{address}?{query}")
        assert f'errornote">{told}' in text, query
        assert not keys(text)


def test_a_place_far_away_is_just_that(site: Client):
    places = (f"before.1.{'9' * 150}", f"newer.1.{'9' * 30}")
    for address, cursor in product(PAGES, places):
        assert "errornote" not in text_of(site, f"{address}?cursor={cursor}")


@pytest.mark.slow
def test_the_rows_behind_every_bar_are_as_many_as_it_says(site: Client):
    counting = ("events", "flows", "requests")
    for address, metric in zip(PAGES, counting, strict=True):
        shown = shown_on(address)
        summary = reverse(shown.summary_url_name)
        bars = [
            (link_to({name: value}), bar["events"])
            for group, name in shown.filterset_class.subject.filters.items()
            for bar in site.get(f"{summary}?group_by={group}&metric={metric}").json()[
                "groups"
            ]
            if (value := bar["key"][group])
        ]
        assert len(bars) >= len(shown.filterset_class.subject.filters)
        rows = [(query, len(keys(text_of(site, address + query)))) for query, _ in bars]
        assert rows == bars


def test_every_filter_of_the_api_has_its_place_on_the_page(site: Client):
    # What another field of the page takes, too.
    also = {
        AUDIT_PAGE: {"user_id"},
        TRAFFIC_PAGE: {"source_id", "destination_id"},
        PROXY_PAGE: {"user_email", "user_name"},
    }
    for address in PAGES:
        known = set(shown_on(address).filterset_class().form.fields)
        text = text_of(site, address)
        on_page = {name for name in known if f'name="{name}"' in text}
        assert known - on_page == also[address]


CELLS = {
    AUDIT_PAGE: (
        "initiator_id=user-0",
        "target_id=object-0",
        "activity_code=group.add",
    ),
    TRAFFIC_PAGE: ("source=100.64.0.1", "destination=peer-2", "policy_id=p"),
    PROXY_PAGE: ("host=wiki.internal", "status_code=503"),
}


def test_cells_lead_to_the_rows_that_share_them_and_keep_the_other_filters(
    site: Client,
):
    for address, cells in CELLS.items():
        text = text_of(site, f"{address}?start_date=-7d&live=1&cursor=")
        for cell in cells:
            assert f'href="?start_date=-7d&amp;live=1&amp;{cell}"' in text


def test_a_filter_in_force_is_a_chip_with_a_name_and_a_way_out(site: Client):
    source = {"id": "old", "name": "edge-7"}
    batches.ingest_events(TRAFFIC, [traffic(source=source, num_of_drops=1)])
    query = "source=old&type=TYPE_DROP&start_date=-24h"
    text = text_of(site, f"{TRAFFIC_PAGE}?{query}")
    assert "Source: <bdi>edge-7</bdi>" in text
    assert "Time: <bdi>the last 24 hours</bdi>" in text
    assert 'href="?source=old&amp;start_date=-24h" aria-label="Remove Type' in text


def test_one_of_several_activities_can_be_taken_away(site: Client):
    text = text_of(site, f"{AUDIT_PAGE}?activity_code=group.add&activity_code=route.*")
    assert 'href="?activity_code=route.%2A" aria-label="Remove Activity' in text
    assert '<input type="hidden" name="activity_code" value="group.add">' in text
    assert len(keys(text)) == 25


def test_a_page_that_follows_asks_for_the_newest_rows_alone(
    site: Client, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(explorer.Explorer, "page_rows", 5)
    for address, model in PAGES.items():
        text = text_of(site, f"{address}?live=1&fragment=rows")
        assert link(text, "next") == link(text_of(site, f"{address}?live=1"), "next")
        assert keys(text) == in_order(model)[:5]
        assert "<html" not in text
        assert "fragment" not in text
        assert "data-live" in text_of(site, f"{address}?live=1")
        assert "data-live" not in text_of(site, address)


def test_older_rows_are_not_followed_until_one_is_back_at_the_newest(
    site: Client, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(explorer.Explorer, "page_rows", 7)
    older = link(text_of(site, f"{PROXY_PAGE}?live=1"), "next")
    text = text_of(site, f"{PROXY_PAGE}{older}")
    assert "data-live" not in text
    assert '<a class="live-toggle" href="?live=1">Live</a>' in text


def test_proxy_entries_are_sorted_as_by_the_api(site: Client):
    for order in ("asc", "desc"):
        query = f"sort_by=duration&sort_order={order}"
        listed = site.get(f"/api/events/proxy?{query}").json()["data"]
        text = text_of(site, f"{PROXY_PAGE}?{query}&live=1")
        assert keys(text) == [entry["id"] for entry in listed]
        assert "data-live" not in text


def test_the_exports_of_a_page_are_those_of_the_api_with_its_filters(site: Client):
    query = "start_date=-7d&search=a&group_by=user&live=1"
    kinds = {"ndjson": "application/x-ndjson", "csv": "text/csv"}
    for address, (kind, accept) in product(PAGES, kinds.items()):
        text = text_of(site, f"{address}?{query}")
        api = reverse(shown_on(address).summary_url_name).removesuffix("/summary")
        found = re.search(rf'href="([^"]*export\.{kind}[^"]*)"', text)
        assert found is not None
        given: Any = site.get(html.unescape(found[1]))
        expected: Any = site.get(f"{api}?{query}", headers={"Accept": accept})
        assert given.getvalue() == expected.getvalue()
        assert given["Content-Disposition"] == expected["Content-Disposition"]
        assert given["Content-Disposition"].endswith(f'.{kind}"')


def test_an_export_needs_somebody_who_may_read_events(site: Client):
    del site
    address = f"{TRAFFIC_PAGE}export.csv"
    assert Client().get(address).status_code == 302
    nobody = client_of(person("user"))
    assert nobody.get(address).status_code in {302, 403}
    assert nobody.get(TRAFFIC_PAGE).status_code in {302, 403}


def test_one_flow_leads_to_what_it_names(site: Client):
    owner = person("owner")
    ends = [make_peer(name="edge-7"), make_peer(name="db-1")]
    flow = traffic(
        id="named",
        reporter_id=ends[0].pk,
        source={"id": ends[0].pk, "name": "edge-7"},
        destination={"id": ends[1].pk, "name": "<b>"},
        user={"id": owner.pk, "name": "Ann"},
    )
    batches.ingest_events(TRAFFIC, [flow])
    text = text_of(site, f"{TRAFFIC_PAGE}named/change/")
    for peer in ends:
        assert reverse("admin:inventory_peer_change", args=[peer.pk]) in text
    assert reverse("admin:accounts_user_change", args=[owner.pk]) in text
    assert "<bdi>&lt;b&gt;</bdi>" in text
    assert f"{TRAFFIC_PAGE}?source={ends[0].pk}" in text
    assert re.search(r'<details class="raw">\s*<summary>', text)


def test_a_peer_that_left_a_group_is_shown_with_the_group(site: Client):
    made = group("Field service")
    left = {"target_id": "gone", "target_type": "peer"}
    told = {"group": made.name, "group_id": made.pk, "peer_fqdn": "rui"}
    AuditEvent(activity_code="peer.group.delete", meta=told, **left).save()
    views = shown_on(AUDIT_PAGE).views()
    [view] = [view for view in views if view.label.startswith("Membership")]
    asked = "&".join(f"{name}={value}" for name, value in view.pairs)
    text = text_of(site, f"{AUDIT_PAGE}?{asked}")
    assert len(keys(text)) == 1
    assert f"group_id={made.pk}" in text
    detail = text_of(site, f"{AUDIT_PAGE}{keys(text)[0]}/change/")
    assert reverse("admin:groups_group_change", args=[made.pk]) in detail


def test_every_question_asked_often_can_be_asked(site: Client):
    for address in PAGES:
        shown = shown_on(address)
        text = text_of(site, address)
        for view in shown.views():
            assert html.escape(view.label, quote=False) in text
            asked = "&".join(f"{name}={value}" for name, value in view.pairs)
            answer = text_of(site, f"{address}?{asked}")
            assert "errornote" not in answer
            assert 'aria-current="true">' + view.label in answer
            summary = site.get(f"{reverse(shown.summary_url_name)}?{asked}")
            assert summary.status_code == 200


def test_pages_run_no_script_and_no_style_of_their_own(site: Client):
    for address in (*PAGES, f"{PROXY_PAGE}entry.1/change/"):
        text = text_of(site, address)
        content = text[text.index('id="content"') :]
        assert not re.search(r"<script(?![^>]*\ssrc=)", content), address
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=", content), address
