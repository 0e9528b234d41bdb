"""The configuration of a moment, and what differs between two."""

import json
from datetime import timedelta
from random import Random

import pytest
import yaml
from django.core.management import CommandError
from hypothesis import given
from hypothesis import strategies as st

from meshmgmt.configuration.difference import difference
from meshmgmt.core import clock
from tests.api_client import Api
from tests.configuration.applied import applied
from tests.configuration.test_documents import document, run
from tests.factories import group, peers
from tests.history.test_past import now
from tests.history.writes import Writer, check_at_random
from tests.people import api_as
from tests.resource_contract import Body, ok

pytestmark = pytest.mark.django_db


def exported(moment: str) -> Body:
    status, text = run("export", "--at", moment, "--json")
    assert status == 0
    found: Body = json.loads(text)
    return found


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
            assert applied(exported(before), changes) == exported(after)
        assert exported(moments[-1]) == document()

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
    empty = difference_free()
    documents = []
    for _ in range(2):
        zones = sorted(data.draw(ZONES), key=lambda zone: str(zone["domain"]))
        documents.append(
            {
                **empty,
                "zones": [
                    {**zone, "records": sorted(data.draw(RECORDS), key=str_name)}
                    for zone in zones
                ],
            }
        )
    before, after = documents
    assert applied(before, difference(before, after)) == after


def str_name(record: Body) -> str:
    return str(record["name"])


def difference_free() -> Body:
    """A document without anything."""
    names = (
        *("version", "settings", "groups", "posture_checks", "networks", "policies"),
        *("routes", "nameserver_groups", "zones", "access_tests", "dns_settings"),
    )
    single = {"version": 1, "settings": {}, "dns_settings": {}}
    return {name: single.get(name, []) for name in names}


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
