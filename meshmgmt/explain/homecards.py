"""What DNS says on the admin site's first page."""

from collections.abc import Iterator

from django.http import HttpRequest
from django.urls import reverse

from meshmgmt.adminsite import home
from meshmgmt.adminsite.home import Figure, Line, Place, Tone
from meshmgmt.explain.findings import are_kept, findings


def register() -> None:
    home.contribute(Place.DNS, "dns", _findings)


def _findings(request: HttpRequest) -> Iterator[Figure | Line]:
    page = reverse("admin-dns-lint")
    # Computing may take seconds: the first page asks for them once it is shown.
    if not (home.is_renewal(request) or are_kept()):
        yield Line("Findings are being looked for", url=page, later=True)
        return
    found = findings().count
    yield Figure("warning{s}", found.warnings, page, Tone.WARN)
    yield Figure("note{s}", found.notes, page)
