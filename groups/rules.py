"""Rules of groups, and which peers pasted lines mean: pure; stored facts are arguments."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, NamedTuple

from meshmgmt.core import textrules
from meshmgmt.core.errors import FieldError

MAX_RESOURCE_ID: Final = 255
RESOURCE_TYPES: Final = ("peer", "host", "subnet", "domain")

ResourceKey = tuple[str, str]
"""Id and type of a resource."""


def name_errors(name: str, *, taken: bool) -> list[FieldError]:
    """Return what is wrong with a group's name; a name in use is a conflict."""
    errors = [*textrules.name_errors("name", name)]
    if taken and not errors:
        return [
            FieldError(
                "name", f"group with name {name!r} already exists", conflict=True
            )
        ]
    return errors


def peer_errors(peer_ids: Sequence[str], *, known: Collection[str]) -> list[FieldError]:
    """Return the first peer that does not exist."""
    errors = textrules.unknown_id_errors("peers", peer_ids, known, kind="peer")
    return [*islice(errors, 1)]


def resource_errors(
    resources: Sequence[ResourceKey], *, known: Mapping[str, str]
) -> list[FieldError]:
    """Return what is wrong with the resources; `known` gives the type of known ids."""
    errors: list[FieldError] = []
    for index, (identifier, kind) in enumerate(resources):
        field = f"resources[{index}]"
        if not identifier:
            errors.append(
                FieldError(f"{field}.id", "id of a resource must not be empty")
            )
        elif len(identifier) > MAX_RESOURCE_ID:
            message = f"id of a resource must have at most {MAX_RESOURCE_ID} characters"
            errors.append(FieldError(f"{field}.id", message))
        if kind not in RESOURCE_TYPES:
            allowed = ", ".join(RESOURCE_TYPES)
            message = f"type of a resource must be one of {allowed}"
            errors.append(FieldError(f"{field}.type", message))
        # An id that nobody knows is taken as it is: the usage names it.
        elif known.get(identifier, kind) != kind:
            message = f"resource {identifier!r} is of type {known[identifier]}"
            errors.append(FieldError(f"{field}.type", message))
    return errors


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
