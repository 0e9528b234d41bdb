"""Zone files over HTTP."""

import gzip
from typing import Any

import pytest

from dns.services.zonefiles import zone_import
from tests.api_client import Answer, Api
from tests.dns.bodies import created, record, trail, zone

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


@pytest.fixture
def path(owner: Api) -> str:
    """Path of the zone svc.test."""
    return f"{ZONES}/{created(owner.post(ZONES, zone()))['id']}"


def put(api: Api, path: str, text: str | bytes, query: str = "") -> Answer:
    """PUT a zone file."""
    body = text if isinstance(text, bytes) else text.encode()
    return api.call("PUT", f"{path}/zonefile{query}", body)


def names(records: list[dict[str, Any]]) -> list[tuple[str, str, str, int]]:
    """Return records as tuples."""
    return sorted((r["name"], r["type"], r["content"], r["ttl"]) for r in records)


def test_file_becomes_the_zone(owner: Api, path: str) -> None:
    created(owner.post(f"{path}/records", record(name="old.svc.test")))
    done = created(put(owner, path, FILE))
    assert names(created(owner.get(path))["records"]) == [
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


def test_one_event_for_each_record(owner: Api, path: str) -> None:
    created(owner.post(f"{path}/records", record()))
    created(owner.post(f"{path}/records", record(name="old.svc.test")))
    before = len(trail(owner))
    created(put(owner, path, FILE))
    codes = [event["activity_code"] for event in trail(owner)[before:]]
    assert sorted(codes) == (
        ["dns.zone.record.create"] * 4
        + ["dns.zone.record.delete"]
        + ["dns.zone.record.update"]
    )
    created(put(owner, path, FILE))
    assert len(trail(owner)) == before + 6


def test_kept_records_keep_their_id_and_spelling(owner: Api, path: str) -> None:
    sent = record(name="WWW.svc.test", content="10.0.0.2", ttl=60)
    same = created(owner.post(f"{path}/records", sent))
    other = created(
        owner.post(
            f"{path}/records",
            record(name="ALIAS.svc.test", type="CNAME", content="old.test"),
        )
    )
    created(put(owner, path, FILE))
    assert created(owner.get(f"{path}/records/{same['id']}")) == same
    assert created(owner.get(f"{path}/records/{other['id']}")) == {
        **other,
        "content": "www.svc.test",
        "ttl": 3600,
    }


def test_merge_removes_nothing(owner: Api, path: str) -> None:
    created(owner.post(f"{path}/records", record(name="old.svc.test")))
    done = created(put(owner, path, FILE, "?mode=merge"))
    assert done["removed"] == []
    assert len(created(owner.get(path))["records"]) == 6


def test_merge_beside_an_alias_is_409(owner: Api, path: str) -> None:
    alias = record(name="www.svc.test", type="CNAME", content="a.test")
    made = created(owner.post(f"{path}/records", alias))
    answer = put(owner, path, FILE, "?mode=merge")
    assert answer.status == 409
    assert "www.svc.test" in answer.json["message"]
    assert created(owner.get(path))["records"] == [made]
    assert created(put(owner, path, FILE))["removed"]


@pytest.mark.parametrize("query", ["?preview=true", "?preview=true&mode=merge"])
def test_preview_tells_the_changes_and_writes_nothing(
    owner: Api, path: str, query: str
) -> None:
    made = created(owner.post(f"{path}/records", record(name="old.svc.test")))
    before = len(trail(owner))
    shown = created(put(owner, path, FILE, query))
    assert shown["preview"] is True
    assert created(owner.get(path))["records"] == [made]
    assert len(trail(owner)) == before
    done = created(put(owner, path, FILE, query.replace("preview=true", "preview=")))
    assert {**shown, "preview": False} == done


def test_export_of_an_import_is_the_same_bytes(owner: Api, path: str) -> None:
    created(put(owner, path, FILE))
    first = owner.get(f"{path}/zonefile")
    assert first.status == 200
    assert first.headers["Content-Type"] == "text/dns; charset=utf-8"
    changes = created(put(owner, path, first.body))
    assert [changes[key] for key in ("added", "changed", "removed")] == [[], [], []]
    other = f"{ZONES}/{created(owner.post(ZONES, zone(domain='other.test')))['id']}"
    moved = first.body.replace(b"svc.test.", b"other.test.")
    created(put(owner, other, moved))
    assert owner.get(f"{other}/zonefile").body == moved


def test_export_may_have_soa_and_ns(owner: Api, path: str) -> None:
    created(put(owner, path, FILE))
    text = owner.get(f"{path}/zonefile?authority=true").body.decode()
    assert "\tSOA\t" in text
    assert "\tNS\t" in text
    assert put(owner, path, text).json["ignored"] == 2


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("www 300 A 10.0.0", "line 1, column 11"),
        ("$TTL 60\nwww A 10.0.0.1\n  bad..name A 10.0.0.2", "line 3"),
        ("$INCLUDE /etc/passwd", "line 1, column 1"),
        ("$GENERATE 1-1000000 h$ A 10.0.0.1", "line 1, column 1"),
        ("www 99999999999 A 10.0.0.1", "line 1, column 5"),
        ("www 300 A " + "(" * 100, "line 1"),
        ("www 300 A 10.0.0.1\nwww 300 CNAME a.test.", "line 2"),
        ("www.other.test. 300 A 10.0.0.1", "line 1, column 1"),
        ('www 300 A "10.0.0.1', "line 1"),
    ],
)
def test_fault_names_line_and_column_and_nothing_is_imported(
    owner: Api, path: str, text: str, place: str
) -> None:
    made = created(owner.post(f"{path}/records", record()))
    before = len(trail(owner))
    for query in ("", "?mode=merge", "?preview=true"):
        answer = put(owner, path, text, query)
        assert answer.status == 422
        assert answer.json["message"].startswith(place)
        assert answer.json["errors"][0]["field"].startswith(place)
    assert created(owner.get(path))["records"] == [made]
    assert len(trail(owner)) == before


