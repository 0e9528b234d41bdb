"""What comes back finds its place, and works as it did."""

from dataclasses import replace
from datetime import timedelta
from ipaddress import ip_network
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dns.services.zones import zones
from events.activities import Activity
from meshmgmt.accounts.services.account import account_update
from meshmgmt.control.models import StreamProcess
from meshmgmt.control.services.presence import remove_ephemeral_peers
from meshmgmt.core import clock, context
from meshmgmt.core.context import account_id
from meshmgmt.core.transactions import account_write
from meshmgmt.inventory.models import Peer
from meshmgmt.inventory.services.expiry import expire_logins
from meshmgmt.inventory.services.peers import peer_delete, peer_update
from tests.api_client import Api
from tests.dns.bodies import record, zone
from tests.factories import account_settings, group, peer, peers
from tests.history.test_reverting import newest, of_code, refused, revert
from tests.people import person
from tests.resource_contract import Body, ok

pytestmark = pytest.mark.django_db


def undo(api: Api) -> None:
    ok(revert(api, newest()))


def shown(api: Api, path: str) -> list[Body]:
    return sorted(
        ({**one, "id": ""} for one in ok(api.get(path))), key=lambda one: one["name"]
    )


def test_a_request_id_that_another_client_chose_too_takes_nothing_else_back(
    api: Api, settings
):
    trusted = (ip_network("127.0.0.0/8"),)
    settings.SVC = replace(settings.SVC, trusted_proxies=trusted)
    for name, address in (("theirs", "192.0.2.1"), ("mine", "192.0.2.2")):
        chosen = {"X-Request-Id": "chosen-twice", "X-Forwarded-For": address}
        ok(api.post("/api/groups", {"name": name}, **chosen))
    undo(api)
    names = {each["name"] for each in ok(api.get("/api/groups"))}
    assert names == {"All", "theirs"}


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


SIX = "fd00:1::/64"


def changed(api: Api, **settings: Any) -> None:
    path = f"/api/accounts/{account_id()}"
    shown = ok(api.get(path))["settings"]
    ok(api.put(path, {"settings": shown | settings}))


def addresses(*some: Peer) -> list[tuple[str, str | None]]:
    found = Peer.objects.in_bulk([one.pk for one in some])
    return [(found[one.pk].ip, found[one.pk].ipv6) for one in some]


