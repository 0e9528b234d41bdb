"""What peers get and how they resolve names, computed from the database and measured."""

import time
from collections.abc import Iterator
from dataclasses import replace

from django.db.models import Q, TextField
from django.db.models.functions import Cast

from dns.effective.compute import Configurator
from dns.effective.result import PeerDns
from dns.effective.snapshot import Snapshot
from dns.lint import lint
from dns.lint.finding import Finding
from dns.mapsize import observe_all_maps, observe_map
from dns.resolution.explain import HiddenPeer, explain
from dns.resolution.model import Explanation, QueryError, Subject
from dns.resolution.trials import covering_zones
from dns.resolution.verdict import verdict
from dns.selectors.snapshot import account_snapshot, peer_snapshot, with_records
from meshmgmt.access.reach import ReachGraph
from meshmgmt.core import context
from meshmgmt.core.errors import BadRequest
from meshmgmt.inventory.models import Peer


def peer_dns(peer_id: str) -> PeerDns:
    """Return the configuration of one peer. Raises NotFound."""
    return _configured(peer_id)[0]


def _configured(peer_id: str) -> tuple[PeerDns, Snapshot, ReachGraph]:
    context.update(peer_id=peer_id)
    started = time.perf_counter()
    snapshot, graph = peer_snapshot(peer_id)
    config = Configurator(snapshot, graph=graph).config(peer_id)
    observe_map(config, seconds=time.perf_counter() - started)
    return config, snapshot, graph


def all_peer_dns() -> Iterator[PeerDns]:
    """Yield the configuration of every peer, in order of creation.

    What the caller does between two of them counts in no measurement, nor does a run
    that the caller gives up before its last peer.
    """
    started = time.perf_counter()
    configurator = Configurator(account_snapshot())
    total = time.perf_counter() - started
    for peer_id in configurator.snapshot.peers:
        started = time.perf_counter()
        config = configurator.config(peer_id)
        seconds = time.perf_counter() - started
        observe_map(config, seconds=seconds)
        total += seconds
        yield config
    observe_all_maps(seconds=total)


def name_explanation(peer_id: str, name: str, record_type: str = "A") -> Explanation:
    """Return how a peer resolves a name, and why. Raises NotFound, BadRequest."""
    config, snapshot, graph = _configured(peer_id)
    try:
        explanation = explain(
            config, name, record_type, hidden_peer=_hidden_peer(config)
        )
    except QueryError as error:
        raise BadRequest(str(error)) from error
    whole = with_records(snapshot, covering_zones(explanation, snapshot))
    return replace(explanation, verdict=verdict(explanation, config, whole, graph))


def account_findings() -> list[Finding]:
    return lint(account_snapshot())


def _hidden_peer(config: PeerDns) -> HiddenPeer:
    """A function that finds the owner of a peer's name that this peer cannot see."""
    domain = next((z.domain for z in config.zones if z.kind == "peers"), "")

    def find(name: str) -> Subject | None:
        label = name.removesuffix(f".{domain}")
        if label == name:
            return None
        peers = Peer.objects.annotate(extra=Cast("extra_dns_labels", TextField()))
        labelled = Q(dns_label=label) | Q(extra__contains=f'"{label}"')
        found = peers.filter(labelled).order_by("id").values_list("id", "name").first()
        return found and Subject("peer", *found)

    return find
