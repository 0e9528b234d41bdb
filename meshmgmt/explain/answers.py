"""What peers get and how they resolve names, computed from the database and measured."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final

from meshmgmt.accounts.models import User
from meshmgmt.core import context
from meshmgmt.core.errors import BadRequest, NotFound
from meshmgmt.core.registry import Registry
from meshmgmt.core.resources import Row
from meshmgmt.explain.lint import lint
from meshmgmt.explain.lint.finding import Finding
from meshmgmt.explain.mapsize import ALL_DURATION, observe_map
from meshmgmt.explain.reaching import peer_labelled
from meshmgmt.explain.resolution.explain import explain
from meshmgmt.explain.resolution.model import Explanation, QueryError, hidden_peer
from meshmgmt.explain.resolution.trials import covering_zones, groups_to_try
from meshmgmt.explain.resolution.verdict import needs_trials, verdict
from meshmgmt.explain.resolution.zones import HiddenPeer
from meshmgmt.inventory.selectors import ACCESSIBLE, FEW, peer_rows, visible_peers
from meshmgmt.mesh.peerdns import PeerDns
from meshmgmt.mesh.reasons import Subject
from meshmgmt.meshstate.loading import load, load_around, mesh_of

further_findings: Final = Registry[str, Callable[[], Iterable[Finding]]]()
"""What higher rooms find, of codes at the end of the catalogue."""


def peer_dns(peer_id: str) -> PeerDns:
    """Return the configuration of one peer, and the mesh around it. Raises NotFound."""
    # Logs name the peer from here on, such as the warning about a large map.
    context.update(peer_id=peer_id)
    started = time.perf_counter()
    config = PeerDns(mesh_of(lambda: load_around(peer_id)), peer_id)
    observe_map(config, seconds=time.perf_counter() - started)
    return config


def all_peer_dns() -> Iterator[PeerDns]:
    """Yield the configuration of every peer, in order of creation.

    What the caller does between two of them counts in no measurement, nor does a run
    that the caller gives up before its last peer.
    """
    started = time.perf_counter()
    mesh = mesh_of(load)
    total = time.perf_counter() - started
    for peer_id in sorted(mesh.snapshot.peers):
        started = time.perf_counter()
        config = PeerDns(mesh, peer_id)
        seconds = time.perf_counter() - started
        observe_map(config, seconds=seconds)
        # Without what the caller does between two of them.
        total += seconds
        yield config
    ALL_DURATION.observe(total * 1000)


def name_explanation(peer_id: str, name: str, record_type: str = "A") -> Explanation:
    """Return how a peer resolves a name, and why. Raises NotFound, BadRequest."""
    config = peer_dns(peer_id)
    try:
        explanation = explain(
            config, name, record_type, hidden_peer=_hidden_peer(config)
        )
    except QueryError as error:
        raise BadRequest(str(error)) from error
    mesh = config.mesh
    # Most look-ups are answered, and then nothing more is read.
    if needs_trials(explanation):
        hidden = hidden_peer(explanation)
        known = mesh.snapshot
        mesh = mesh_of(
            lambda: load_around(
                peer_id,
                groups=groups_to_try(explanation, known),
                zones=covering_zones(explanation, known),
                others=[hidden.id] if hidden else [],
                known=known,
            )
        )
    return replace(explanation, verdict=verdict(explanation, config, mesh))


def account_findings() -> list[Finding]:
    """Return what is odd in the account, in the order of the catalogue."""
    further = (finding for read in further_findings.values() for finding in read())
    return [*lint(mesh_of(load)), *further]


def accessible_peer_rows(viewer: User, peer_id: str) -> list[Row]:
    """Return the peers that a peer sees, of those that `viewer` may see.

    Raises NotFound for a peer that `viewer` may not see.
    """
    if not visible_peers(viewer).filter(pk=peer_id).exists():
        raise NotFound.of("peer", peer_id)
    sight = mesh_of(lambda: load_around(peer_id)).sight(peer_id)
    seen = sight.remotes.ids if sight else frozenset()
    # Of many, reading all is faster than asking for each id.
    rows = peer_rows(viewer, sorted(seen) if len(seen) <= FEW else None)
    return [
        {name: row[name] for name in ACCESSIBLE if name in row}
        for row in rows
        if row["id"] in seen
    ]


def _hidden_peer(config: PeerDns) -> HiddenPeer:
    """A function that finds the owner of a peer's name that this peer cannot see."""
    domain = next((z.domain for z in config.zones if z.kind == "peers"), "")

    def find(name: str) -> Subject | None:
        label = name.removesuffix(f".{domain}")
        # No name of a peer, or the peers have no domain.
        if label == name:
            return None
        found = peer_labelled(label)
        return Subject("peer", found.pk, found.name) if found else None

    return find
