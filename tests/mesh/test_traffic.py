"""What filters do with slices of traffic, however many there are of both."""

from hypothesis import example, given
from hypothesis import strategies as st

from meshmgmt.mesh.reach.traffic import (
    ALL,
    Filter,
    Slice,
    Traffic,
    judged,
    matching,
    slices,
)

PORTS = st.integers(1, 8)


@st.composite
def filters(draw: st.DrawFn) -> list[Filter]:
    """Draw filters of few ports, so that they overlap."""
    found = []
    for number in range(draw(st.integers(0, 6))):
        protocol = draw(st.sampled_from([ALL, "tcp", "udp", "icmp"]))
        first = last = 0
        if protocol in ("tcp", "udp") and draw(st.booleans()):
            first, last = sorted((draw(PORTS), draw(PORTS)))
        accept = draw(st.booleans())
        found.append(Filter(accept, protocol, "p", f"r{number}", first, last))
    return found


traffic = st.one_of(
    st.builds(Traffic, st.sampled_from([ALL, "tcp", "udp", "icmp"])),
    st.builds(Traffic, st.sampled_from(["tcp", "udp"]), PORTS),
)


def has(one: Filter, packets: Slice) -> bool:
    """Tell whether a filter has all of a slice."""
    whole = not one.first or one.first <= packets.first <= packets.last <= one.last
    return one.protocol in (ALL, packets.protocol) and whole


@given(traffic, filters())
@example(Traffic("tcp"), [])
def test_each_slice_is_decided_by_the_first_that_drops_it_or_else_that_accepts_it(
    asked: Traffic, found: list[Filter]
):
    ordered = sorted(found, key=lambda one: one.accept)
    expected = [
        (each, next((one for one in ordered if has(one, each)), None))
        for each in slices(asked, found)
    ]
    assert [tuple(part) for part in judged(asked, found)] == expected


@given(traffic, st.lists(filters(), max_size=3))
def test_of_each_slice_it_is_told_who_has_a_filter_for_all_of_it(
    asked: Traffic, several: list[list[Filter]]
):
    cut = list(slices(asked, [one for found in several for one in found]))
    named = {str(number): found for number, found in enumerate(several)}
    assert matching(cut, named) == [
        tuple(name for name, found in named.items() if any(has(x, each) for x in found))
        for each in cut
    ]
