"""Heads and proofs over HTTP; what cannot be proven is refused clearly."""

import json
from typing import Any

import pytest

from events.models import AuditEvent, AuditHead
from events.proof import heads
from events.proof.hashing import (
    head_fault,
    leaf_hash,
    proves_consistency,
    proves_inclusion,
)
from tests.admin.signed_in import client_of
from tests.api_client import Api
from tests.people import api_as, person
from tests.proof.trails import PATH, write

pytestmark = pytest.mark.django_db


@pytest.fixture
def api() -> Api:
    """A reader; two heads of the trail are signed."""
    reader = api_as("auditor")
    for count in (20, 300):
        write(count)
        heads.keep_up()
    return reader


def unhex(path: list[str]) -> list[bytes]:
    return [bytes.fromhex(node) for node in path]


def two_heads(api: Api) -> tuple[Any, Any]:
    newer, older = api.get(f"{PATH}/tree-heads").json
    return older, newer


def test_heads_come_newest_first_in_pages(api: Api):
    older, newer = two_heads(api)
    assert older["tree_size"] < newer["tree_size"]
    assert api.get(f"{PATH}/tree-heads/latest").json == newer
    page = api.get(f"{PATH}/tree-heads?page=2&page_size=1")
    assert (page.json, page.headers["X-Total-Count"]) == ([older], "2")


def test_heads_are_signed_by_the_public_keys(api: Api):
    keys = api.get(f"{PATH}/keys").json
    assert [key["algorithm"] for key in keys] == ["Ed25519"]
    assert [head_fault(head, keys) for head in two_heads(api)] == ["", ""]


def test_an_event_as_the_api_shows_it_is_proven(api: Api):
    for head in two_heads(api):
        event = api.get(f"{PATH}/{AuditEvent.objects.order_by('id')[7].pk}").json
        query = f"event={event['id']}&tree_size={head['tree_size']}"
        proof = api.get(
            f"{PATH}/proof/inclusion?{query}&root_hash={head['root_hash']}"
        ).json
        assert bytes.fromhex(proof["leaf_hash"]) == leaf_hash(event)
        assert proves_inclusion(
            leaf_hash(event),
            proof["leaf_index"],
            head["tree_size"],
            unhex(proof["inclusion_path"]),
            bytes.fromhex(head["root_hash"]),
        )


def test_the_newest_head_is_meant_where_none_is_named(api: Api):
    older, newer = two_heads(api)
    event = AuditEvent.objects.order_by("id")[7].pk
    proof = api.get(f"{PATH}/proof/inclusion?event={event}").json
    assert proof["tree_size"] == newer["tree_size"]
    link = api.get(f"{PATH}/proof/consistency?first={older['tree_size']}").json
    assert link["second"] == newer["tree_size"]
    assert proves_consistency(
        older["tree_size"],
        newer["tree_size"],
        unhex(link["consistency_path"]),
        bytes.fromhex(older["root_hash"]),
        bytes.fromhex(newer["root_hash"]),
    )
    leaves = api.get(f"{PATH}/proof/leaves").body.splitlines()
    assert len(leaves) == newer["tree_size"]
    assert json.loads(leaves[7]) == {"id": str(event), "hash": proof["leaf_hash"]}


REFUSED: dict[str, tuple[int, list[str]]] = {
    "inclusion": (400, ["event"]),
    "inclusion?event=x": (400, ["event"]),
    "inclusion?event=0": (400, ["event"]),
    "inclusion?event=7&tree_size=0": (400, ["tree_size"]),
    "inclusion?event=7&tree_size=99999": (400, ["tree_size"]),
    "inclusion?event=7&root_hash=ab": (400, ["root_hash"]),
    "inclusion?event=7&root_hash=" + "zz" * 32: (400, ["root_hash"]),
    "inclusion?event=7&root_hash=" + "00" * 32: (409, ["root_hash"]),
    "inclusion?event=999999": (404, []),
    "consistency": (400, ["first"]),
    "consistency?first=5&second=4": (400, ["first"]),
    "consistency?first=5&second=99999": (400, ["second"]),
    "consistency?first=99999": (400, ["first"]),
    "consistency?first=5&first_root=" + "00" * 32: (409, ["first_root"]),
    "consistency?first=5&second_root=" + "00" * 32: (409, ["second_root"]),
    "leaves?tree_size=99999": (400, ["tree_size"]),
    "leaves?tree_size=1&tree_size=2": (400, ["tree_size"]),
}


def test_what_cannot_be_proven_is_refused(api: Api):
    for query, refused in REFUSED.items():
        answer = api.get(f"{PATH}/proof/{query}")
        assert (answer.status, list(answer.fields)) == refused, query


def test_an_event_newer_than_the_head_is_not_in_its_tree(api: Api):
    older, _ = two_heads(api)
    last = AuditEvent.objects.order_by("-id")[0].pk
    query = f"event={last}&tree_size={older['tree_size']}"
    assert api.get(f"{PATH}/proof/inclusion?{query}").status == 404


def test_nothing_is_proven_before_the_first_head():
    reader = api_as("auditor")
    for path in ("tree-heads/latest", "proof/leaves", "proof/inclusion?event=1"):
        answer = reader.get(f"{PATH}/{path}")
        assert answer.status == 404
        assert "no tree head was signed yet" in answer.json["message"]
    assert reader.get(f"{PATH}/tree-heads").json == []
    assert reader.get(f"{PATH}/keys").json == []


@pytest.mark.parametrize("kind", ["application/x-ndjson", "text/csv"])
def test_an_export_brings_a_head_of_all_that_is_in_it(api: Api, kind: str):
    write(5)
    answer = api.get(PATH, Accept=kind)
    head = json.loads(answer.headers["Audit-Tree-Head"])
    assert head["tree_size"] == AuditEvent.objects.count()
    assert head == api.get(f"{PATH}/tree-heads/latest").json
    assert "Audit-Tree-Head" not in api.get(PATH).headers


def test_an_export_of_a_trail_that_was_never_signed_comes_without_a_head():
    answer = api_as("auditor").get(PATH, Accept="application/x-ndjson")
    assert answer.status == 200
    assert "Audit-Tree-Head" not in answer.headers
    assert not AuditHead.objects.exists()


def test_the_admin_page_shows_the_newest_head(api: Api):
    _, newer = two_heads(api)
    client = client_of(person("auditor"))
    shown = client.get("/admin/events/auditevent/").content.decode()
    assert f"{newer['tree_size']} events" in shown
    assert newer["root_hash"][:16] in shown
    assert f'href="{PATH}/tree-heads/latest"' in shown
    other = client.get("/admin/events/trafficevent/").content.decode()
    assert newer["root_hash"][:16] not in other
