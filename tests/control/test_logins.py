"""Which machines are let in, what becomes of them, and what they are told."""

import datetime as dt
import ipaddress
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from groups.selectors import all_group_id
from meshmgmt.access.models import SetupKey
from meshmgmt.access.services.enrolment import setup_keys
from meshmgmt.control.protocol import management_pb2 as pb
from meshmgmt.control.server.messages import login_responses
from meshmgmt.control.services.logins import Session, login
from meshmgmt.control.services.refusals import Code, Refused
from meshmgmt.core import clock
from meshmgmt.inventory.models import Peer
from meshmgmt.inventory.services.peers import peer_delete
from tests.control.machines import (
    SOURCE,
    come_back,
    enrolled,
    meta,
    public_key,
    refusal_of,
    request,
)
from tests.control.recordings import Playback, fresh_store, recording
from tests.factories import (
    Trail,
    account_settings,
    changed,
    group,
    groups_of_peer,
    peer,
    peers,
    rule,
    setup_key,
)
from tests.people import api_as, person
from tests.races import race

pytestmark = pytest.mark.django_db


def refused(**facts: Any) -> Refused:
    return refusal_of(login, public_key(), request(**facts), SOURCE)


def test_setup_key_lets_a_machine_in():
    servers, racks = group("servers"), group("racks")
    key = setup_key("rack", expires_in=3600, auto_groups=[servers.pk, racks.pk])
    trail = Trail()
    sent = request("Web 1.corp", setupKey=key.plain.lower())
    found = login(public_key(), sent, SOURCE)

    peer = Peer.objects.get(pk=found.peer_id)
    assert found.session_expires_at is None
    assert (peer.name, peer.dns_label) == ("Web 1.corp", "web-1")
    assert ipaddress.ip_address(peer.ip) in ipaddress.ip_network("100.64.0.0/10")
    assert (peer.ipv6, peer.user_id, peer.setup_key_id) == (None, None, key.pk)
    assert not peer.login_expiration_enabled
    assert groups_of_peer(peer.pk) == [all_group_id(), servers.pk, racks.pk]
    key.refresh_from_db()
    assert key.used_times == 1
    assert key.last_used is not None
    assert trail.targets[0] == ("peer.setupkey.add", peer.pk)
    assert trail.targets.count(("peer.group.add", peer.pk)) == 2
    added = trail.events[0]
    assert (added.initiator_id, added.source_address) == (key.pk, SOURCE)
    assert added.meta["setup_key_name"] == "rack"
    assert added.meta["location_connection_ip"] == SOURCE


def test_what_the_machine_says_of_itself_is_kept():
    peer = enrolled(
        meta=meta(
            "web",
            sysSerialNumber="S1",
            sysProductName="P1",
            sysManufacturer="M1",
            uiVersion="0.1",
            environment={"cloud": "AWS", "platform": "Docker"},
            files=[{"path": "/usr/bin/av", "exist": True, "processIsRunning": True}],
            flags={"disableDNS": True, "disableIPv6": True, "enableSSHRoot": True},
        ),
        peerKeys={"sshPubKey": b"ssh-ed25519 AAAA\n"},
    )
    wanted = {
        "os": "Debian GNU/Linux 12",
        "os_version": "12",
        "go_os": "linux",
        "kernel": "Linux",
        "kernel_version": "6.1.0",
        "platform": "x86_64",
        "version": "0.77.1",
        "ui_version": "0.1",
        "serial_number": "S1",
        "product_name": "P1",
        "manufacturer": "M1",
        "environment": {"cloud": "AWS", "platform": "Docker"},
        "network_addresses": [{"net_ip": "10.9.0.10/24", "mac": "02:00:00:00:00:0a"}],
        "files": [{"path": "/usr/bin/av", "exist": True, "process_is_running": True}],
        "capabilities": [1, 2],
        "local_flags": {"disable_dns": True, "disable_ipv6": True},
        "sync_message_version": 1,
        "ssh_key": "ssh-ed25519 AAAA",
        "connection_ip": SOURCE,
    }
    assert {name: getattr(peer, name) for name in wanted} == wanted


def test_api_shows_the_new_peer_in_its_usual_shape():
    peer = enrolled()
    shown = api_as("owner").get(f"/api/peers/{peer.pk}").json
    assert shown["os"] == "Debian GNU/Linux 12"
    assert shown["connection_ip"] == SOURCE
    assert "disable_ipv6" not in shown["local_flags"]
    assert "ssh_key" not in shown


