"""DNS labels of peers, made from any name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshmgmt.inventory.labels import base_label, free_label, is_extra_label, is_label


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("Web01.corp.example", "web01"),
        ("my host", "my-host"),
        ("host_1", "host-1"),
        ("a__b", "a-b"),
        ("Büro-PC", "xn--bro-pc-3ya"),
        ("John\u2019s MacBook", "xn--johns-macbook-zp6g"),
        ("東京", "xn--1lqs71d"),
        ("☂", "xn--m3h"),
        ("(none)", "none"),
        ("-x-", "x"),
        ("a" * 70, "a" * 59),
        ("", "peer"),
        (".x", "peer"),
        ("ü" * 60, "peer"),
        ("ü-host-" + "\u4e00" * 60, "host"),
    ],
)
def test_label_follows_the_first_part_of_the_name(name: str, label: str):
    assert base_label(name) == label


def test_second_peer_of_a_name_has_its_address_in_the_label():
    taken = {"web"}
    assert free_label("web", "100.71.12.200", taken=taken.__contains__) == "web-12-200"


def test_label_with_an_address_is_wanted_at_once_for_ephemeral_peers():
    label = free_label("ci", "100.71.1.2", taken=lambda _: False, suffixed=True)
    assert label == "ci-1-2"


def test_longest_label_is_cut_so_that_an_address_fits():
    taken = {"a" * 59}
    label = free_label("a" * 99, "100.71.255.255", taken=taken.__contains__)
    assert label == f"{'a' * 55}-255-255"


names = st.text() | st.text(alphabet="aZ9-_. ü東☂\0", max_size=80)


@given(st.lists(names, max_size=12), st.ip_addresses(v=4), st.booleans())
def test_every_name_gives_a_valid_label_of_its_own(names, address, suffixed):
    labels: list[str] = []
    for name in names:
        label = free_label(
            name, str(address), taken=labels.__contains__, suffixed=suffixed
        )
        assert is_label(label)
        labels.append(label)
    assert len(set(labels)) == len(names)


@pytest.mark.parametrize("text", ["db", "*.db", "a.b", "_sip", "x-1"])
def test_extra_labels_are_names_below_the_domain(text: str):
    assert is_extra_label(text)


@pytest.mark.parametrize(
    "text", ["", "*", "*.", "DB", "a..b", ".a", "a.", "-a", "ü", "a" * 64, "a b", "a\n"]
)
def test_other_texts_are_no_extra_labels(text: str):
    assert not is_extra_label(text)
