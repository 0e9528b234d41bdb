"""What comes back finds its place, and works as it did."""

from datetime import timedelta

import pytest

from dns.services.zones import zones
from events.models import AuditEvent
from meshmgmt.accounts.services.account import account_update
from meshmgmt.core import clock, context
from meshmgmt.inventory.models import Peer
from tests.api_client import Answer, Api
from tests.dns.bodies import record, zone
from tests.factories import account_settings, newest_event, peer
from tests.people import person
from tests.resource_contract import Body, ok

pytestmark = pytest.mark.django_db


def undo(api: Api) -> None:
    ok(reverted(api, newest_event()))


def reverted(
    api: Api, event: AuditEvent, query: str = "", *, whole: bool = True, **headers: str
) -> Answer:
    path = f"/api/events/audit/{event.pk}/revert{query}"
    return api.post(path, {"whole_request": whole}, **headers)


def shown(api: Api, path: str) -> list[Body]:
    return sorted(
        ({**one, "id": ""} for one in ok(api.get(path))), key=lambda one: one["name"]
    )


def test_records_that_took_the_places_of_others_give_them_back(api: Api):
    made = ok(api.post("/api/dns/zones", zone(domain="zf.test")))
    path = f"/api/dns/zones/{made['id']}"
    ok(api.post(f"{path}/records", record(name="www.zf.test", content="10.0.0.1")))
    alias = {"name": "x.zf.test", "type": "CNAME", "content": "o.test", "ttl": 60}
    ok(api.post(f"{path}/records", alias))
    before = shown(api, f"{path}/records")
    swapped = b"$ORIGIN zf.test.\nwww 60 IN CNAME q.test.\nx 60 IN A 10.2.2.2\n"
    ok(api.call("PUT", f"{path}/zonefile", swapped))
    assert {one["type"] for one in shown(api, f"{path}/records")} == {"A", "CNAME"}
    assert shown(api, f"{path}/records") != before

    undo(api)

    assert shown(api, f"{path}/records") == before


def test_a_record_that_was_renamed_is_found_by_its_old_name_again(api: Api):
    made = ok(api.post("/api/dns/zones", zone(domain="zf.test")))
    path = f"/api/dns/zones/{made['id']}/records"
    old = record(name="www.zf.test", content="10.0.0.1")
    one = ok(api.post(path, old))
    new = record(name="b.zf.test", content="10.0.0.9")
    ok(api.put(f"{path}/{one['id']}", new))

    undo(api)

    assert api.post(path, old).status == 409
    assert api.post(path, new).status == 200


@pytest.mark.parametrize("ended", [True, False])
def test_a_peer_comes_back_with_its_login_as_it_was(api: Api, ended: bool):
    account_settings(peer_login_expiration_enabled=True, peer_login_expiration=3600)
    laptop = peer(
        "laptop",
        user=person("user"),
        login_expiration_enabled=True,
        login_expired=ended,
        created_at=clock.now() - timedelta(days=7),
        last_login=clock.now(),
    )
    ok(api.delete(f"/api/peers/{laptop.pk}"))

    undo(api)

    assert ok(api.get(f"/api/peers/{laptop.pk}"))["login_expired"] is ended
    assert (Peer.objects.get(pk=laptop.pk).last_login is None) is ended


def test_a_zone_comes_back_whose_domain_the_peers_have_left(api: Api):
    made = ok(api.post("/api/dns/zones", zone(domain="apps.test")))
    ok(api.post(f"/api/dns/zones/{made['id']}/records", record(name="a.apps.test")))
    with context.scope(request_id="both"):
        zones.delete(made["id"])
        account_update(settings={"dns_domain": "apps.test"})
    undo(api)
    assert ok(api.get(f"/api/dns/zones/{made['id']}"))["domain"] == "apps.test"


def test_a_zone_comes_back_in_place_of_one_with_its_domain(api: Api):
    old = ok(api.post("/api/dns/zones", zone(domain="apps.test")))
    with context.scope(request_id="both"):
        zones.delete(old["id"])
        new = zones.create(zone(domain="apps.test"))
    undo(api)
    assert ok(api.get(f"/api/dns/zones/{old['id']}"))["domain"] == "apps.test"
    assert api.get(f"/api/dns/zones/{new.pk}").status == 404