def test_stranger_without_any_right_is_told_to_get_one():
    refusal = refused()
    assert refusal.code == Code.PERMISSION_DENIED
    assert "setup key" in refusal.text


def test_login_must_say_what_machine_it_is():
    assert refused(meta=None).code == Code.FAILED_PRECONDITION


def expired_key() -> str:
    with clock.set_to(clock.now() - dt.timedelta(days=2)):
        return setup_key(expires_in=3600).plain


def key_after(deed: Callable[[SetupKey], object], **facts: Any) -> str:
    """Return a key after what was done with it."""
    key = setup_key(**facts)
    deed(key)
    return key.plain


USELESS: dict[str, Callable[[], str]] = {
    "no such key": lambda: str(uuid.uuid4()),
    "endless": lambda: "k" * 100_000,
    "expired": expired_key,
    "revoked": lambda: key_after(
        lambda key: setup_keys.update(key.pk, {"revoked": True})
    ),
    "deleted": lambda: key_after(lambda key: setup_keys.delete(key.pk)),
    "used up": lambda: key_after(
        lambda key: [enrolled(key=key.plain), enrolled(key=key.plain)], usage_limit=2
    ),
    "spent": lambda: key_after(lambda key: enrolled(key=key.plain), type="one-off"),
}


@pytest.mark.parametrize("make", USELESS.values(), ids=USELESS)
def test_useless_setup_key_is_refused_by_two_queries_without_saying_why(make: Any):
    plain = make()
    before = Peer.objects.count()
    trail = Trail()
    with CaptureQueriesContext(connection) as queries:
        refusal = refused(setupKey=plain)
    assert len(queries) == 2
    # No lock of the account for what is refused whoever has it.
    assert all(query["sql"].startswith("SELECT") for query in queries)
    assert refusal.code == Code.PERMISSION_DENIED
    assert refusal.text == "the setup key is not valid"
    assert refusal.reason != refusal.text
    assert plain not in refusal.reason
    assert Peer.objects.count() == before
    assert trail.codes == []


@pytest.mark.django_db(transaction=True)
def test_an_enrolment_takes_few_statements_whoever_is_there_already():
    groups = [group(name).pk for name in ("servers", "racks")]
    plain = setup_key(auto_groups=groups).plain
    enrolled("first", plain)  # what a process reads once is read
    first = statements_of_enrolment("second", plain)
    peers(200)
    again = statements_of_enrolment("third", plain)
    assert len(first) == len(again) <= 30  # PostgreSQL's lock is one
    [begin] = [
        n for n, sql in enumerate(first) if "IMMEDIATE" in sql or "_lock(" in sql
    ]
    under_the_lock = first[begin + 1 : first.index("COMMIT")]
    assert len(under_the_lock) <= 24


def statements_of_enrolment(hostname: str, plain: str) -> list[str]:
    machine = public_key()
    with CaptureQueriesContext(connection) as queries:
        login(machine, request(hostname, setupKey=plain), SOURCE)
    return [query["sql"] for query in queries]


def attempt(machine: str, plain: str) -> Any:
    """Log in and return the peer's id, or the code of the refusal."""
    try:
        return login(machine, request(setupKey=plain), SOURCE).peer_id
    except Refused as refusal:
        return refusal.code


@pytest.mark.django_db(transaction=True)
def test_one_of_twenty_machines_wins_a_one_off_key():
    key = setup_key(type="one-off")
    answers: list[Any] = race([lambda: attempt(public_key(), key.plain)] * 20)
    peer = Peer.objects.get()
    assert sorted(answers) == sorted([*[Code.PERMISSION_DENIED] * 19, peer.pk])
    key.refresh_from_db()
    assert key.used_times == 1


@pytest.mark.django_db(transaction=True)
def test_machine_that_asks_often_at_once_becomes_one_peer():
    key, machine = setup_key(), public_key()
    answers: set[Any] = set(race([lambda: attempt(machine, key.plain)] * 8))
    assert answers <= {Peer.objects.get().pk, Code.FAILED_PRECONDITION}
    key.refresh_from_db()
    assert key.used_times == 1


@pytest.mark.django_db(transaction=True)
def test_machines_of_one_name_get_labels_and_addresses_of_their_own_at_once():
    plain = setup_key().plain
    assert len(set(race([lambda: attempt(public_key(), plain)] * 12))) == 12
    labels = set(Peer.objects.values_list("dns_label", flat=True))
    assert len(labels) == len(set(Peer.objects.values_list("ip", flat=True))) == 12
    assert "web" in labels


