"""The rooms above fill the events' directory with real users, peers and policies."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection

from events import directory
from events.models import ProxyEntry, TrafficEvent
from events.streams import batches
from events.streams.catalogue import PROXY, TRAFFIC
from meshmgmt.access.models import Policy
from meshmgmt.core.ids import new_id
from meshmgmt.core.queries import MOST_PARAMETERS
from meshmgmt.core.registry import Registry
from tests.events.samples import moment, proxy
from tests.factories import peer, resource
from tests.people import api_as, person

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("wide_range")]


@contextmanager
def counted_parameters() -> Iterator[list[int]]:
    """Yield how many parameters the statements of the block have, each."""
    numbers: list[int] = []

    def counted(execute: Any, sql: Any, values: Any, many: Any, facts: Any) -> Any:
        numbers.append(len(values or ()))
        return execute(sql, values, many, facts)

    with connection.execute_wrapper(counted):
        yield numbers


def test_a_flow_is_completed_from_the_inventory():
    ann = person("user", email="Ann@mesh.dev", name="Ann")
    laptop = peer("laptop", ip="100.64.0.9", dns_label="laptop", os="linux", user=ann)
    printer = resource("printer", address="10.0.0.9")
    policy = Policy(name="Print")
    policy.save()
    event = {
        "reporter_id": laptop.pk,
        "source": {"address": "100.64.0.9:5000"},
        "destination": {"id": printer.pk, "address": "10.0.0.9:631"},
        "policy": {"id": policy.pk},
        "window_end": moment(1),
    }
    batches.ingest_events(TRAFFIC, [event])
    content = TrafficEvent.objects.get().content
    assert content["source"]["id"] == laptop.pk
    assert content["source"]["dns_label"].startswith("laptop.")
    assert content["user"] == {"id": ann.pk, "email": "Ann@mesh.dev", "name": "Ann"}
    assert content["policy"]["name"] == "Print"
    assert content["destination"]["type"] == "HOST_RESOURCE"
    assert content["connection_type"] == "ROUTED"


def test_what_a_large_batch_names_is_looked_up_in_parts():
    ann = person("user", email="ann@mesh.dev")
    laptop = peer("laptop", ip="100.64.0.9", ipv6="fd00::9")
    policy = Policy(name="Print")
    policy.save()
    printer = resource("printer", address="10.0.0.9")
    others = [new_id() for _ in range(MOST_PARAMETERS)]
    emails = [f"{other}@mesh.dev" for other in others]
    with counted_parameters() as numbers:
        found = list(
            directory.peers.only(
                [*others, laptop.pk], ["100.64.0.9", *others, "fd00::9", "100.64.0.8"]
            )
        )
        users = list(directory.users.only([ann.pk, *others, *emails, "Ann@mesh.dev"]))
        policies = directory.policies.only([*others, policy.pk])
        resources = list(directory.resources.only([*others, printer.pk]))
    assert max(numbers) <= MOST_PARAMETERS
    assert [each.address for each in found] == ["fd00::9", "100.64.0.9"]
    assert [user.id for user in users] == [ann.pk]
    assert policies == {policy.pk: "Print"}
    assert [each.id for each in resources] == [printer.pk]


def test_the_overlay_makes_unknown_addresses_of_it_peers():
    event = {
        "reporter_id": "r",
        "source": {"address": "100.64.0.200"},
        "destination": {"address": "100.64.0.201"},
        "window_end": moment(1),
    }
    batches.ingest_events(TRAFFIC, [event])
    assert TrafficEvent.objects.get().content["connection_type"] == "P2P"


def test_entries_are_found_by_any_user_whose_name_or_email_matches():
    first = person("user", email="jörg@mesh.dev", name="Jörg One")
    second = person("user", email="other@mesh.dev", name="JÖRG Two")
    batches.ingest_events(
        PROXY,
        [
            proxy(user_id=first.pk, path="/1"),
            proxy(user_id=second.pk, path="/2"),
            proxy(user_id="OTHER@mesh.dev", path="/3"),
            proxy(path="/4"),
        ],
    )
    api = api_as("auditor")

    def paths(query: str) -> set[str]:
        data = api.get(f"/api/events/proxy?{query}").json["data"]
        return {entry["path"] for entry in data}

    assert paths("user_name=jörg") == {"/1", "/2", "/3"}
    assert paths("user_email=OTHER@") == {"/2", "/3"}
    assert paths("user_name=nobody") == set()
    assert paths("user_email=nobody&user_name=jörg") == set()
    assert paths("search=jörg one") == {"/1"}
    assert ProxyEntry.objects.filter(user_id=second.pk).count() == 2


@pytest.mark.sqlite
@pytest.mark.parametrize("name", ["user_email", "user_name", "search"])
def test_entries_of_any_number_of_users_are_found(
    name: str, monkeypatch: pytest.MonkeyPatch
):
    users = [new_id() for _ in range(MOST_PARAMETERS + 1)]
    found = Registry({"tests": lambda email, name: set(users)})
    monkeypatch.setattr(directory, "find_users", found)
    batches.ingest_events(PROXY, [proxy(user_id=users[0]), proxy(user_id="other")])
    api = api_as("auditor")
    with counted_parameters() as numbers:
        data = api.get(f"/api/events/proxy?{name}=mesh.dev").json["data"]
    assert [entry["user_id"] for entry in data] == users[:1]
    assert max(numbers) <= MOST_PARAMETERS
