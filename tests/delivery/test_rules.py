"""Pure parts: signatures, lines, addresses, waits, what a target may be."""

import ipaddress
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshmgmt.core import clock, files
from meshmgmt.core.sealing import Unreadable
from meshmgmt.delivery import rules
from meshmgmt.delivery.feeds import Event
from meshmgmt.delivery.models import Subscription
from meshmgmt.delivery.rules import Allowed, backoff, masked, subscription_errors
from meshmgmt.delivery.senders import NotDelivered, lines, webhook
from meshmgmt.delivery.senders.addresses import is_open
from meshmgmt.delivery.senders.webhook import give_secret, key_of, secrets_of

NOW = datetime(2026, 3, 4, 5, 6, 7, 89, tzinfo=UTC)


def test_the_signature_is_that_of_the_specifications_example():
    # The example of Standard Webhooks' own libraries.
    with clock.set_to(datetime.fromtimestamp(1614265330, UTC)):
        headers = webhook.signed(
            [key_of("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")],
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            b'{"test": 2432232314}',
        )
    assert headers == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_a_sealed_secret_opens_for_its_owner_alone():
    one, two = Subscription(), Subscription()
    secret = give_secret(one)
    assert secrets_of(one) == [secret]
    two.sealed_secret = one.sealed_secret
    with pytest.raises(Unreadable):
        secrets_of(two)


def test_addresses_are_shown_without_their_queries():
    shown = masked({"type": "webhook", "url": "https://a.test/x?token=y?z"})
    assert shown == {"type": "webhook", "url": "https://a.test/x?***"}
    for target in (None, {"type": "webhook", "url": "https://a.test/x"}):
        assert masked(target) == target


def test_a_syslog_line_has_the_parts_of_rfc_5424():
    event = Event('a"]\\b', 1, NOW, "group.add", b'{"id":"x"}')
    line = lines.line("audit", event).decode()
    found = re.fullmatch(
        r"<110>1 2026-03-04T05:06:07\.000089Z \S+ meshmgmt - group\.add (\[.*\]) (\{.*\})",
        line,
    )
    assert found is not None
    assert found[1] == r'[event@32473 id="a\"\]\\b" stream="audit"]'
    assert lines.framed(b"\xc3\xa4") == b"2 \xc3\xa4"


INSIDE = """
127.0.0.1 10.1.2.3 100.64.0.1 100.100.100.200 169.254.169.254 168.63.129.16
192.168.0.1 192.0.0.192 0.0.0.0 224.0.0.1 255.255.255.255 ::1 :: ::ffff:10.0.0.1
64:ff9b::a00:1 2002:7f00:1:: 2001:0:a00:1::f7f7:f7f7 2001:0:808:808::f5ff:fffe
::10.0.0.1 ::ffff:0:10.0.0.1 fe80::1 fec0::1 feff:ffff::1 4000::1 fd00:ec2::254
ff02::1
"""
OUTSIDE = """
2001:0:808:808::f7f7:f7f7 2002:808:808::1 8.8.8.8 ::ffff:8.8.8.8 2606:4700::1111
"""


@pytest.mark.parametrize(("addresses", "outside"), [(INSIDE, False), (OUTSIDE, True)])
def test_only_outside_addresses_are_connected_to(addresses: str, outside: bool):
    found = {ip: is_open(ipaddress.ip_address(ip), (), ()) for ip in addresses.split()}
    assert [ip for ip, is_outside in found.items() if is_outside is not outside] == []