@pytest.mark.parametrize(
    ("setting", "text"),
    [("network_range", "100.64.0.0/28"), ("network_range_v6", "fd00:1::/124")],
)
def test_full_range_is_a_clear_error(setting: str, text: str):
    everybody = {"ipv6_enabled_groups": [all_group_id()]}
    account_settings(**everybody | {setting: text})
    key = setup_key()
    for _ in range(13):
        enrolled(key=key.plain)
    refusal = refused(setupKey=key.plain)
    assert refusal.code == Code.RESOURCE_EXHAUSTED
    assert refusal.text == f"the network range {text} has no free address"
    key.refresh_from_db()
    assert key.used_times == 13


def test_ephemeral_key_makes_ephemeral_peers_with_their_address_in_the_label():
    peer = enrolled("ci", setup_key(ephemeral=True).plain)
    third, fourth = peer.ip.split(".")[2:]
    assert peer.ephemeral
    assert peer.dns_label == f"ci-{third}-{fourth}"


def test_members_of_groups_with_ipv6_get_an_address_of_it():
    six = group("six")
    account_settings(network_range_v6="fd00:1::/64", ipv6_enabled_groups=[six.pk])
    member = enrolled(key=setup_key(auto_groups=[six.pk]).plain)
    other = enrolled()
    assert ipaddress.ip_address(member.ipv6 or "") in ipaddress.ip_network(
        "fd00:1::/64"
    )
    assert other.ipv6 is None


def test_everybody_gets_ipv6_when_the_group_of_all_has_it():
    account_settings(
        network_range_v6="fd00:1::/64", ipv6_enabled_groups=[all_group_id()]
    )
    assert enrolled().ipv6 is not None


def test_account_may_want_to_approve_new_peers():
    account_settings(peer_approval_enabled=True)
    trail = Trail()
    peer = enrolled()
    assert peer.approval_required
    assert trail.events[-1].meta["pending_approval"] == "true"
    come_back(peer)


def test_extra_labels_need_a_key_that_allows_them():
    plain = setup_key().plain
    with CaptureQueriesContext(connection) as queries:
        refusal = refused(setupKey=plain, dnsLabels=["db"])
    # FAILED_PRECONDITION would have clients try again for two minutes.
    assert (refusal.code, Peer.objects.count()) == (Code.PERMISSION_DENIED, 0)
    assert all(query["sql"].startswith("SELECT") for query in queries)


def test_extra_labels_are_kept_and_never_change():
    plain = setup_key(allow_extra_dns_labels=True).plain
    peer = enrolled(key=plain, dnsLabels=["DB", "*.apps", "db"])
    assert peer.extra_dns_labels == ["db", "*.apps"]
    come_back(peer, dnsLabels=["other"])
    peer.refresh_from_db()
    assert peer.extra_dns_labels == ["db", "*.apps"]


def test_peer_without_the_right_may_not_come_back_with_extra_labels():
    peer = enrolled()
    assert refusal_of(come_back, peer, dnsLabels=["db"]).code == Code.PERMISSION_DENIED


@pytest.mark.parametrize(
    "labels",
    [["a b"], ["-"], ["ü"], [""], ["x"] * 3 + ["\0"], [f"a{n}" for n in range(33)]],
)
def test_labels_that_are_none_or_too_many_are_refused(labels: list[str]):
    plain = setup_key(allow_extra_dns_labels=True).plain
    assert refused(setupKey=plain, dnsLabels=labels).code == Code.INVALID_ARGUMENT


@pytest.mark.parametrize("hostname", ["", "  ", "\x1b[2J", "\u202e", "x" * 5000])
def test_any_host_name_makes_a_peer(hostname: str):
    peer = enrolled(hostname)
    assert peer.name.isprintable()
    assert 1 <= len(peer.name) <= 255
    assert peer.dns_label


def test_known_peer_comes_back_without_a_key_and_nothing_is_written():
    peer = enrolled()
    trail = Trail()
    with CaptureQueriesContext(connection) as queries:
        found = come_back(peer)
    assert (found.peer_id, found.session_expires_at) == (peer.pk, None)
    assert trail.codes == []
    assert all(query["sql"].startswith("SELECT") for query in queries)


def test_setup_key_of_a_known_peer_is_not_used():
    peer, key = enrolled(), setup_key(type="one-off")
    come_back(peer, setupKey=key.plain)
    key.refresh_from_db()
    assert key.used_times == 0


def test_name_and_label_do_not_follow_the_host_name():
    peer = enrolled("web")
    login(peer.wg_public_key, request("db"), SOURCE)
    peer.refresh_from_db()
    assert (peer.name, peer.dns_label, peer.hostname) == ("web", "web", "db")


