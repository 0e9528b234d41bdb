"""What DNS says on the admin site's first page."""

from collections.abc import Iterator

from django.http import HttpRequest
from django.urls import reverse

from dns.selectors.findings import findings_count
from meshmgmt.api import home
from meshmgmt.api.home import Figure, Place, Tone


def contribute() -> None:
    """Add the findings."""
    home.contribute(Place.DNS, "dns", _findings)


def _findings(request: HttpRequest) -> Iterator[Figure]:
    del request
    found, page = findings_count(), reverse("admin:dns_lint")
    yield Figure("warnings", found.warnings, page, Tone.WARN)
    yield Figure("notes", found.notes, page)
