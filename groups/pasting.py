"""Which peers the lines of a pasted list mean: pure."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Candidate(NamedTuple):
    """A peer that a line may mean; `ipv6` is None where it has none."""

    id: str
    name: str
    dns_label: str
    ip: str
    ipv6: str | None


@dataclass(frozen=True, slots=True)
class Resolved:
    """What lines mean: peers (ids) in their order, and the lines that mean no one peer."""

    peers: list[str]
    unknown: list[str]
    ambiguous: list[tuple[str, list[Candidate]]]

    @property
    def is_clear(self) -> bool:
        """Whether every line means one peer."""
        return not (self.unknown or self.ambiguous)


def resolve(lines: Iterable[str], peers: Sequence[Candidate], domain: str) -> Resolved:
    """Find the peers that lines name: by id, address, DNS label or name.

    `domain` is the peers' own, for labels written in full. Letter case does not count,
    nor do blank lines and repeats. A line that fits several peers means none of them.
    """
    index = _index(peers, domain)
    meant: dict[str, Candidate] = {}
    unknown: list[str] = []
    ambiguous: list[tuple[str, list[Candidate]]] = []
    for line in dict.fromkeys(filter(None, map(str.strip, lines))):
        fitting = index.get(_folded(line), {})
        if not fitting:
            unknown.append(line)
        elif len(fitting) > 1:
            ambiguous.append((line, list(fitting.values())))
        else:
            meant.update(fitting)
    return Resolved(list(meant), unknown, ambiguous)


def _index(peers: Iterable[Candidate], domain: str) -> dict[str, dict[str, Candidate]]:
    # By id, for one peer may fit a text twice: with its name and its label.
    index: dict[str, dict[str, Candidate]] = defaultdict(dict)
    for peer in peers:
        full = f"{peer.dns_label}.{domain}"
        for text in (*peer, full):
            if text:
                index[_folded(text)][peer.id] = peer
    return index


def _folded(text: str) -> str:
    return text.strip().casefold().removesuffix(".")
