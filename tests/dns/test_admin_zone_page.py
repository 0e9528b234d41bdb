"""The page of a zone: its records as one table, by paste, and back."""

import csv
import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from dns.models import Record, Zone
from dns.services.zones import records
from dns.zonefile.lexer import ZoneFileError
from dns.zonefile.reader import read_zone
from dns.zonefile.writer import as_zone_lines
from groups.services import group_update
from tests.admin.signed_in import (
    client_of,
    errors_of,
    formset_of,
    opened,
    saved,
    texts_of,
)
from tests.api_client import Api
from tests.dns.bodies import record, zone
from tests.factories import Trail, group, peers
from tests.people import person
from tests.resource_contract import ok

pytestmark = pytest.mark.django_db


def stored(api: Api, *names: str, **facts: Any) -> Zone:
    """Store a zone with an A record for each name."""
    made = ok(api.post("/api/dns/zones", zone(domain="svc.test", **facts)))
    path = f"/api/dns/zones/{made['id']}/records"
    for number, name in enumerate(names):
        body = record(name=f"{name}.svc.test", content=f"10.0.0.{number + 1}")
        ok(api.post(path, body))
    return Zone.objects.get(pk=made["id"])


def page_of(of: Zone, query: str = "") -> str:
    return f"/admin/dns/zone/{of.pk}/change/{query}"


def contents() -> set[tuple[str, str, str, int]]:
    return set(Record.objects.values_list("name", "type", "content", "ttl"))


def test_a_search_shows_what_it_finds_and_saving_leaves_the_rest(
    client: Client, api: Api
):
    made = stored(api, "www", "mail", "web")
    path = page_of(made, "?q=w")
    text = client.get(path).content.decode()
    assert "2 records found" in text
    assert "mail.svc.test" not in text
    sent = opened(client, path)
    saved(client.post(path, {**sent, "records-0-content": "10.9.9.9"}))
    left = {(name, content) for name, _, content, _ in contents()}
    now = {"www": "10.9.9.9", "mail": "10.0.0.2", "web": "10.0.0.3"}
    assert left == {(f"{label}.svc.test", content) for label, content in now.items()}


def test_records_of_a_large_zone_come_in_pages(client: Client, api: Api):
    made = stored(api)
    lines = "\n".join(f"h{n:03} A 10.0.0.{n}" for n in range(155))
    sent = opened(client, page_of(made))
    assert client.post(page_of(made), {**sent, "paste": lines}).status_code == 200
    lines = f"$TTL 300\n{lines}"
    saved(client.post(page_of(made), {**sent, "paste": lines}))
    client.get(page_of(made))  # says what the write did, once
    asked = []
    for query, size in (("", 75), ("?part=3", 5), ("?part=99", 5), ("?part=x", 75)):
        with CaptureQueriesContext(connection) as queries:
            response = client.get(page_of(made, query))
        assert len(formset_of(response).initial_forms) == size
        assert "155 records" in response.content.decode()
        asked.append(len(queries))
    assert max(asked) <= 20
    path = page_of(made, "?part=3")
    trail, sent = Trail(), opened(client, path)
    saved(client.post(path, {**sent, "records-4-ttl": "1 h"}))
    assert trail.codes == ["dns.zone.record.update"]
    assert made.records.get(ttl=3600).name == "h154.svc.test"


def test_a_lifetime_is_shown_in_words_and_in_seconds(client: Client, api: Api):
    made = stored(api, "www")
    text = client.get(page_of(made)).content.decode()
    assert 'value="5 min"' in text
    assert "300 s</span>" in text
    assert "5 min (300 s)" in client.get("/admin/dns/record/").content.decode()


def test_the_page_says_how_many_peers_get_the_zone(client: Client, api: Api):
    team, crew = group("team", *peers(2)), group("crew", *peers(1))
    made = stored(api, distribution_groups=[team.pk, crew.pk])
    text = client.get(page_of(made)).content.decode()
    for of, number in ((team, "2 peers"), (crew, "1 peer")):
        link = f'<a href="/admin/inventory/peer/?group={of.pk}">{number}</a>'
        assert f"<bdi>{of.name}</bdi>: {link}" in text
        shown = client.get(f"/admin/inventory/peer/?group={of.pk}")
        assert f"{shown.context['cl'].result_count} peer" in number
    group_update(group_id=team.pk, name="team", peers=[], resources=[])
    assert "0 peers</a>" in client.get(page_of(made)).content.decode()


