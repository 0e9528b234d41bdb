"""Writers that race: real threads, each with its own connection to the database."""

from collections.abc import Sequence
from typing import Any

import pytest
from django.db import connection

from tests.api_client import Answer, Api
from tests.dns.bodies import nameserver_group, record, zone
from tests.factories import Trail
from tests.races import race
from tests.resource_contract import ok

pytestmark = pytest.mark.django_db(transaction=True)
ZONES = "/api/dns/zones"


def posts(api: Api, path: str, bodies: Sequence[dict[str, Any]]) -> list[Answer]:
    """POST all bodies at the same moment, each from a client of its own."""
    assert api.token is not None
    token = api.token
    return race([lambda body=body: Api(token).post(path, body) for body in bodies])  # type: ignore[misc]


def assert_one_wins(answers: Sequence[Answer]) -> None:
    """Check that one answer is 200 and all others are 409."""
    statuses = sorted(answer.status for answer in answers)
    assert statuses == [200] + [409] * (len(answers) - 1), [a.json for a in answers]


def test_one_of_many_gets_the_name_of_a_nameserver_group(api: Api):
    path = "/api/dns/nameservers"
    bodies = [nameserver_group(description=str(number)) for number in range(6)]
    trail = Trail()
    assert_one_wins(posts(api, path, bodies))
    assert len(api.get(path).json) == 1
    assert trail.codes == ["nameserver.group.add"]


def test_one_of_many_gets_the_domain_of_a_zone(api: Api):
    spellings = [
        *("svc.test", "SVC.test", "svc.test.", "Svc.Test", "svc.TEST", "sVc.test"),
    ]
    trail = Trail()
    assert_one_wins(posts(api, ZONES, [zone(domain=text) for text in spellings]))
    assert len(api.get(ZONES).json) == 1
    assert trail.codes == ["dns.zone.create"]


@pytest.mark.parametrize(
    "bodies",
    [
        [record(type="CNAME", content=f"t{number}.test") for number in range(6)],
        [record(ttl=number) for number in range(6)],
    ],
    ids=["cname", "identical"],
)
def test_one_of_many_gets_the_record(api: Api, bodies: list[dict[str, Any]]):
    path = f"{ZONES}/{ok(api.post(ZONES, zone()))['id']}/records"
    trail = Trail()
    assert_one_wins(posts(api, path, bodies))
    assert len(api.get(path).json) == 1
    assert trail.codes == ["dns.zone.record.create"]


def test_alias_and_addresses_never_meet(api: Api):
    path = f"{ZONES}/{ok(api.post(ZONES, zone()))['id']}/records"
    alias = record(type="CNAME", content="other.test")
    addresses = [record(content=f"10.0.0.{number}") for number in range(1, 6)]
    answers = posts(api, path, [alias, *addresses])
    assert {answer.status for answer in answers} == {200, 409}
    types = {found["type"] for found in api.get(path).json}
    assert types in ({"A"}, {"CNAME"})


def test_record_into_a_zone_that_is_deleted_meanwhile(api: Api):
    zone_id = ok(api.post(ZONES, zone()))["id"]
    token = api.token
    added, deleted = race(
        [
            lambda: Api(token).post(f"{ZONES}/{zone_id}/records", record()),
            lambda: Api(token).delete(f"{ZONES}/{zone_id}"),
        ]
    )
    assert deleted.status == 200
    assert added.status in {200, 404}
    assert api.get(f"{ZONES}/{zone_id}").status == 404


@pytest.mark.postgresql
@pytest.mark.skipif(connection.vendor != "postgresql", reason="needs PostgreSQL")
def test_database_itself_keeps_aliases_alone(api: Api):
    """A write that by-passes our code still cannot break the rule."""
    from django.db import IntegrityError  # noqa: PLC0415

    zone_id = ok(api.post(ZONES, zone()))["id"]
    made = ok(api.post(f"{ZONES}/{zone_id}/records", record()))
    with (
        pytest.raises(IntegrityError, match="dns_record_cname_alone"),
        connection.cursor() as cursor,
    ):
        cursor.execute(
            "INSERT INTO dns_record SELECT %s, name, 'CNAME', 'x', ttl,"
            " canonical_name, 'x', zone_id FROM dns_record WHERE id = %s",
            ["0" * 20, made["id"]],
        )