def test_new_ssh_key_is_stored_an_absent_one_keeps_the_old():
    peer = enrolled(peerKeys={"sshPubKey": b"ssh-ed25519 OLD"})
    come_back(peer, peerKeys={"sshPubKey": b"ssh-ed25519 NEW"})
    come_back(peer)
    peer.refresh_from_db()
    assert peer.ssh_key == "ssh-ed25519 NEW"


def test_deleted_peer_is_a_stranger():
    peer = enrolled()
    peer_delete(peer_id=peer.pk)
    assert refusal_of(come_back, peer).code == Code.PERMISSION_DENIED


def owned(**facts: Any) -> Peer:
    usual = {"user": person("user"), "login_expiration_enabled": True}
    return changed(enrolled(), **{**usual, **facts})


def test_session_of_an_owned_peer_ends_when_the_account_says():
    account_settings(peer_login_expiration=7200)
    now = clock.now()
    peer = owned(last_login=now)
    assert come_back(peer).session_expires_at == now + dt.timedelta(hours=2)


LONG_AGO = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def test_no_session_ends_when_the_account_does_not_want_it():
    account_settings(peer_login_expiration_enabled=False)
    assert come_back(owned(last_login=LONG_AGO)).session_expires_at is None


@pytest.mark.parametrize(
    ("of_peer", "of_owner", "told"),
    [
        ({"last_login": LONG_AGO}, {}, "peer login has expired"),
        ({"login_expired": True}, {}, "peer login has expired"),
        ({}, {"is_blocked": True}, "blocked"),
        ({}, {"pending_approval": True}, "pending"),
    ],
    ids=["expired by the clock", "by its flag", "owner blocked", "owner pending"],
)
def test_peer_that_may_not_come_back_is_told_why(
    of_peer: dict[str, Any], of_owner: dict[str, Any], told: str
):
    peer = owned(**of_peer, user=changed(person("user"), **of_owner))
    refusal = refusal_of(come_back, peer)
    assert refusal.code == Code.PERMISSION_DENIED
    assert told in refusal.text


def told(*peer_ids: str) -> list[pb.LoginResponse]:
    logged_in = [Session(peer_id, None) for peer_id in peer_ids]
    found = login_responses(settings.SVC, logged_in)
    return [one for one in found if isinstance(one, pb.LoginResponse)]


@pytest.mark.parametrize(
    "name",
    [
        *("13-netbird_ssh", "20-posture_process", "29-exit_node_v6"),
        *("33-network_all_kinds", "49-login_expired_peer"),
    ],
)
def test_a_login_is_told_what_the_map_says_of_the_peer(name: str):
    playback, store = Playback.of(name), fresh_store()
    ids = [playback.symbols[f"$peer.{label}"] for label in recording(name)["maps"]]

    responses = told(*ids)

    maps = [pb.SyncResponse.FromString(store.message(peer_id)) for peer_id in ids]
    assert [one.peerConfig for one in responses] == [one.peerConfig for one in maps]
    assert [one.Checks for one in responses] == [one.Checks for one in maps]


def test_a_login_is_told_of_a_change_just_made():
    one = peer()
    assert told(one.pk)[0].peerConfig.LazyConnectionEnabled
    account_settings(lazy_connection_enabled=False)
    assert not told(one.pk)[0].peerConfig.LazyConnectionEnabled


def test_many_logins_at_once_ask_as_often_as_one_whatever_the_account_holds():
    ids = [one.pk for one in peers(30)]
    with CaptureQueriesContext(connection) as of_one:
        told(ids[0])
    rule([group("left", *peers(20))], [group("right", *peers(20))])
    with CaptureQueriesContext(connection) as of_many:
        assert len(told(*ids)) == len(ids)
    assert len(of_many) == len(of_one)


def test_a_peer_deleted_meanwhile_costs_the_other_logins_nothing():
    one, gone = peer(), peer()
    gone.delete()
    ends = dt.datetime(2030, 1, 1, tzinfo=dt.UTC)

    kept, refused = login_responses(
        settings.SVC, [Session(one.pk, ends), Session(gone.pk or "gone", None)]
    )

    assert isinstance(kept, pb.LoginResponse)
    assert kept.peerConfig.address.startswith(one.ip)
    assert kept.sessionExpiresAt.ToDatetime(dt.UTC) == ends
    assert isinstance(refused, Refused)
    assert refused.code is Code.UNAVAILABLE
