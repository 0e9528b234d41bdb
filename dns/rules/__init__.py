"""Ordered checks of what may be stored; pure, without Django.

Each function returns every broken rule, the one that decides the answer's
message first. Facts that need the database come in as arguments.
"""

from dns.rules.nameservers import (
    NameserverDraft,
    NameserverGroupDraft,
    nameserver_group_errors,
)
from dns.rules.records import (
    RecordDraft,
    StoredRecord,
    record_conflicts,
    record_errors,
)
from dns.rules.relative import name_in_zone
from dns.rules.zones import ZoneDraft, dns_settings_errors, zone_errors

__all__ = [
    "NameserverDraft",
    "NameserverGroupDraft",
    "RecordDraft",
    "StoredRecord",
    "ZoneDraft",
    "dns_settings_errors",
    "name_in_zone",
    "nameserver_group_errors",
    "record_conflicts",
    "record_errors",
    "zone_errors",
]
