"""Lines of a pasted list become peers, or are named as they are."""

import pytest

from groups.rules import Candidate, resolve

PRINTER = Candidate("id1", "Printer", "printer", "100.64.0.1", "fd00::1")
OTHER = Candidate("id2", "printer", "printer-2", "100.64.0.2", None)
LAPTOP = Candidate("id3", "Ann's laptop", "anns-laptop", "100.64.0.3", None)
PEERS = [PRINTER, OTHER, LAPTOP]


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("id1", "id1"),
        ("100.64.0.2", "id2"),
        ("fd00::1", "id1"),
        ("FD00::1", "id1"),
        ("printer-2", "id2"),
        ("printer-2.mesh.test", "id2"),
        ("Printer-2.MESH.test.", "id2"),
        ("ANN'S LAPTOP", "id3"),
        ("  anns-laptop  ", "id3"),
    ],
)
def test_ids_addresses_labels_and_names_are_found(line: str, meant: str):
    found = resolve([line], PEERS, "mesh.test")

    assert found.peers == [meant]
    assert found.is_clear


def test_a_line_that_fits_several_peers_means_none_of_them():
    found = resolve(["printer", "laptop", "id3"], PEERS, "mesh.test")

    assert found.ambiguous == [("printer", [PRINTER, OTHER])]
    assert found.unknown == ["laptop"]
    assert found.peers == ["id3"]
    assert not found.is_clear


def test_order_is_kept_and_blanks_and_repeats_do_not_count():
    found = resolve(["id3", "", " ", "100.64.0.1", "anns-laptop"], PEERS, "mesh.test")

    assert found.peers == ["id3", "id1"]
    assert found.is_clear


def test_no_text_means_an_empty_column():
    assert resolve(["none", "."], PEERS, "").unknown == ["none", "."]
