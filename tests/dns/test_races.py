"""Writers that race: real threads, each with its own connection to the database."""

from typing import Any

import pytest
from django.db import IntegrityError, connection

from tests.api_client import Answer, Api
from tests.dns.bodies import nameserver_group, record, zone
from tests.factories import Trail
from tests.races import sent_at_once
from tests.resource_contract import ok

pytestmark = pytest.mark.django_db(transaction=True)
ZONES = "/api/dns/zones"


def posts(api: Api, path: str, bodies: list[dict[str, Any]]) -> list[Answer]:
    return sent_at_once(api, *(("POST", path, body) for body in bodies))


SPELLINGS = ("svc.test", "SVC.test", "svc.test.", "Svc.Test", "svc.TEST", "sVc.test")
SERVERS = [nameserver_group(description=str(number)) for number in range(6)]
ALIASES = [record(type="CNAME", content=f"t{number}.test") for number in range(6)]
SIX: list[tuple[str, list[dict[str, Any]], str]] = [
    ("/api/dns/nameservers", SERVERS, "nameserver.group.add"),
    (ZONES, [zone(domain=text) for text in SPELLINGS], "dns.zone.create"),
    ("records", ALIASES, "dns.zone.record.create"),
    ("records", [record(ttl=number) for number in range(6)], "dns.zone.record.create"),
]


@pytest.mark.parametrize(
    ("path", "bodies", "code"),
    SIX,
    ids=["name of servers", "domain of a zone", "cname", "identical record"],
)
def test_one_of_many_gets_it(
    api: Api, path: str, bodies: list[dict[str, Any]], code: str
):
    if path == "records":
        path = f"{ZONES}/{ok(api.post(ZONES, zone()))['id']}/records"
    trail = Trail()
    answers = posts(api, path, bodies)
    told = [answer.json for answer in answers]
    assert sorted(answer.status for answer in answers) == [200] + [409] * 5, told
    assert len(api.get(path).json) == 1
    assert trail.codes == [code]


def test_alias_and_addresses_never_meet(api: Api, path: str):
    alias = record(type="CNAME", content="other.test")
    addresses = [record(content=f"10.0.0.{number}") for number in range(1, 6)]
    answers = posts(api, f"{path}/records", [alias, *addresses])
    assert {answer.status for answer in answers} == {200, 409}
    types = {found["type"] for found in api.get(f"{path}/records").json}
    assert types in ({"A"}, {"CNAME"})


def test_record_into_a_zone_that_is_deleted_meanwhile(api: Api, path: str):
    added, deleted = sent_at_once(
        api, ("POST", f"{path}/records", record()), ("DELETE", path, None)
    )
    assert deleted.status == 200
    assert added.status in {200, 404}
    assert api.get(path).status == 404


@pytest.mark.postgresql
def test_database_itself_keeps_aliases_alone(api: Api, path: str):
    """A write that by-passes our code still cannot break the rule."""
    made = ok(api.post(f"{path}/records", record()))
    with (
        pytest.raises(IntegrityError, match="dns_record_cname_alone"),
        connection.cursor() as cursor,
    ):
        cursor.execute(
            "INSERT INTO dns_record SELECT %s, name, 'CNAME', 'x', ttl,"
            " canonical_name, 'x', zone_id FROM dns_record WHERE id = %s",
            ["0" * 20, made["id"]],
        )