def test_strict_refuses_other_types(owner: Api, path: str) -> None:
    answer = put(owner, path, FILE, "?strict=true")
    assert answer.status == 422
    assert "TXT" in answer.json["message"]


@pytest.mark.parametrize(
    ("query", "name"),
    [("?mode=x", "mode"), ("?preview=2", "preview"), ("?strict=no", "strict")],
)
def test_bad_query_value_is_400(owner: Api, path: str, query: str, name: str) -> None:
    answer = put(owner, path, FILE, query)
    assert answer.status == 400
    assert answer.json["message"].startswith(name)


def test_body_must_be_text_of_bounded_size(owner: Api, path: str) -> None:
    assert put(owner, path, b"\xff\xfe").status == 400
    assert put(owner, path, b";" * (16 * 1024 * 1024 + 1)).status == 413
    packed = owner.call(
        "PUT",
        f"{path}/zonefile",
        gzip.compress(FILE.encode()),
        **{"Content-Encoding": "gzip"},
    )
    assert len(created(packed)["added"]) == 5


def test_empty_file_empties_the_zone(owner: Api, path: str) -> None:
    created(owner.post(f"{path}/records", record()))
    assert created(put(owner, path, "; nothing\n"))["removed"]
    assert created(owner.get(path))["records"] == []


@pytest.mark.parametrize("count", [1, 20])
def test_import_needs_few_queries_whatever_the_records(
    owner: Api, path: str, count: int, django_assert_max_num_queries: Any
) -> None:
    text = "\n".join(f"h{number} 60 A 10.0.0.1" for number in range(count))
    with django_assert_max_num_queries(15):
        zone_import(zone_id=path.rpartition("/")[2], text=text)
    with django_assert_max_num_queries(15):
        zone_import(zone_id=path.rpartition("/")[2], text="")
