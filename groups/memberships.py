"""Changes of memberships that are foreseen before they are made."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from groups.models import Group, GroupPeer
from groups.services import change_groups_of_peers
from meshmgmt.core.transactions import account_write
from meshmgmt.inventory.models import Peer

NAMED: Final = 20
"""How many of the peers that a change touches are named."""


@dataclass(frozen=True, slots=True)
class Part:
    """What a change does to one group.

    `changing` are the peers that join or leave, `same` is the number of those that are
    in the group already, or are not in it. `named` are the first names of `changing`,
    `unnamed` is the number of the others.
    """

    group: Group
    joins: bool
    changing: Sequence[str]
    same: int
    named: Sequence[str]
    unnamed: int


@dataclass(frozen=True, slots=True)
class Plan:
    """Which of the chosen peers would leave and join which groups."""

    peers: Sequence[str]
    parts: Sequence[Part]

    @property
    def changes(self) -> int:
        """How many memberships come or go."""
        return sum(len(part.changing) for part in self.parts)

    @property
    def mark(self) -> str:
        """A text that is another one when the same choice would do something else."""
        # Sorted: the order of a choice changes nothing of what would be done.
        told = [
            f"{part.group.pk} {part.joins} {','.join(sorted(part.changing))}"
            for part in self.parts
        ]
        seen = "\n".join([",".join(sorted(self.peers)), *told])
        return hashlib.sha256(seen.encode()).hexdigest()[:24]


def plan(peer_ids: Sequence[str], *, join: Sequence[str], leave: Sequence[str]) -> Plan:
    """Return what `change_groups_of_peers` would do; `All` has no part in it."""
    chosen = list(dict.fromkeys(peer_ids))
    found = Group.objects.in_bulk([*leave, *join])
    groups = [(pk, pk in join) for pk in dict.fromkeys([*leave, *join]) if pk in found]
    return Plan(
        peers=chosen,
        parts=[
            _part(found[pk], joins, chosen)
            for pk, joins in groups
            if not found[pk].is_all
        ],
    )


def carry_out(wanted: Plan) -> None:
    """Do what a plan says, in one write with the events of each membership."""
    with account_write():
        change_groups_of_peers(
            wanted.peers,
            join=[part.group.pk for part in wanted.parts if part.joins],
            leave=[part.group.pk for part in wanted.parts if not part.joins],
        )


def _part(group: Group, joins: bool, chosen: Sequence[str]) -> Part:
    links = GroupPeer.objects.filter(group=group).order_by()
    inside = set(links.values_list("peer_id", flat=True))
    changing = [pk for pk in chosen if (pk in inside) != joins]
    return Part(
        group=group,
        joins=joins,
        changing=changing,
        same=len(chosen) - len(changing),
        named=_names(changing[:NAMED]),
        unnamed=max(0, len(changing) - NAMED),
    )


def _names(peer_ids: Sequence[str]) -> list[str]:
    peers = Peer.objects.filter(pk__in=peer_ids)
    names = dict(peers.values_list("pk", "name"))
    return [names[pk] for pk in peer_ids if pk in names]
