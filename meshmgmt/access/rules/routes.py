"""Rules of routes and of the routers of networks (reference API 13.6 and 13.7)."""

import ipaddress
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from meshmgmt.core.drafts import columns
from meshmgmt.core.fielderrors import FieldError
from meshmgmt.core.names import InvalidNameError, canonical, quoted
from meshmgmt.core.textrules import (
    description_errors,
    name_errors,
    not_found,
    range_errors,
    unknown_id_errors,
)

MAX_NETWORK_ID: Final = 40
MAX_DOMAINS: Final = 32
MAX_METRIC: Final = 9999

_PREFIX: Final = re.compile(r"[0-9A-Fa-f:.]+/[0-9]{1,3}")


@dataclass(frozen=True, slots=True)
class RouteDraft:
    """A route as the client sent it; lists hold ids of groups."""

    network_id: str
    groups: Sequence[str]
    network: str = ""
    domains: Sequence[str] = ()
    peer: str = ""
    peer_groups: Sequence[str] = ()
    description: str = ""
    enabled: bool = True
    metric: int = MAX_METRIC
    masquerade: bool = False
    keep_route: bool = False
    access_control_groups: Sequence[str] = ()
    skip_auto_apply: bool = False

    @property
    def group_ids(self) -> list[str]:
        return [*self.groups, *self.peer_groups, *self.access_control_groups]


_LISTS: Final = ("groups", "peer_groups", "access_control_groups")
ROUTE_COLUMNS: Final = columns(RouteDraft, but=[*_LISTS, "peer", "network", "domains"])
"""What of a route is kept as it was sent."""


@dataclass(frozen=True, slots=True)
class RouterDraft:
    """A routing peer of a network, or groups of them, as the client sent it."""

    peer: str = ""
    peer_groups: Sequence[str] = ()
    metric: int = MAX_METRIC
    masquerade: bool = False
    enabled: bool = True


ROUTER_COLUMNS: Final = columns(RouterDraft, but=["peer", "peer_groups"])


@dataclass(frozen=True, slots=True)
class RoutingFacts:
    """Which of the ids that a draft names exist.

    `emptied` are `peer` and `groups`, where the stored object has lost them to a deletion.
    """

    groups: Collection[str] = ()
    peers: Collection[str] = ()
    emptied: Collection[str] = ()


def network_text(text: str) -> str:
    """Return a network in canonical form, host bits cleared. Raises ValueError."""
    # Not every form that Python knows: no net masks, no zones of interfaces.
    if not _PREFIX.fullmatch(text):
        raise ValueError("not ADDRESS/LENGTH")
    return str(ipaddress.ip_network(text, strict=False))


def destination_key(network: str, domains: Iterable[str]) -> str:
    """Return what is equal for routes that lead to the same place."""
    return network or " ".join(sorted({canonical(domain) for domain in domains}))


def route_errors(draft: RouteDraft, facts: RoutingFacts) -> list[FieldError]:
    return [
        *_destination_errors(draft),
        *forwarder_errors(draft, facts),
        *name_errors(
            "network_id",
            draft.network_id,
            what="network identifier",
            maximum=MAX_NETWORK_ID,
        ),
        *description_errors(draft.description),
        *range_errors("metric", draft.metric, 1, MAX_METRIC, what="metric"),
        *_group_errors(draft, facts),
    ]


def router_errors(draft: RouterDraft, facts: RoutingFacts) -> list[FieldError]:
    return [
        *forwarder_errors(draft, facts),
        *range_errors("metric", draft.metric, 1, MAX_METRIC, what="metric"),
    ]


def forwarder_errors(
    draft: RouteDraft | RouterDraft, facts: RoutingFacts
) -> Iterator[FieldError]:
    """Check who forwards: one peer, or the peers of groups."""
    if draft.peer and draft.peer_groups:
        yield FieldError("peer", "give either peer or peer_groups, not both")
    elif not draft.peer and not draft.peer_groups and not _stays(draft, "peer", facts):
        yield FieldError("peer", "give either peer or peer_groups")
    if draft.peer and draft.peer not in facts.peers:
        yield FieldError("peer", not_found("peer", draft.peer))
    yield from unknown_id_errors(
        "peer_groups", draft.peer_groups, facts.groups, kind="group"
    )


def _stays(draft: RouteDraft | RouterDraft, part: str, facts: RoutingFacts) -> bool:
    """Tell whether a part may stay empty: what is off is sent back as it is shown."""
    return not draft.enabled and part in facts.emptied


def _destination_errors(draft: RouteDraft) -> Iterator[FieldError]:
    if draft.network and draft.domains:
        yield FieldError("network", "give either network or domains, not both")
    elif not draft.network and not draft.domains:
        yield FieldError("network", "give either network or domains")
    if draft.network:
        try:
            network_text(draft.network)
        except ValueError:
            text = f"{quoted(draft.network)} is no network such as 10.1.0.0/16"
            yield FieldError("network", text)
    if len(draft.domains) > MAX_DOMAINS:
        yield FieldError("domains", f"a route has at most {MAX_DOMAINS} domains")
    for index, domain in enumerate(draft.domains):
        try:
            canonical(domain)
        except InvalidNameError as error:
            text = f"domain {quoted(domain)} is not valid: {error}"
            yield FieldError(f"domains[{index}]", text)


def _group_errors(draft: RouteDraft, facts: RoutingFacts) -> Iterator[FieldError]:
    if not draft.groups and not _stays(draft, "groups", facts):
        yield FieldError("groups", "a route needs at least one group that uses it")
    for field in ("groups", "access_control_groups"):
        yield from unknown_id_errors(
            field, getattr(draft, field), facts.groups, kind="group"
        )
