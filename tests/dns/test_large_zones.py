"""Many records at once: written in pieces, so that nobody waits for the lock for long."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection

from dns.admin import zones as zone_pages
from dns.models import Record, Zone
from dns.services import zonefiles, zones
from events.audit.emission import changes_written
from events.models import AuditEvent
from meshmgmt.adminsite import bulk
from meshmgmt.core import transactions
from meshmgmt.core.transactions import lock_held
from tests.admin.signed_in import client_of
from tests.api_client import Answer, Api
from tests.dns.bodies import zone
from tests.factories import Trail
from tests.people import person
from tests.resource_contract import ok

pytestmark = pytest.mark.django_db

ZONES = "/api/dns/zones"
AT_ONCE = 4
WITH_AND_WITHOUT_A_KEY = pytest.mark.parametrize(
    "key", [{}, {"Idempotency-Key": "1"}], ids=["without a key", "with a key"]
)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (zones, zonefiles, zone_pages):
        monkeypatch.setattr(module, "RECORDS_AT_ONCE", AT_ONCE)


@contextmanager
def transactions_of(counts: list[int]) -> Iterator[None]:
    """Count the events that each transaction commits."""
    before = AuditEvent.objects.count()

    def note(**kwargs: Any) -> None:
        if not connection.in_atomic_block:
            counts.append(AuditEvent.objects.count() - before - sum(counts))

    lock_held.connect(note)
    try:
        yield
        note()
    finally:
        lock_held.disconnect(note)


@pytest.fixture
def writes(path: str) -> Iterator[list[int]]:
    """How many objects each write changed, from now on."""
    counts: list[int] = []

    def note(changes: Any, **kwargs: Any) -> None:
        counts.append(len(changes))

    changes_written.connect(note)
    try:
        yield counts
    finally:
        changes_written.disconnect(note)


def text_of(names: str, address: str = "10.0.0.1", ttl: int = 60) -> bytes:
    """Return a zone file with one record for each letter, and six at one name."""
    lines = [f"{name} {ttl} A {address}" for name in names]
    lines += [f"many {ttl} A 10.1.{number}.1" for number in range(6)]
    return "\n".join(lines).encode()


def held(api: Api, path: str) -> list[tuple[str, str, int]]:
    records = ok(api.get(path))["records"]
    return sorted((r["name"], r["content"], r["ttl"]) for r in records)


def put(api: Api, path: str, text: bytes, query: str = "") -> Any:
    return ok(api.call("PUT", f"{path}/zonefile{query}", text))


@pytest.mark.parametrize(
    "second",
    [
        text_of("abcdefghij", ttl=90),
        text_of("abcdefghij", address="10.0.0.2"),
        text_of("efghijklmn"),
        b"many 60 CNAME other.test.",
        b"",
    ],
)
def test_pieces_end_where_the_whole_would(
    api: Api, path: str, writes: list[int], second: bytes
):
    for text in (text_of("abcdefghij"), second):
        trail = Trail()
        shown = put(api, path, text, "?preview=true")
        done = put(api, path, text)
        for part in ("added", "changed", "removed"):
            assert sorted(map(str, done[part])) == sorted(map(str, shown[part]))
        assert done["unchanged"] == shown["unchanged"]
        changes = sum(len(done[part]) for part in ("added", "changed", "removed"))
        assert len(trail.codes) == changes
        assert (
            put(api, path, text, "?preview=true")["unchanged"] == text.count(b" ") / 3
        )
    assert max(writes) == AT_ONCE


def test_a_few_changes_are_one_transaction(api: Api, path: str, writes: list[int]):
    put(api, path, b"a 60 A 10.0.0.1\nb 60 A 10.0.0.1\nb 60 AAAA ::1\nc 60 A 10.0.0.1")
    assert writes == [AT_ONCE]


def test_what_others_write_in_between_stands(api: Api, path: str):
    names = ["between.svc.test", "j.svc.test"]

    def write(**kwargs: Any) -> None:
        if names:  # the first piece is written, its lock let go
            body = {"type": "A", "content": "10.9.9.9", "ttl": 5}
            ok(api.post(f"{path}/records", {"name": names.pop(), **body}))

    lock_held.connect(write)
    try:
        put(api, path, text_of("abcdefghij"))
    finally:
        lock_held.disconnect(write)
    found = held(api, path)
    assert ("between.svc.test", "10.9.9.9", 5) in found
    # The file says what a name in it has.
    assert [entry for entry in found if entry[0] == "j.svc.test"] == [
        ("j.svc.test", "10.0.0.1", 60)
    ]


@WITH_AND_WITHOUT_A_KEY
def test_a_file_sent_again_finishes_what_was_cut_off(
    api: Api, path: str, writes: list[int], key: dict[str, str]
):
    def send(text: bytes) -> Answer:
        return api.call("PUT", f"{path}/zonefile", text, **key)

    def fail(changes: Any, **kwargs: Any) -> None:
        if len(writes) == 2:
            raise RuntimeError("the server was stopped")

    changes_written.connect(fail)
    try:
        text = text_of("abcdefghij")
        assert send(text).status == 500
    finally:
        changes_written.disconnect(fail)
    assert len(held(api, path)) == AT_ONCE
    if key:
        assert send(text_of("abcdefghijk")).status == 422
        assert len(held(api, path)) == AT_ONCE
    assert len(ok(send(text))["added"]) == 16 - AT_ONCE
    assert len(held(api, path)) == 16
    assert len(ok(send(text))["added"]) == (16 - AT_ONCE if key else 0)
    assert max(writes) == AT_ONCE


def test_who_sends_a_large_file_twice_at_once_gets_one_answer(api: Api, path: str):
    key, text = {"Idempotency-Key": "1"}, text_of("abcdefghij")
    others: list[Answer] = []

    def send() -> Answer:
        return api.call("PUT", f"{path}/zonefile", text, **key)

    def overtake(**kwargs: Any) -> None:
        lock_held.disconnect(overtake)
        others.append(send())

    lock_held.connect(overtake)
    answer = send()
    assert answer.body == others[0].body
    assert answer.headers["Idempotency-Replayed"] == "true"
    assert len(held(api, path)) == 16


@pytest.mark.parametrize(
    ("query", "header"),
    [("?dry_run=true", {}), ("", {"If-Match": "*"}), ("", {"X-Plan-Hash": "0" * 64})],
)
def test_a_large_file_is_not_written_in_one_transaction(
    monkeypatch: pytest.MonkeyPatch,
    api: Api,
    path: str,
    query: str,
    header: dict[str, str],
):
    monkeypatch.setattr(transactions, "MOST_CHANGES", 15)
    text = text_of("abcdefghij")
    refused = api.call("PUT", f"{path}/zonefile{query}", text, **header)
    assert "16 changes are too many" in refused.refused(422).message
    assert held(api, path) == []


@WITH_AND_WITHOUT_A_KEY
def test_a_large_zone_is_deleted_in_pieces(
    api: Api, path: str, writes: list[int], key: dict[str, str]
):
    put(api, path, text_of("abcdefghij"))
    trail = Trail()
    assert api.delete(path, **key).status == 200
    assert api.delete(path, **key).status == (200 if key else 404)
    assert api.get(path).status == 404
    assert trail.codes == ["dns.zone.record.delete"] * 16 + ["dns.zone.delete"]
    assert max(writes) == AT_ONCE + 1  # the zone itself


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("chosen_in_the_list", [False, True])
def test_the_admin_site_deletes_a_large_zone_in_pieces(
    api: Api, path: str, chosen_in_the_list: bool
):
    put(api, path, text_of("abcdefghij"))
    client = client_of(person("network_admin"))
    trail = Trail()
    pk = path.rpartition("/")[2]
    page, sent = f"/admin/dns/zone/{pk}/delete/", {"post": "yes"}
    if chosen_in_the_list:
        page = "/admin/dns/zone/"
        sent |= {"action": "delete_selected", "_selected_action": pk}

    written: list[int] = []
    with transactions_of(written):
        assert client.post(page, sent).status_code == 302

    assert trail.codes == ["dns.zone.record.delete"] * 16 + ["dns.zone.delete"]
    assert sum(written) == 17
    assert max(written) == AT_ONCE + 1


def test_no_record_goes_of_zones_that_are_too_many_at_once(
    api: Api, path: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(bulk, "MOST", 1)
    put(api, path, text_of("abcdefghij"))
    ok(api.post(ZONES, zone(domain="z.test")))
    client = client_of(person("network_admin"))
    ids = list(Zone.objects.values_list("pk", flat=True))
    chosen = {"action": "delete_selected", "_selected_action": ids}
    for sent in (chosen, chosen | {"post": "yes"}):
        page = client.post("/admin/dns/zone/", sent).content.decode()
        assert "choose at most 1 at once" in page
    assert len(held(api, path)) == 16


def test_the_admin_site_tells_of_a_large_zone_without_trying(
    api: Api, path: str, writes: list[int]
):
    put(api, path, text_of("abcdefghij"))
    pk = path.rpartition("/")[2]
    client = client_of(person("network_admin"))
    writes.clear()
    page = client.get(f"/admin/dns/zone/{pk}/delete/").content.decode()
    assert f'<a href="/admin/dns/zone/{pk}/change/">Services</a>' in page
    assert "will be deleted, with its 16 records" in page
    assert writes == []


def test_only_who_may_delete_a_zone_thins_it_out(api: Api, path: str):
    put(api, path, text_of("abcdefghij"))
    pk = path.rpartition("/")[2]
    client = client_of(person("auditor"))
    page = f"/admin/dns/zone/{pk}/delete/"
    assert client.post(page, {"post": "yes"}).status_code == 403
    assert len(held(api, path)) == 16


@pytest.mark.django_db(transaction=True)
def test_the_admin_site_deletes_many_records_in_pieces(api: Api, path: str):
    put(api, path, text_of("abcdefghij"))
    client = client_of(person("network_admin"))
    ids = list(Record.objects.order_by("id").values_list("pk", flat=True))
    chosen = {"action": "delete_selected", "_selected_action": ids}

    written: list[int] = []
    with transactions_of(written):
        page = client.post("/admin/dns/record/", chosen).content.decode()
        assert "16 records: will be deleted" in page
        assert sum(written) == 0
        done = client.post("/admin/dns/record/", chosen | {"post": "yes"})
        assert done.status_code == 302

    assert held(api, path) == []
    assert sum(written) == 16
    assert max(written) == AT_ONCE
