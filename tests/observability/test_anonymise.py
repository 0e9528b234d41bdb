"""Stand-ins for addresses and names: all of them, always the same ones."""

import ipaddress
import json
from collections.abc import Callable
from urllib.parse import quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from observability.debug.anonymise import Anonymiser


@pytest.mark.parametrize(
    "kept",
    [
        "127.0.0.1",
        "127.8.9.1:53",
        "::1",
        "[::1]:8000",
        "0.0.0.0",
        "::",
        "version 5.2.19",
        "2026-11-21T01:03:02.591511Z",
        "10:11:12",
        "12.5 ms",
        "/api/dns/zones",
        "localhost",
        "every peer of group All",
        "File /srv/mesh/observability/views.py",
    ],
)
def test_what_names_no_network_is_kept(kept: str):
    assert Anonymiser().text(kept) == kept


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("peer at 100.64.0.7 and 10.1.2.3:53", ["100.64.0.7", "10.1.2.3"]),
        ("to 2001:67c:1::5 via [fe80::1%eth0]:53", ["2001:67c:1::5", "fe80::1"]),
        ("route 192.168.4.0/24", ["192.168.4.0"]),
        ("name db1.corp.internal.", ["db1", "corp", "internal"]),
        ("*.corp.internal", ["corp"]),
        ("https://api.corp.de:8443/x?host=a.corp.de", ["corp", "api.", "a.corp"]),
        ("ann@corp.internal", ["corp", "internal"]),
        ("mapped ::ffff:10.1.2.3", ["10.1.2.3"]),
        ("bücher.example-shop.org", ["bücher", "shop"]),
        ("_sip._tcp.corp.internal", ["_sip", "corp"]),
    ],
)
def test_addresses_and_names_are_replaced(text: str, hidden: list[str]):
    shown = Anonymiser().text(text)
    for word in hidden:
        assert word not in shown


def test_the_same_thing_gets_the_same_stand_in():
    anonymiser = Anonymiser()
    first = anonymiser.text("db1.corp.internal 10.0.0.1 10.0.0.2")
    name, one, two = first.split()
    assert anonymiser.text("10.0.0.1 DB1.corp.internal") == f"{one} {name}"
    assert one != two
    other = anonymiser.text("db2.corp.internal")
    assert other.split(".")[1:] == name.split(".")[1:]
    assert other.split(".")[0] != name.split(".")[0]


def test_prefix_lengths_ports_and_wildcards_stay():
    shown = Anonymiser().text("10.1.0.0/16 10.1.0.1:53 *.corp.internal")
    assert shown.split()[0].endswith("/16")
    assert shown.split()[1].endswith(":53")
    assert shown.split()[2].startswith("*.")


def test_documents_are_replaced_in_values_and_name_fields():
    document = {
        "logger": "django.request",
        "time": "2026-11-21T01:03:02Z",
        "domain": "corp",
        "search_domains": ["corp", "a.b"],
        "ip": "100.64.0.9",
        "enabled": True,
        "ttl": 300,
        "by_peer": {"db1.corp.internal": 1},
    }
    shown = Anonymiser().document(document)
    kept = [shown[name] for name in ("logger", "enabled", "ttl")]
    assert kept == ["django.request", True, 300]
    assert shown["domain"] == shown["search_domains"][0] != "corp"
    text = json.dumps(shown)
    assert "100.64.0.9" not in text
    assert "corp" not in text


def test_a_traceback_stays_readable():
    stack = (
        'Traceback (most recent call last):\n  File "/srv/mesh/dns/live.py", line 3, in'
        " ask\ndjango.db.utils.OperationalError: no host db.corp.internal (10.0.0.5)"
    )
    shown = Anonymiser().document({"stack": stack})["stack"]
    assert 'File "/srv/mesh/dns/live.py", line 3, in ask' in shown
    assert "django.db.utils.OperationalError: no host " in shown
    assert "corp" not in shown
    assert "10.0.0.5" not in shown


def test_a_traceback_names_no_host():
    stack = 'File "/srv/mesh/dns/live.py", line 3, in ask\nKeyError: mara-laptop'
    shown = Anonymiser(["Mara-Laptop"]).document({"stack": stack})["stack"]
    assert shown.endswith("KeyError: anon-1")


LABEL = st.from_regex(r"[a-z][a-z0-9-]{2,20}[a-z]", fullmatch=True)
NAMES = st.lists(LABEL, min_size=2, max_size=5).map(".".join)
ADDRESSES = st.one_of(
    st.ip_addresses(v=4).filter(lambda a: not a.is_loopback and not a.is_unspecified),
    st.ip_addresses(v=6).filter(lambda a: not a.is_loopback and not a.is_unspecified),
)


def in_a_link(text: str) -> str:
    """Encode all that some encoder would, as in the query of a path."""
    return quote(text, safe="").replace(".", "%2E").replace("-", "%2d")


def in_a_link_of_a_link(text: str) -> str:
    return quote(in_a_link(text), safe="")


WRITTEN = st.sampled_from([str, in_a_link, in_a_link_of_a_link])


@given(
    NAMES, st.sampled_from(["{}", "at {},", "({})", '"{}"', "x={};", "//{}/p"]), WRITTEN
)
def test_no_name_survives(name: str, around: str, written: Callable[[str], str]):
    shown = Anonymiser().text(around.format(written(name)))
    assert name not in shown
    assert written(name) not in shown


@given(
    ADDRESSES, st.sampled_from(["{}", "at {},", "({})", "[{}]:53", "x={};"]), WRITTEN
)
def test_no_address_survives(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
    around: str,
    written: Callable[[str], str],
):
    shown = unquote(unquote(Anonymiser().text(around.format(written(str(address))))))
    assert shown != around.format(address) or str(address).startswith(
        ("198.18.", "2001:db8:")
    )


def test_a_link_in_many_links_is_decoded_at_once():
    name = "%" + "25" * 100_000 + "2E"
    shown = Anonymiser().text(f"/login?next=halden{name}internal")
    assert "halden" not in shown
    assert "internal" not in shown


@given(st.text(max_size=400))
def test_any_text_is_taken(text: str):
    Anonymiser().lines(text)


def test_names_of_hosts_are_replaced_wherever_they_stand_alone():
    anonymiser = Anonymiser(["Mara-Laptop", "Ann's tablet"])
    shown = anonymiser.document(
        {
            "peer_name": "Ann's tablet",
            "message": "1 peer (mara-laptop) of mara-laptops",
            "path": "/api/peers?name=mara%2Dlaptop&at=1%0A2",
            "domain": "mara-laptop.mesh.internal",
        }
    )
    stand_in = shown["domain"].split(".")[0]
    assert shown["peer_name"].startswith("anon-")
    assert shown["message"] == f"1 peer ({stand_in}) of mara-laptops"
    assert shown["path"] == f"/api/peers?name={stand_in}&at=1%0A2"
    assert anonymiser.line("time INFO peer=mara-laptop") == f"time INFO peer={stand_in}"
