"""The tree is that of RFC 9162, and only right proofs convince."""

from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.proof import merkle
from events.proof.hashing import (
    inner_hash,
    proves_consistency,
    proves_inclusion,
    root_of,
)
from events.proof.merkle import Tree, extended

# The tree that the tests of Certificate Transparency's reference code are made with.
INPUTS = [
    b"",
    b"\x00",
    b"\x10",
    b"\x20\x21",
    b"\x30\x31",
    b"\x40\x41\x42\x43",
    bytes(range(0x50, 0x58)),
    bytes(range(0x60, 0x70)),
]
ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
KNOWN = [sha256(b"\0" + text).digest() for text in INPUTS]
LEAVES = [sha256(b"\0%d" % number).digest() for number in range(70_000)]


def grown(leaves: list[bytes], steps: list[int]) -> Tree:
    """Return the tree of leaves that were added in steps of these sizes."""
    tiles: dict[tuple[int, int], bytes] = {}

    def load(level: int, number: int) -> bytes:
        return tiles[level, number]

    done = 0
    for step in [*steps, len(leaves)]:
        for level, number, tile in extended(done, leaves[done : done + step], load):
            tiles[level, number] = tile
        done = min(len(leaves), done + step)
    return Tree(done, load)


def part(tree: Tree, size: int) -> Tree:
    """Return the tree as it was when it had this size."""
    return Tree(size, tree._load)


@pytest.mark.parametrize("size", range(1, 9))
def test_roots_are_those_of_the_reference(size: int):
    assert root_of(KNOWN[:size]).hex() == ROOTS[size - 1]
    assert grown(KNOWN[:size], []).root().hex() == ROOTS[size - 1]


def test_an_empty_tree_has_the_hash_of_nothing():
    assert root_of([]) == sha256().digest()


def test_paths_are_those_of_the_reference():
    tree = grown(KNOWN, [])
    paths = (tree.inclusion(5), part(tree, 5).consistency(2))
    inclusion, consistency = ([node.hex()[:8] for node in path] for path in paths)
    assert inclusion == ["bc1a0643", "ca854ea1", "d37ee418"]
    assert consistency == ["5f083f0a", "bc1a0643"]


@given(
    st.integers(1, 70_000).flatmap(
        lambda size: st.tuples(
            st.just(size), st.integers(0, size - 1), st.integers(1, size)
        )
    ),
    st.lists(st.integers(1, 3000), max_size=4),
)
def test_however_it_grew_proofs_convince_and_flipped_bits_do_not(
    sizes: tuple[int, int, int], steps: list[int]
):
    size, index, first = sizes
    tree = grown(LEAVES[:size], steps)
    root, old = tree.root(), part(tree, first).root()
    leaf, path = tree.leaf(index), tree.inclusion(index)
    links = tree.consistency(first)
    assert leaf == LEAVES[index]
    assert proves_inclusion(leaf, index, size, path, root)
    assert proves_consistency(first, size, links, old, root)
    for bad in spoilt(path):
        assert not proves_inclusion(leaf, index, size, bad, root)
    for bad in spoilt(links):
        assert not proves_consistency(first, size, bad, old, root)
    assert not proves_inclusion(flipped(leaf), index, size, path, root)
    assert not proves_inclusion(leaf, index, size, path, flipped(root))
    assert not proves_consistency(first, size, links, flipped(old), root)
    assert not proves_consistency(first, size, links, old, flipped(root))
    assert not proves_inclusion(leaf, size, size, path, root)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13, 32, 33])
def test_no_other_place_is_proven(size: int):
    tree = grown(LEAVES[:size], [])
    root = tree.root()
    assert root == root_of(LEAVES[:size])
    for index in range(size):
        for claimed in range(size):
            proven = proves_inclusion(
                LEAVES[index], claimed, size, tree.inclusion(index), root
            )
            assert proven == (claimed == index)


@pytest.mark.parametrize("size", [1, 2, 255, 256, 257, 512, 65_535, 65_536, 65_537])
def test_tiles_give_the_root_that_one_leaf_after_the_other_gives(size: int):
    assert grown(LEAVES[:size], [1, 255, 1]).root() == root_of(LEAVES[:size])


def test_full_tiles_are_hashed_once_into_the_level_above():
    tree = grown(LEAVES[: 2 * merkle.WIDTH], [])
    halves = [root_of(LEAVES[: merkle.WIDTH]), root_of(LEAVES[merkle.WIDTH :][:256])]
    assert tree._load(1, 0) == b"".join(halves)
    assert tree.root() == inner_hash(*halves)


def test_a_path_that_goes_on_above_the_root_convinces_nobody():
    tree = grown(LEAVES[:4], [])
    extra = [*tree.inclusion(2), LEAVES[9]]
    assert not proves_inclusion(LEAVES[2], 2, 4, extra, tree.root())
    links = [*tree.consistency(3), LEAVES[9]]
    assert not proves_consistency(3, 4, links, part(tree, 3).root(), tree.root())


def flipped(node: bytes) -> bytes:
    return bytes([node[0] ^ 1, *node[1:]])


def spoilt(path: list[bytes]) -> list[Any]:
    """Return paths with one bit flipped, cut short, or too long."""
    each = [[*path[:n], flipped(node), *path[n + 1 :]] for n, node in enumerate(path)]
    return [*each, *([path[:-1]] if path else []), [*path, LEAVES[0]]]
