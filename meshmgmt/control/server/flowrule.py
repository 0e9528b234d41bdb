"""Which peers are to report their traffic: the account's settings and groups."""

from dataclasses import dataclass

from groups.models import GroupPeer
from meshmgmt.accounts.models import Account


@dataclass(frozen=True, slots=True)
class FlowRule:
    """`members` None: every peer. `counters`: bytes and packets too."""

    enabled: bool
    counters: bool = False
    members: frozenset[str] | None = None

    def told(self, peer_id: str) -> tuple[bool, bool]:
        """Return whether a peer reports, and with counters."""
        reports = self.enabled and (self.members is None or peer_id in self.members)
        return reports, reports and self.counters


def read_flow_rule() -> FlowRule:
    """Read the rule; one query, another one where groups limit it."""
    row = Account.objects.values_list(
        "network_traffic_logs_enabled",
        "network_traffic_packet_counter_enabled",
        "network_traffic_logs_groups",
    ).first()
    if row is None or not row[0]:
        return FlowRule(enabled=False)
    members = None
    if row[2]:
        links = GroupPeer.objects.filter(group__in=row[2]).order_by()
        members = frozenset(links.values_list("peer_id", flat=True))
    return FlowRule(enabled=True, counters=row[1], members=members)
