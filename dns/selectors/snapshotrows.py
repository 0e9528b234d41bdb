"""The queries of a snapshot."""

from collections.abc import Sequence
from typing import Any, Final

from django.db.models import CharField, Exists, OuterRef, Q, TextField, Value
from django.db.models.functions import Cast

from dns import models
from groups.models import Group, GroupPeer
from meshmgmt.accounts.models import Account
from meshmgmt.core.queries import PreparedRows
from meshmgmt.inventory.models import Peer


def _members(**which: Sequence[str]) -> Any:
    return GroupPeer.objects.filter(**which).order_by()


def _peers(which: Q) -> Any:
    peers = Peer.objects.filter(which).order_by("pk")
    return peers.values_list(
        *("pk", "name", "dns_label", "ip", "ipv6"),
        Cast("extra_dns_labels", TextField()),
        "approval_required",
    )


def _record_rows(**which: Sequence[str]) -> Any:
    stored = models.Record.objects.filter(**which).order_by("pk")
    return stored.values_list(
        "zone", "canonical_name", "type", "canonical_content", "ttl", "pk"
    )


GROUPS: Final = PreparedRows(
    lambda: Group.objects.order_by().values_list("pk", "name", "issued")
)
LISTS: Final = PreparedRows(
    lambda: (
        models.ZoneGroup.objects.order_by()
        .values_list("zone_id", "group_id")
        .union(
            models.NameserverGroupGroup.objects.order_by().values_list(
                "nameserver_group_id", "group_id"
            ),
            models.DisabledManagementGroup.objects.order_by().values_list(
                Value("", CharField()), "group_id"
            ),
            all=True,
        )
    )
)
DOMAIN: Final = PreparedRows(
    lambda: Account.objects.order_by().values_list("dns_domain")
)
MINE: Final = PreparedRows(lambda peer: _members(peer__in=peer).values_list("group_id"))
MEMBERS: Final = PreparedRows(lambda: _members().values_list("group_id", "peer_id"))
MEMBERS_OF: Final = PreparedRows(
    lambda groups: _members(group__in=groups).values_list("group_id", "peer_id")
)
PEERS: Final = PreparedRows(lambda peers: _peers(Q(pk__in=peers)))
ALL_PEERS: Final = PreparedRows(lambda: _peers(Q()))
PEERS_IN: Final = PreparedRows(
    lambda groups, peers: _peers(
        Q(pk__in=_members(group__in=groups).values("peer")) | Q(pk__in=peers)
    )
)
ZONES: Final = PreparedRows(
    lambda: models.Zone.objects.order_by("pk").values_list(
        "pk",
        "name",
        "domain",
        "canonical_domain",
        "enabled",
        "enable_search_domain",
        Exists(models.Record.objects.filter(zone=OuterRef("pk"))),
    )
)
RECORDS: Final = PreparedRows(_record_rows)
RECORDS_OF: Final = PreparedRows(lambda zones: _record_rows(zone__in=zones))
NAMESERVER_GROUPS: Final = PreparedRows(
    lambda: models.NameserverGroup.objects.order_by("pk").values_list(
        "pk",
        "name",
        Cast("nameservers", TextField()),
        Cast("domains", TextField()),
        "primary",
        "enabled",
        "search_domains_enabled",
    )
)