SPECIAL_PURPOSE = """
0.0.0.0/8 inside
0.0.0.0/32 inside
10.0.0.0/8 inside
100.64.0.0/10 inside
127.0.0.0/8 inside
169.254.0.0/16 inside
172.16.0.0/12 inside
192.0.0.0/24 inside
192.0.0.0/29 inside
192.0.0.8/32 inside
192.0.0.9/32 inside (reachable, but it means the nearest)
192.0.0.10/32 inside (reachable, but it means the nearest)
192.0.0.170/32 inside
192.0.0.171/32 inside
192.0.2.0/24 inside
192.31.196.0/24 outside
192.52.193.0/24 outside
192.88.99.0/24 inside (deprecated)
192.168.0.0/16 inside
192.175.48.0/24 outside
198.18.0.0/15 inside
198.51.100.0/24 inside
203.0.113.0/24 inside
240.0.0.0/4 inside
255.255.255.255/32 inside
::1/128 inside
::/128 inside
::ffff:0:0/96 by the address it holds
64:ff9b::/96 by the address it holds
64:ff9b:1::/48 inside
100::/64 inside
100:0:0:1::/64 inside
2001::/23 inside
2001::/32 by the address it holds
2001:1::1/128 inside (reachable, but it means the nearest)
2001:1::2/128 inside (reachable, but it means the nearest)
2001:1::3/128 inside (reachable, but it means the nearest)
2001:2::/48 inside
2001:3::/32 inside (reachable, but no unicast of a receiver's)
2001:4:112::/48 inside (reachable, but no unicast of a receiver's)
2001:10::/28 inside
2001:20::/28 inside (no address of the internet, though reachable)
2001:30::/28 inside (no address of the internet, though reachable)
2001:db8::/32 inside
2002::/16 by the address it holds
2620:4f:8000::/48 outside
3fff::/20 inside
5f00::/16 inside
fc00::/7 inside
fe80::/10 inside
"""
"""IANA's registries of special-purpose addresses, of IPv4 and of IPv6."""


