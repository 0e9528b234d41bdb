"""Random sequences of writes through the API keep the rules of what is stored."""

from collections import Counter
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dns.content import canonical_content
from dns.models import NameserverGroup
from dns.selectors import zone_rows
from events.models import AuditEvent
from meshmgmt.core.names import WILDCARD, canonical, is_subdomain
from meshmgmt.core.resources import stored_rows
from tests.api_client import Api
from tests.factories import group_id

ZONES = "/api/dns/zones"
GROUPS = "/api/dns/nameservers"
ALLOWED = {200, 404, 409, 422}

_domains = st.sampled_from(
    ["a.test", "A.test.", "b.a.test", "*.a.test", "ü.test", "xn--tda.test", ""]
)
_names = st.sampled_from(
    ["a.test", "x.a.test", "X.A.test.", "*.a.test", "x.b.a.test", "ü.test", "x.ü.test"]
)
_types = st.sampled_from(["A", "AAAA", "CNAME", "a"])
_contents = st.sampled_from(
    ["10.0.0.1", "10.0.0.2", "::1", "0::1", "t.test", "T.test.", "x.a.test", ""]
)
_numbers = st.integers(0, 5)
_zones = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["n", "", "m"]),
        "domain": _domains,
        "enable_search_domain": st.booleans(),
        "distribution_groups": st.lists(_numbers, max_size=3),
    }
)
_records = st.fixed_dictionaries(
    {
        "name": _names,
        "type": _types,
        "content": _contents,
        "ttl": st.sampled_from([0, 300, -1, 2**31]),
    }
)
_groups = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["n", "N", "", "x" * 41]),
        "description": st.just(""),
        "nameservers": st.lists(
            st.fixed_dictionaries({"ip": st.sampled_from(["10.0.0.1", "::1", "x"])}),
            max_size=4,
        ),
        "enabled": st.booleans(),
        "groups": st.lists(_numbers, max_size=3),
        "primary": st.booleans(),
        "domains": st.lists(_domains, max_size=2),
        "search_domains_enabled": st.booleans(),
    }
)
_operations = st.one_of(
    st.tuples(st.just("zone"), st.sampled_from(["POST", "PUT"]), _numbers, _zones),
    st.tuples(st.just("zone"), st.just("DELETE"), _numbers, st.none()),
    st.tuples(
        st.just("record"),
        st.sampled_from(["POST", "POST", "POST", "PUT", "DELETE"]),
        _numbers,
        _records,
    ),
    st.tuples(st.just("group"), st.sampled_from(["POST", "PUT"]), _numbers, _groups),
    st.tuples(st.just("group"), st.just("DELETE"), _numbers, st.none()),
)


class Machine:
    """Applies operations; objects are chosen among those that exist."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.peer_groups = [group_id(f"g{number}") for number in range(5)]

    def apply(self, kind: str, method: str, number: int, body: Any) -> None:
        """Send one request and check that its effect and its event agree."""
        body = self._with_groups(body)
        before, events = self._state(), AuditEvent.objects.count()
        answer = self.api.call(method, self._path(kind, method, number), body)
        assert answer.status in ALLOWED, answer.json
        changed = self._state() != before
        assert changed == (AuditEvent.objects.count() > events)
        if answer.status != 200:
            assert not changed

    def check(self) -> None:
        """Check every rule on all that is stored."""
        zones = self.api.get(ZONES).json
        domains = [canonical(zone["domain"]) for zone in zones]
        assert len(set(domains)) == len(domains)
        for zone, domain in zip(zones, domains, strict=True):
            assert zone["name"]
            _check_records(zone["records"], domain)
        groups = self.api.get(GROUPS).json
        assert len({group["name"] for group in groups}) == len(groups)
        for group in groups:
            assert 1 <= len(group["name"]) <= 40
            assert 1 <= len(group["nameservers"]) <= 3
            assert group["primary"] == (not group["domains"])
            assert not (group["primary"] and group["search_domains_enabled"])

    def _state(self) -> tuple[Any, Any]:
        return zone_rows(), stored_rows(NameserverGroup)

    def _with_groups(self, body: Any) -> Any:
        """The body with numbers replaced by ids; the last number is unknown."""
        ids = [*self.peer_groups, "0" * 20]
        lists = {"groups", "distribution_groups"}
        return body and {
            key: [ids[n] for n in value] if key in lists else value
            for key, value in body.items()
        }

    def _path(self, kind: str, method: str, number: int) -> str:
        base = GROUPS if kind == "group" else ZONES
        objects = stored_rows(NameserverGroup) if kind == "group" else zone_rows()
        chosen: Any = objects[number % len(objects)] if objects else {"id": "0" * 20}
        if kind == "record":
            base = f"{ZONES}/{chosen['id']}/records"
            records = chosen.get("records") or [{"id": "0" * 20}]
            chosen = records[number % len(records)]
        return base if method == "POST" else f"{base}/{chosen['id']}"


def _check_records(records: list[dict[str, Any]], domain: str) -> None:
    keys = [
        (canonical(r["name"]), r["type"], canonical_content(r["type"], r["content"]))
        for r in records
    ]
    assert len(set(keys)) == len(keys)
    by_name = Counter(name for name, _, _ in keys)
    for (name, type_, _), record in zip(keys, records, strict=True):
        assert is_subdomain(name.removeprefix(WILDCARD), domain)
        assert 0 <= record["ttl"] < 2**31
        if type_ == "CNAME":
            assert by_name[name] == 1
            assert name != domain


MANY = pytest.param(60, 10, 40, marks=[pytest.mark.slow, pytest.mark.timeout(900)])


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize(("examples", "least", "most"), [(20, 4, 15), MANY])
def test_rules_hold_after_any_writes(api: Api, examples: int, least: int, most: int):
    @settings(max_examples=examples, suppress_health_check=[HealthCheck.too_slow])
    @given(st.lists(_operations, min_size=least, max_size=most))
    def check(operations: list[tuple[str, str, int, Any]]) -> None:
        with transaction.atomic():
            machine = Machine(api)
            for operation in operations:
                machine.apply(*operation)
            machine.check()
            transaction.set_rollback(True)

    check()
