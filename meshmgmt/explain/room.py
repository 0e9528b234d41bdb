"""What explanations have for the other rooms."""

import json
from collections.abc import Iterator

from django.http import HttpRequest
from django.urls import reverse

from meshmgmt.adminsite import home
from meshmgmt.adminsite.home import Figure, Line, Place, Tone
from meshmgmt.core.transactions import read_snapshot
from meshmgmt.explain.answers import account_findings, all_peer_dns
from meshmgmt.explain.api.serializers import FindingSerializer, PeerDnsSerializer
from meshmgmt.explain.findings import are_kept, findings
from observability.registries import register_bundle_section


def register() -> None:
    # A debug run writes the first one at its start and its end.
    register_bundle_section("effective-dns.ndjson", _effective_dns, at_start=True)
    register_bundle_section("dns-findings.json", _told_findings)
    home.contribute(Place.DNS, "dns", _counted_findings)


def _effective_dns() -> str:
    """Return each peer's configuration as one line of JSON."""
    with read_snapshot():
        found = map(PeerDnsSerializer.plain, all_peer_dns())
        return "".join(f"{json.dumps(each)}\n" for each in found)


def _told_findings() -> str:
    """Return all findings as JSON."""
    with read_snapshot():
        found = list(map(FindingSerializer.plain, account_findings()))
    return json.dumps(found, indent=2) + "\n"


def _counted_findings(request: HttpRequest) -> Iterator[Figure | Line]:
    """Say on the first page how many there are."""
    page = reverse("admin-dns-lint")
    # Computing may take seconds: the first page asks for them once it is shown.
    if not (home.is_renewal(request) or are_kept()):
        yield Line("Findings are being looked for", url=page, later=True)
        return
    found = findings().count
    yield Figure("warning{s}", found.warnings, page, Tone.WARN)
    yield Figure("note{s}", found.notes, page)
