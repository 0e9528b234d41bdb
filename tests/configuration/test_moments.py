"""The configuration of a moment, and what differs between two."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from operator import itemgetter
from random import Random
from typing import Any

import pytest
import yaml
from django.core.management import CommandError
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from groups.models import Group
from groups.services import group_create, group_update
from meshmgmt.access.services.networks import network_resources
from meshmgmt.configuration.difference import difference
from meshmgmt.configuration.document import configuration_at, names_at
from meshmgmt.configuration.sections import SECTIONS
from meshmgmt.core import clock
from tests.access import bodies
from tests.api_client import Api
from tests.configuration.applied import applied, applied_by_id, by_id, in_order
from tests.configuration.test_documents import document, run
from tests.factories import group, numbered, peers, rule
from tests.history.test_past import now
from tests.history.writes import Writer, check_at_random
from tests.people import api_as
from tests.races import race
from tests.resource_contract import Body, ok

pytestmark = pytest.mark.django_db


def told(before: str, after: str) -> Body:
    status, text = run("diff", "--from", before, "--to", after, "--json")
    found: Body = json.loads(text)
    assert status == bool(found["objects"])
    return found


@pytest.mark.parametrize(
    ("examples", "writes"), [(2, 15), pytest.param(3, 60, marks=pytest.mark.slow)]
)
def test_a_difference_leads_from_one_moment_to_the_other(examples: int, writes: int):
    members = [member.pk for member in peers(3)]
    caller = api_as()

    def leads_from_one_to_the_other(random: Random) -> None:
        writer = Writer(caller, random, members)
        moments = [now()]
        for _ in range(writes):
            writer.write()
            moments.append(now())
        for _ in range(3):
            first, second = sorted(random.sample(range(len(moments)), 2))
            before, after = moments[first], moments[second]
            changes = told(before, after)["objects"]
            with_names = configuration_at(before, names_at(after))
            led_to = applied_by_id(with_names, changes)
            assert in_order(led_to) == in_order(by_id(configuration_at(after)))
        status, exported = run("export", "--at", moments[-1], "--json")
        assert (status, json.loads(exported)) == (0, document())

    check_at_random(leads_from_one_to_the_other, examples)


RECORDS = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from("ab"), "type": st.just("A"), "content": st.just("1")},
        optional={"ttl": st.integers(1, 3)},
    ),
    max_size=14,
)
ZONES = st.lists(
    st.fixed_dictionaries(
        {"domain": st.sampled_from(["x", "y"]), "enabled": st.booleans()}
    ),
    max_size=4,
)


@given(st.data())
def test_entries_that_share_a_key_are_told_apart(data: st.DataObject):
    documents = []
    for _ in range(2):
        zones = sorted(data.draw(ZONES), key=itemgetter("domain"))
        with_records = [
            {**zone, "records": sorted(data.draw(RECORDS), key=itemgetter("name"))}
            for zone in zones
        ]
        documents.append({**EMPTY, "zones": with_records})
    before, after = documents
    assert applied(before, difference(before, after)) == after


EMPTY: Body = {"version": 1, "settings": {}, "dns_settings": {}}
EMPTY |= {section.name: [] for section in SECTIONS}
"""A document without anything."""


def test_objects_and_fields_are_told(api: Api):
    ok(api.post("/api/groups", {"name": "ops"}))
    made = ok(api.post("/api/networks", {"name": "office", "description": "old"}))
    gone = group("gone")
    first = now()
    body = {"name": "office", "description": "new"}
    ok(api.put(f"/api/networks/{made['id']}", body))
    router = {"peer_groups": [], "metric": 9, "masquerade": True, "enabled": True}
    router["peer_groups"] = [ok(api.get("/api/groups?name=ops"))[0]["id"]]
    ok(api.post(f"/api/networks/{made['id']}/routers", router))
    ok(api.delete(f"/api/groups/{gone.pk}"))
    second = now()
    ok(api.post("/api/groups", {"name": "later"}))
    status, text = run("diff", "--from", first, "--to", second)
    assert status == 1
    found = yaml.safe_load(text)
    assert (found["from"], found["to"]) == (first, second)
    deleted, changed, created = found["objects"]
    assert (deleted["action"], deleted["section"]) == ("deleted", "groups")
    assert deleted["key"] == ["gone", "1"]
    assert changed == {
        "action": "changed",
        "section": "networks",
        "key": ["office", "1"],
        "ids": [made["id"]],
        "fields": {"description": {"before": "old", "after": "new"}},
    }
    assert (created["action"], created["section"]) == ("created", "routers")
    assert created["within"] == {"section": "networks", "key": ["office", "1"]}
    assert created["fields"]["metric"] == {"after": 9}
    assert found == told(first, second)
    later = json.loads(run("diff", "--from", second, "--json")[1])
    assert [each["key"] for each in later["objects"]] == [["later", "1"]]
    assert later["to"] == "now"


def renamed(api: Api, group_id: str, name: str) -> None:
    ok(api.put(f"/api/groups/{group_id}", {"name": name, "peers": []}))


def changes_since(moment: str) -> list[tuple[str, str, str]]:
    """Return of each change its action, its section and the first word of its key."""
    found = json.loads(run("diff", "--from", moment, "--json")[1])["objects"]
    return [(each["action"], each["section"], each["key"][0]) for each in found]


def test_a_renamed_object_is_one_change_and_what_names_it_none(api: Api):
    one, other = (
        ok(api.post("/api/groups", {"name": n}))["id"] for n in ("one", "other")
    )
    ok(api.post("/api/policies", bodies.policy(rules=[bodies.rule(sources=[one])])))
    first = now()
    renamed(api, one, "new")
    assert changes_since(first) == [("changed", "groups", "new")]
    renamed(api, other, "one")
    renamed(api, one, "other")
    swapped = [("changed", "groups", "one"), ("changed", "groups", "other")]
    assert changes_since(first) == swapped


@contextmanager
def renamed_beside_the_past(named: Group) -> Iterator[None]:
    """Let another writer rename a group when a block looks for what was then."""
    rename = partial(
        group_update, group_id=named.pk, name="new", peers=None, resources=[]
    )
    renamed: list[Group] = []

    def overtake(execute: Any, sql: str, *rest: Any) -> Any:
        if '"history_key"' in sql and not renamed:
            renamed.extend(race([rename]))
        return execute(sql, *rest)

    with connection.execute_wrapper(overtake):
        yield
    assert renamed


def named_by_a_policy() -> Group:
    """Return a group that another object of the document names."""
    made = group_create(name="one")
    rule([made], [made])
    return made


@pytest.mark.django_db(transaction=True)
def test_what_is_renamed_while_it_is_compared_with_now_differs_in_nothing():
    one = named_by_a_policy()
    first = now()
    with renamed_beside_the_past(one):
        assert told(first, "")["objects"] == []
    assert changes_since(first) == [("changed", "groups", "new")]


def test_of_objects_that_share_a_key_the_one_that_went_is_told(api: Api):
    one, _ = (
        ok(api.post("/api/routes", bodies.route(peer=numbered(number).pk)))["id"]
        for number in (1, 2)
    )
    first = now()
    ok(api.delete(f"/api/routes/{one}"))
    [gone] = told(first, now())["objects"]
    assert (gone["action"], gone["ids"]) == ("deleted", [one])


def test_parts_stay_when_their_whole_is_renamed_and_go_when_they_move(api: Api):
    here, there = (
        ok(api.post("/api/networks", {"name": n}))["id"] for n in ("here", "there")
    )
    body = {"name": "nas", "address": "10.0.0.1", "groups": [], "enabled": True}
    nas = ok(api.post(f"/api/networks/{there}/resources", body))["id"]
    first = now()
    ok(api.put(f"/api/networks/{there}", {"name": "elsewhere"}))
    assert changes_since(first) == [("changed", "networks", "elsewhere")]
    second = now()
    network_resources.move(nas, here)
    found = told(second, now())["objects"]
    assert [(each["action"], each["within"]["key"][0]) for each in found] == [
        ("deleted", "elsewhere"),
        ("created", "here"),
    ]


def test_moments_that_differ_in_nothing():
    group("ops")
    moment = now()
    assert told(moment, moment)["objects"] == []
    assert run("diff", "--from", moment)[0] == 0


def test_faulty_moments_are_refused_by_the_name_of_their_option():
    group("ops")
    moment = now()
    long_ago = "1999-01-01T00:00:00Z"
    before = (clock.now() - timedelta(seconds=9)).isoformat()
    for words, message in (
        (["export", "--at", long_ago], "--at: the audit trail does not reach back"),
        (["export", "--at", "2999-01-01T00:00:00Z"], "--at: .*still to come"),
        (["diff", "--from", long_ago], "--from: the audit trail does not reach"),
        (["diff", "--from", "soon"], "--from: must be a time"),
        (["diff", "--from", moment, "--to", "2026-01-01T00:00:00"], "--to: .*zone"),
        (["diff", "--from", moment, "--to", before], "--to lies before --from"),
    ):
        with pytest.raises(CommandError, match=message) as refused:
            run(*words)
        assert refused.value.returncode == 2
