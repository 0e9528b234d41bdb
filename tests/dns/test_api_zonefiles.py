"""Zone files over HTTP."""

import gzip
from typing import Any

import pytest

from dns.services.zonefiles import zone_import
from tests.api_client import Answer, Api
from tests.dns.bodies import record, zone
from tests.factories import Trail
from tests.resource_contract import ok

pytestmark = pytest.mark.django_db
ZONES = "/api/dns/zones"
FILE = """\
$ORIGIN svc.test.
$TTL 1h
@       IN SOA ns hostmaster ( 1 2h 1h 2w ; a comment
                               300 )
        IN NS  ns.example.
@       A      10.0.0.1
www     60 A   10.0.0.2
        AAAA   2001:db8::1
alias   CNAME  www
*.wild  A      10.0.0.3
txt     TXT    "not held ; here"
"""


def put(api: Api, path: str, text: str | bytes, query: str = "") -> Answer:
    body = text if isinstance(text, bytes) else text.encode()
    return api.call("PUT", f"{path}/zonefile{query}", body)


def add(api: Api, path: str, **changes: Any) -> dict[str, Any]:
    made: dict[str, Any] = ok(api.post(f"{path}/records", record(**changes)))
    return made


def names(records: list[dict[str, Any]]) -> list[tuple[str, str, str, int]]:
    return sorted((r["name"], r["type"], r["content"], r["ttl"]) for r in records)


@pytest.mark.parametrize("query", ["", "?authority=true"])
def test_file_sent_back_changes_nothing_however_long_the_names_are(
    api: Api, path: str, query: str
):
    longest = ".".join(["a" * 61] * 4)[: 255 - len(".svc.test")] + ".svc.test"
    # Longer than any file may have it, once it is in ASCII.
    unicode = ".".join(["\u00fc" * 25] * 9) + ".svc.test"
    for name in (longest, unicode, "short.svc.test"):
        add(api, path, name=name)
    add(api, path, name="x.svc.test", type="CNAME", content=unicode)
    before = ok(api.get(path))["records"]
    file = api.get(f"{path}/zonefile{query}").body
    done = ok(put(api, path, file))
    assert (done["added"], done["changed"], done["removed"]) == ([], [], [])
    assert done["ignored"] == (2 if query else 0)
    assert ok(api.get(path))["records"] == before
    assert file.count(b"left out") == (3 if query else 2)


def test_zone_whose_domain_no_file_can_hold_takes_none(api: Api):
    domain = ".".join(["\u00fc" * 25] * 9)
    made = f"{ZONES}/{ok(api.post(ZONES, zone(domain=domain)))['id']}"
    answer = put(api, made, "a 60 A 10.0.0.1\n")
    assert "the zone's domain is longer than 255" in answer.refused(422).message


def test_file_becomes_the_zone(api: Api, path: str):
    add(api, path, name="old.svc.test")
    done = ok(put(api, path, FILE))
    assert names(ok(api.get(path))["records"]) == [
        ("*.wild.svc.test", "A", "10.0.0.3", 3600),
        ("alias.svc.test", "CNAME", "www.svc.test", 3600),
        ("svc.test", "A", "10.0.0.1", 3600),
        ("www.svc.test", "A", "10.0.0.2", 60),
        ("www.svc.test", "AAAA", "2001:db8::1", 3600),
    ]
    assert len(done["added"]) == 5
    assert [r["name"] for r in done["removed"]] == ["old.svc.test"]
    assert done["skipped"] == [{"line": 11, "name": "txt.svc.test", "type": "TXT"}]
    assert done["ignored"] == 2
    assert done["preview"] is False


def test_one_event_for_each_record(api: Api, path: str):
    add(api, path)
    add(api, path, name="old.svc.test")
    trail = Trail()
    ok(put(api, path, FILE))
    deeds = [code.removeprefix("dns.zone.record.") for code in trail.codes]
    assert sorted(deeds) == ["create"] * 4 + ["delete", "update"]
    ok(put(api, path, FILE))
    assert len(trail.codes) == 6