def test_rows_pasted_from_a_spreadsheet_are_added_and_can_be_taken_back(
    client: Client, api: Api
):
    made = stored(api, "www")
    before = contents()
    pasted = "Name,Type,Content,TTL\nmail,A,10.1.1.1,60\n,AAAA,fd00::1,\n"
    pasted += "docs\tCNAME\twww\n*.dev 1h A 10.1.1.2\n"
    sent = opened(client, page_of(made))
    response = client.post(page_of(made), {**sent, "paste": pasted})
    assert response.status_code == 302
    assert contents() - before == {
        ("mail.svc.test", "A", "10.1.1.1", 60),
        ("svc.test", "AAAA", "fd00::1", 300),
        ("docs.svc.test", "CNAME", "www.svc.test", 300),
        ("*.dev.svc.test", "A", "10.1.1.2", 3600),
    }
    [way] = re.findall(r'href="([^"]+/take-back/\?whole=1)"', texts_of(response))
    plan = client.get(way).content.decode()
    assert plan.count("will be deleted") == 4
    [mark] = re.findall(r'name="plan" value="(\w+)"', plan)
    saved(client.post(way, {"plan": mark, "whole": "1"}))
    assert contents() == before


def test_a_paste_with_a_fault_says_the_line_and_stores_nothing(
    client: Client, api: Api
):
    made = stored(api, "www")
    before, trail = contents(), Trail()
    sent = {**opened(client, page_of(made)), "name": "other"}
    pasted = "good,A,10.1.1.1\nbad,A,10.1.1\nworse,MX,10\n"
    response = client.post(page_of(made), {**sent, "paste": pasted})
    errors = " ".join(errors_of(response)["paste"])
    assert re.findall(r"line \d", errors) == ["line 2", "line 3"]
    assert contents() == before
    assert trail.codes == []


def test_records_that_others_changed_meanwhile_stay(client: Client, api: Api):
    made = stored(api, "www", "mail")
    first, second = made.records.order_by("id")
    late = opened(client, page_of(made))
    for one, content in ((first, "10.7.7.7"), (second, "10.8.8.8")):
        records.update(one.pk, {"content": content})
    late |= {"records-0-ttl": "60", "records-1-content": "10.6.6.6"}
    refused = client.post(page_of(made), late)
    errors = formset_of(refused).errors
    assert errors[0] == {}
    assert errors[1]["content"] == ["somebody else changed it meanwhile"]
    again = {**late, "records-1-seen": formset_of(refused).forms[1].seen}
    saved(client.post(page_of(made), again))
    left = {(c, ttl) for _, _, c, ttl in contents()}
    assert left == {("10.7.7.7", 60), ("10.6.6.6", 300)}
    gone = {**opened(client, page_of(made)), "records-0-ttl": "90"}
    first.delete()
    errors = formset_of(client.post(page_of(made), gone)).errors
    assert "removed it meanwhile" in errors[0]["__all__"][0]
    saved(client.post(page_of(made), {**gone, "records-0-DELETE": "on"}))
    assert {(c, ttl) for _, _, c, ttl in contents()} == {("10.6.6.6", 300)}


def test_a_record_that_is_gone_meanwhile_holds_up_no_other(client: Client, api: Api):
    made = stored(api, "www", "mail")
    first, _ = made.records.order_by("id")
    late = opened(client, page_of(made)) | {"records-1-ttl": "60"}
    first.delete()
    # Shown again for what is wrong elsewhere, it still is not this row's matter.
    refused = client.post(page_of(made), {**late, "name": ""})
    assert formset_of(refused).is_valid()
    again = {**late, "records-0-seen": formset_of(refused).forms[0].seen}
    saved(client.post(page_of(made), again))
    assert [ttl for *_, ttl in contents()] == [60]


def test_who_may_only_look_gets_no_inputs(api: Api):
    made = stored(api, "www")
    text = client_of(person("auditor")).get(page_of(made)).content.decode()
    assert "<bdi>www.svc.test</bdi>" in text
    assert 'name="records-0-name"' not in text
    assert 'name="paste"' not in text