@pytest.mark.usefixtures("wide_range")
class TestAddresses:
    def test_a_peer_whose_address_is_out_of_the_range_gets_another(self, api: Api):
        one = peer()
        ok(api.delete(f"/api/peers/{one.pk}"))
        gone = newest()
        changed(api, network_range="10.9.0.0/24")
        planned = ok(revert(api, gone, "?dry_run=true"))
        ok(revert(api, gone, **{"X-Plan-Hash": planned["plan_hash"]}))
        ((ip, _),) = addresses(one)
        assert ip.startswith("10.9.0.")

    def test_peers_whose_addresses_others_have_get_others(self, api: Api):
        some = [peer(f"p{n}", ip=f"100.64.9.{n}", dns_label=f"p{n}") for n in (1, 2)]
        with context.scope(request_id="both"):
            for one in some:
                peer_delete(peer_id=one.pk)
        gone = newest()
        peer("new", ip="100.64.9.1", dns_label="p1")
        ok(revert(api, gone))
        (first, _), (second, _) = addresses(*some)
        assert first not in {"100.64.9.1", "100.64.9.2"}
        assert second == "100.64.9.2"
        labels = Peer.objects.in_bulk([one.pk for one in some])
        assert labels[some[0].pk].dns_label.startswith("p1-")
        assert labels[some[1].pk].dns_label == "p2"

    def test_many_peers_come_back_by_few_queries(self, api: Api):
        asked = []
        for number in (1, 20):
            some = peers(number)
            group(f"team {number}", *some)
            with context.scope(request_id=f"request {number}"), account_write():
                for one in some:
                    peer_delete(peer_id=one.pk)
            with CaptureQueriesContext(connection) as queries:
                undo(api)
            asked.append(len(queries))
        assert Peer.objects.count() == 21
        assert asked[1] <= asked[0] + 2

    def test_a_peer_whose_key_another_has_does_not(self, api: Api):
        one = peer()
        ok(api.delete(f"/api/peers/{one.pk}"))
        gone = newest()
        peer(wg_public_key=one.wg_public_key)
        refused(api, gone, "another peer has this WireGuard public key")

    @pytest.mark.parametrize("still", ["the same", "none", "no range", "another range"])
    def test_a_peer_has_ipv6_if_its_groups_have_it(self, api: Api, still: str):
        one = peer()
        made = group("six", one)
        changed(api, network_range_v6=SIX, ipv6_enabled_groups=[made.pk])
        ((_, before),) = addresses(one)
        ok(api.delete(f"/api/peers/{one.pk}"))
        gone = newest()
        since: dict[str, Body] = {
            "the same": {},
            "none": {"ipv6_enabled_groups": []},
            "no range": {"network_range_v6": ""},
            "another range": {"network_range_v6": "fd00:2::/64"},
        }
        changed(api, **since[still])
        ok(revert(api, gone))
        ((_, after),) = addresses(one)
        if still == "another range":
            assert str(after).startswith("fd00:2::")
        else:
            assert after == (before if still == "the same" else None)

    @pytest.mark.parametrize("deed", ["leave", "delete", "disable", "renumber"])
    def test_what_took_ipv6_from_peers_gives_the_same_back(self, api: Api, deed: str):
        some = [peer(), peer()]
        made = group("six", *some)
        changed(api, network_range_v6=SIX, ipv6_enabled_groups=[made.pk])
        before = addresses(*some)
        if deed == "leave":
            body = {"name": "six", "peers": [some[0].pk]}
            ok(api.put(f"/api/groups/{made.pk}", body))
        elif deed == "delete":
            ok(api.delete(f"/api/groups/{made.pk}"))
        elif deed == "disable":
            changed(api, ipv6_enabled_groups=[])
        else:
            changed(api, network_range_v6="fd00:2::/64")
        assert addresses(*some) != before
        undo(api)
        assert addresses(*some) == before

    def test_a_member_that_comes_back_alone_gets_ipv6_with_its_group(self, api: Api):
        one = peer()
        made = group("six", one)
        changed(api, network_range_v6=SIX, ipv6_enabled_groups=[made.pk])
        ok(api.put(f"/api/groups/{made.pk}", {"name": "six", "peers": []}))
        left = of_code("peer.group.delete")
        planned = ok(revert(api, left, "?dry_run=true", whole=False))
        hashed = {"X-Plan-Hash": planned["plan_hash"]}
        ok(revert(api, left, whole=False, **hashed))
        ((_, ipv6),) = addresses(one)
        assert str(ipv6).startswith("fd00:1:")

    def test_an_ipv6_address_alone_does_not_come_back_to_who_may_have_none(
        self, api: Api
    ):
        one = peer()
        made = group("six", one)
        changed(api, network_range_v6=SIX, ipv6_enabled_groups=[made.pk])
        ok(api.put(f"/api/groups/{made.pk}", {"name": "six", "peers": []}))
        lost = of_code("peer.ip.update")
        refused(api, lost, "in no group that has IPv6", whole=False)

    @pytest.mark.parametrize("whole", [True, False])
    def test_peers_with_gaps_between_them_are_in_the_old_range_again(
        self, api: Api, whole: bool
    ):
        # Numbered anew from the lowest on, some would take the places of others.
        some = [peer(ip=f"100.64.0.{n}") for n in (3, 4, 2, 7)]
        before = addresses(*some)
        changed(api, network_range="10.9.0.0/24")
        event = of_code(Activity.ACCOUNT_NETWORK_RANGE_UPDATE)
        ok(revert(api, event, whole=whole))
        after = addresses(*some)
        assert (after == before) is whole
        assert all(ip.startswith("100.64.0.") for ip, _ in after)

    def test_an_address_out_of_the_range_does_not_come_back_alone(self, api: Api):
        one = peer(ip="100.64.9.200")
        peer_update(peer_id=one.pk, ip="100.64.9.2")
        moved = newest()
        changed(api, network_range="100.64.9.0/28")
        refused(api, moved, "not within the account's network range")

    def test_an_address_that_another_has_does_not_come_back(self, api: Api):
        one = peer(ip="100.64.9.1")
        peer_update(peer_id=one.pk, ip="100.64.9.2")
        moved = newest()
        peer(ip="100.64.9.1")
        refused(api, moved, "another peer has the address 100.64.9.1")


@pytest.mark.parametrize("owned", [True, False])
def test_a_machine_that_comes_back_was_not_away(api: Api, owned: bool):
    account_settings(
        peer_inactivity_expiration_enabled=True, peer_inactivity_expiration=600
    )
    old = clock.now() - timedelta(hours=2)
    one = peer(
        user=person("user") if owned else None,
        inactivity_expiration_enabled=owned,
        ephemeral=not owned,
        created_at=old,
        last_seen=clock.now(),
    )
    StreamProcess.objects.create(pk="p", started_at=old, seen_at=clock.now())
    ok(api.delete(f"/api/peers/{one.pk}"))
    undo(api)
    assert remove_ephemeral_peers() == 0
    assert expire_logins() == 0
    assert not Peer.objects.get(pk=one.pk).login_expired


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
