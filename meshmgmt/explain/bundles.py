"""What debug bundles show of DNS: the effective configuration of every peer."""

import json

from meshmgmt.core.transactions import read_snapshot
from meshmgmt.explain.answers import account_findings, all_peer_dns
from meshmgmt.explain.api.serializers import FindingSerializer, PeerDnsSerializer
from observability.registries import register_bundle_section


def register() -> None:
    """Register the files; a debug run writes the first one at its start and its end."""
    register_bundle_section("effective-dns.ndjson", effective_dns, at_start=True)
    register_bundle_section("dns-findings.json", findings)


def effective_dns() -> str:
    """Return each peer's configuration as one line of JSON."""
    with read_snapshot():
        found = map(PeerDnsSerializer.plain, all_peer_dns())
        return "".join(f"{json.dumps(each)}\n" for each in found)


def findings() -> str:
    with read_snapshot():
        found = list(map(FindingSerializer.plain, account_findings()))
    return json.dumps(found, indent=2) + "\n"