RECORDS = st.lists(
    st.tuples(
        st.from_regex(r"[a-z]{1,8}", fullmatch=True),
        st.ip_addresses(v=4).map(str),
        st.integers(0, 2_000_000),
    ),
    unique_by=lambda row: row[0],
    max_size=8,
)


@given(rows=RECORDS, order=st.permutations(["name", "type", "content", "ttl"]))
def test_a_table_says_what_the_zone_file_says(
    rows: list[tuple[str, str, int]], order: list[str]
):
    named = [
        {"name": name, "type": "A", "content": content, "ttl": str(ttl)}
        for name, content, ttl in rows
    ]
    file = "\n".join(f"{name} {ttl} A {content}" for name, content, ttl in rows)
    plain = "\n".join(",".join(x.values()) for x in named)
    headed = ",".join(order)
    headed += "".join("\n" + ",".join(x[key] for key in order) for x in named)
    tabs = plain.replace(",", "\t")
    wanted = read_zone(file, domain="svc.test").records
    for table in (plain, tabs, headed, file):
        lines = as_zone_lines(table)
        assert len(lines.splitlines()) == len(table.splitlines())
        assert read_zone(lines, domain="svc.test").records == wanted


SPACE = st.sampled_from(["\t", " ", "\t\t"])
LINES = st.lists(
    st.one_of(
        st.tuples(
            st.sampled_from(["", "www", "mail", "@", "*.dev"]),
            st.sampled_from(["", "60", "1h", "IN", "60 IN", "IN\t60"]),
            st.sampled_from(
                [
                    *("A 10.0.0.1", "A\t10.0.0.2", "AAAA\tfd00::1", "A\t10.0.0.3\t; x"),
                    *("MX\t10\tmail", 'TXT\t"a,b,c" "d"', "SRV\t1\t2\t3\tsrv"),
                    "SOA\tns. mail. (\n\t1\t; serial\n2\t3\t4\n\t5 )",
                ]
            ),
        ),
        st.sampled_from([("$TTL 60",), ("; a,b,c",), ("",), ("$ORIGIN sub",)]),
    ),
    max_size=6,
)


@given(lines=LINES, space=SPACE, end=st.sampled_from(["\n", "\r\n"]))
def test_a_zone_file_stays_one(lines: list[tuple[str, ...]], space: str, end: str):
    text = "".join(re.sub("\n", end, space.join(line)) + end for line in lines)
    same = text.replace("\r\n", "\n")
    rewritten = as_zone_lines(text)
    try:
        wanted = read_zone(same, domain="svc.test")
    except ZoneFileError as error:
        # What is nothing but rows of a table is one: they may lack a TTL.
        if not all("no TTL" in fault.message for fault in error.faults):
            with pytest.raises(ZoneFileError):
                read_zone(rewritten, domain="svc.test")
    else:
        assert read_zone(rewritten, domain="svc.test") == wanted
        assert as_zone_lines(rewritten) == rewritten


@pytest.mark.parametrize(
    "row", ["www,A,10.0.0.1;10.0.0.2", "www,A,10.0.0.1(", 'www,A,"""10.0.0.1"""']
)
def test_what_a_cell_holds_is_no_syntax_of_zone_files(row: str):
    with pytest.raises(ZoneFileError, match="IPv4 address"):
        read_zone(as_zone_lines(row), domain="svc.test")


def test_rows_of_any_order_say_what_they_mean():
    for row in (
        *("www,A,10.0.0.1,60", "www,60,A,10.0.0.1", "www,IN,60,A,10.0.0.1"),
        "\ufeffname,type,content,ttl\r\nwww,A,10.0.0.1,60",
        *("www\tA\t10.0.0.1\t60", "name\ttype\tdata\tttl\nwww\tA\t10.0.0.1\t60"),
    ):
        [found] = read_zone(as_zone_lines(row), domain="svc.test").records
        known = (found.name, found.content, found.ttl)
        assert known == ("www.svc.test", "10.0.0.1", 60)
    for row in ("www,CNAME,1host", "www\tCNAME\t1host"):
        [found] = read_zone(as_zone_lines(row), domain="svc.test").records
        assert (found.content, found.ttl) == ("1host.svc.test", 300)


def test_a_line_too_long_for_a_table_stays_as_it_is():
    line = "x" * (csv.field_size_limit() + 1)
    assert as_zone_lines(line) == line