def test_kept_records_keep_their_id_and_spelling(api: Api, path: str):
    same = add(api, path, name="WWW.svc.test", content="10.0.0.2", ttl=60)
    other = add(api, path, name="ALIAS.svc.test", type="CNAME", content="old.test")
    ok(put(api, path, FILE))
    assert ok(api.get(f"{path}/records/{same['id']}")) == same
    changed = other | {"content": "www.svc.test", "ttl": 3600}
    assert ok(api.get(f"{path}/records/{other['id']}")) == changed


def test_merge_removes_nothing(api: Api, path: str):
    add(api, path, name="old.svc.test")
    assert ok(put(api, path, FILE, "?mode=merge"))["removed"] == []
    assert len(ok(api.get(path))["records"]) == 6


def test_merge_beside_an_alias_is_409(api: Api, path: str):
    made = add(api, path, name="www.svc.test", type="CNAME", content="a.test")
    assert "www.svc.test" in put(api, path, FILE, "?mode=merge").refused(409).message
    assert ok(api.get(path))["records"] == [made]
    assert ok(put(api, path, FILE))["removed"]


@pytest.mark.parametrize("query", ["?preview=true", "?preview=true&mode=merge"])
def test_preview_tells_the_changes_and_writes_nothing(api: Api, path: str, query: str):
    made = add(api, path, name="old.svc.test")
    trail = Trail()
    shown = ok(put(api, path, FILE, query))
    assert shown["preview"] is True
    assert ok(api.get(path))["records"] == [made]
    assert trail.codes == []
    done = ok(put(api, path, FILE, query.replace("preview=true", "preview=")))
    assert {**shown, "preview": False} == done


def test_export_of_an_import_is_the_same_bytes(api: Api, path: str):
    ok(put(api, path, FILE))
    first = api.get(f"{path}/zonefile")
    assert first.status == 200
    assert first.headers["Content-Type"] == "text/dns; charset=utf-8"
    other = f"{ZONES}/{ok(api.post(ZONES, zone(domain='other.test')))['id']}"
    moved = first.body.replace(b"svc.test.", b"other.test.")
    ok(put(api, other, moved))
    assert api.get(f"{other}/zonefile").body == moved


def test_fault_names_line_and_column_and_nothing_is_imported(api: Api, path: str):
    text, place = "$TTL 60\nwww A 10.0.0", "line 2, column 7"
    made = add(api, path)
    trail = Trail()
    for query in ("", "?mode=merge", "?preview=true"):
        answer = put(api, path, text, query)
        assert answer.refused(422).message.startswith(place)
        assert answer.json["errors"][0]["field"].startswith(place)
    assert ok(api.get(path))["records"] == [made]
    assert trail.codes == []


def test_strict_refuses_other_types(api: Api, path: str):
    assert "TXT" in put(api, path, FILE, "?strict=true").refused(422).message


@pytest.mark.parametrize(
    ("query", "name"),
    [("?mode=x", "mode"), ("?preview=2", "preview"), ("?strict=no", "strict")],
)
def test_bad_query_value_is_400(api: Api, path: str, query: str, name: str):
    assert put(api, path, FILE, query).refused(400).message.startswith(name)


def test_body_must_be_text_of_bounded_size(api: Api, path: str):
    assert put(api, path, b"\xff\xfe").status == 400
    assert put(api, path, b";" * (16 * 1024 * 1024 + 1)).status == 413
    body, header = gzip.compress(FILE.encode()), {"Content-Encoding": "gzip"}
    packed = api.call("PUT", f"{path}/zonefile", body, **header)
    assert len(ok(packed)["added"]) == 5


def test_empty_file_empties_the_zone(api: Api, path: str):
    add(api, path)
    assert ok(put(api, path, "; nothing\n"))["removed"]
    assert ok(api.get(path))["records"] == []


@pytest.mark.parametrize("count", [1, 20])
def test_import_needs_few_queries_whatever_the_records(
    api: Api, path: str, count: int, django_assert_max_num_queries: Any
):
    text = "\n".join(f"h{number} 60 A 10.0.0.1" for number in range(count))
    with django_assert_max_num_queries(15):
        zone_import(zone_id=path.rpartition("/")[2], text=text)
    with django_assert_max_num_queries(15):
        zone_import(zone_id=path.rpartition("/")[2], text="")