def test_addresses_for_special_purposes_are_inside():
    holders = [ipaddress.ip_network(each) for each in HOLDERS]
    others = []
    for row in SPECIAL_PURPOSE.strip().splitlines():
        text, _, place = row.partition(" ")
        network = ipaddress.ip_network(text)
        for address in (network[0], network[network.num_addresses // 2], network[-1]):
            held = any(
                address in each for each in holders if each.version == address.version
            )
            if held or place.startswith("by"):
                continue
            if is_open(address, (), ()) is not (place == "outside"):
                others.append((row, address))
    assert others == []


HOLDERS = {
    "::ffff:0:0/96": lambda inner: inner,
    "64:ff9b::/96": lambda inner: inner,
    "2002::/16": lambda inner: inner << 80,
    "2001::/32": lambda inner: (8 << 88) | (inner ^ 0xFFFFFFFF),
}


@pytest.mark.parametrize("prefix", HOLDERS)
@given(st.ip_addresses(v=4))
def test_an_address_inside_of_another_decides(
    prefix: str, inner: ipaddress.IPv4Address
):
    base = int(ipaddress.ip_network(prefix)[0])
    outer = ipaddress.IPv6Address(base | HOLDERS[prefix](int(inner)))
    assert is_open(outer, (), ()) is is_open(inner, (), ())


@given(st.ip_addresses(v=6))
def test_only_the_global_unicast_range_of_ipv6_is_outside(
    address: ipaddress.IPv6Address,
):
    holder = any(address in ipaddress.ip_network(each) for each in HOLDERS)
    if is_open(address, (), ()) and not holder:
        assert address in ipaddress.ip_network("2000::/3")


@given(st.ip_addresses(v=4))
def test_what_is_not_global_is_inside(address: ipaddress.IPv4Address):
    assert address.is_global or not is_open(address, (), ())


@given(st.ip_addresses(), st.integers(0, 32))
def test_networks_of_the_mesh_are_inside_unless_allowed(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address, length: int
):
    network = ipaddress.ip_network(f"{address}/{length}", strict=False)
    assert not is_open(address, (), [network])
    assert is_open(address, [network], [network])


@given(st.integers(1, 10_000), st.floats(0, 1))
def test_waits_grow_to_hours_and_no_further(failures: int, chance: float):
    wait = backoff(failures, chance)
    assert rules.FIRST_WAIT / 2 <= wait <= rules.LONGEST_WAIT
    assert backoff(failures + 1, chance) >= wait
    assert backoff(20, 0) >= 3 * 3600


@given(st.text(max_size=40))
def test_retry_after_of_any_form_gives_seconds(header: str):
    assert 0 <= rules.retry_after(header, NOW) <= rules.LONGEST_WAIT


def test_retry_after_may_be_a_date():
    later = (NOW + timedelta(seconds=90)).strftime("%a, %d %b %Y %H:%M:%S GMT")
    assert 89 <= rules.retry_after(later, NOW) <= 90


BAD = {
    "http://mesh.test/": "https://",
    "ftp://mesh.test/": "https://",
    "https://user:pw@mesh.test/": "credentials",
    "https:///x": "address",
    "https://mesh.test:0/": "address",
    "https://mesh.test:x/": "address",
    "https://mesh.test/\r\nX: y": "address",
    "https://[::1/": "address",
    "": "address",
}


@pytest.mark.parametrize(("url", "said"), BAD.items())
def test_addresses_of_webhooks_are_checked(url: str, said: str):
    assert said in rules.url_fault(url, plain_http=False)


@pytest.mark.parametrize(
    ("target", "field"),
    [
        ({"type": "webhook", "url": "ftp://a.test/"}, "target.url"),
        ({"type": "webhook", "url": "x"}, "target.url"),
        ({"type": "webhook", "url": "https://a@b.test/"}, "target.url"),
        ({"type": "mail"}, "target.type"),
        ({"type": "webhook"}, "target.url"),
        ({"type": "webhook", "url": "https://a.test", "port": 1}, "target.port"),
        ({"type": "syslog", "host": "a b", "port": 1}, "target.host"),
        ({"type": "syslog", "host": "a", "port": 0}, "target.port"),
        ({"type": "file", "path": "../x"}, "target.path"),
        ({"type": "file", "path": "/x"}, "target.path"),
        ({"type": "file", "path": "a/../../x"}, "target.path"),
        ({"type": "file", "path": ".hidden"}, "target.path"),
    ],
)
def test_targets_are_checked(target: dict[str, object], field: str):
    asked = {"name": "name", "filters": {}, "target": target}
    [fault] = subscription_errors(asked, Allowed(False, True))
    assert fault.field == field
    assert field.rpartition(".")[2] in fault.message.lower()


@pytest.mark.parametrize("name", ["", "  ", "a" * 256, " " * 255 + "a", "a\nb"])
def test_names_are_checked_as_they_are_stored(name: str):
    target = {"type": "file", "path": "x"}
    asked = {"name": name, "filters": {}, "target": target}
    [fault] = subscription_errors(asked, Allowed(False, True))
    assert fault.field == "name"
    assert fault.message.startswith("the name must be")


def append(path: str, body: bytes) -> None:
    """Send an event to a file."""
    to = Subscription(target={"type": "file", "path": path})
    lines.to_file(to, "audit.events", [Event("1", 1, NOW, "group.add", body)])


def test_a_file_below_a_link_that_leads_out_is_not_written(
    inside: Path, tmp_path_factory: pytest.TempPathFactory
):
    outside = tmp_path_factory.mktemp("outside")
    (inside / "way").symlink_to(outside)
    with pytest.raises(NotDelivered):
        append("way/x", b"{}")
    (inside / "x").symlink_to(outside / "x")
    with pytest.raises(OSError, match="symbolic"):
        append("x", b"{}")
    assert list(outside.iterdir()) == []


def test_lines_wait_for_whoever_appends_to_the_same_file(inside: Path):
    with files.opened(inside / "x") as other:
        files.append(other, [b"first"])
        writer = Thread(target=append, args=["x", b"second"])
        writer.start()
        writer.join(0.1)
        assert (inside / "x").read_bytes() == b"first\n"
    writer.join()
    assert (inside / "x").read_bytes() == b"first\nsecond\n"


def test_a_line_that_a_crash_cut_off_stands_alone(inside: Path):
    (inside / "x").write_bytes(b'{"id":')
    append("x", b"{}")
    assert (inside / "x").read_bytes() == b'{"id":\n{}\n'
