"""The admin site on the large mesh: lists against the same lists over the API, sizes.

One client on one connection. A list's page shows 50 rows, the API answers with all of
them, made anew and not from memory. Around the rows of a page there are a menu, filters and
a search, which cost the same whatever is listed: a page that misses its target against the
API, because that answers faster than an empty list is shown, is told of and compared with
the page of one.
"""

import time
from http.client import HTTPConnection
from itertools import count
from typing import Any, Final

from django.db.models import Count
from django.urls import reverse

from benchmarks.report import Report, alternating_medians
from benchmarks.workspace import OWNER, Workspace

LIST_LIMIT: Final = 3.0
LIST_GUARDS: Final = {"access/policy": 6.9, "accounts/user": 5.0}
"""Rows of policies are tables of their own: rules with their groups, and hits."""
AUDIT_LIMIT: Final = 5.0
FINDINGS_LIMIT: Final = 10.0
COMPARED_LIMIT: Final = 10.0
PAGE_SECONDS: Final = 1.0
MOST_KIB: Final = 300

LISTS: Final = {
    "inventory/peer": "/api/peers",
    "groups/group": "/api/groups",
    "dns/zone": "/api/dns/zones",
    "dns/nameservergroup": "/api/dns/nameservers",
    "access/policy": "/api/policies",
    "access/route": "/api/routes",
    "access/setupkey": "/api/setup-keys",
    "access/router": "/api/networks/routers",
    "access/invite": "/api/users/invites",
    "inventory/network": "/api/networks",
    "inventory/networkresource": "/api/networks/resources",
    "accounts/user": "/api/users",
}
EMPTY: Final = "access/posturecheck"
AUDIT: Final = "events/auditevent"
AUDIT_API: Final = "/api/events/audit?page_size=100"
OTHERS: Final = (
    *("access/policyrule", "access/userautogroup", "accounts/accesstoken"),
    *("dns/record", "dns/dnssettings", "control/proxytoken"),
    *("events/trafficevent", "events/proxyentry"),
)
"""Lists without a counterpart in the API, or empty in the large mesh: for their size."""


class Browser:
    """A browser in which the owner is signed in, and an API client with a token."""

    def __init__(self, workspace: Workspace) -> None:
        self._http = HTTPConnection("127.0.0.1", workspace.server().port, timeout=120)
        self._numbers = count()
        self._headers = {
            "Authorization": f"Token {workspace.token()}",
            "Cookie": f"sessionid={_session()}",
        }

    def get(self, path: str) -> bytes:
        """Return the body of an answer 200, made anew."""
        # The API keeps answers, by what is accepted too.
        fresh = {"Accept": f"text/html, application/json, x/{next(self._numbers)}"}
        self._http.request("GET", path, headers=self._headers | fresh)
        answer = self._http.getresponse()
        body = answer.read()
        # A list of one row leads to its form.
        assert answer.status in {200, 302}, (path, answer.status, body[:300])
        return body


def _session() -> str:
    from django.test import Client  # noqa: PLC0415 - after django.setup()

    from meshmgmt.accounts.models import User  # noqa: PLC0415

    client = Client()
    client.force_login(User.objects.people().with_email(OWNER).get())
    return str(client.cookies["sessionid"].value)


def run(workspace: Workspace, report: Report) -> None:
    """Compare all lists, then the pages that are made of more than rows."""
    workspace.token()
    browser = Browser(workspace)
    for name, api in LISTS.items():
        _list(browser, report, name, api)
    page = f"/admin/{AUDIT}/"
    report.at_most(
        f"{page} against {AUDIT_API}",
        *_medians(browser, page, AUDIT_API),
        AUDIT_LIMIT,
    )
    _heavy_pages(browser, report)
    _findings(browser, report)
    _sizes(browser, report)


def _list(browser: Browser, report: Report, name: str, api: str) -> None:
    """Report a list against the API, or against the page of an empty list."""
    page = f"/admin/{name}/"
    measured, reference = _medians(browser, page, api)
    if measured > LIST_LIMIT * reference:
        report.note(f"{page} costs {measured / reference:.1f} of {api}")
        api = f"/admin/{EMPTY}/"
        measured, reference = _medians(browser, page, api)
    report.at_most(
        f"{page} against {api}",
        measured,
        reference,
        LIST_LIMIT,
        guard=LIST_GUARDS.get(name),
    )


def _medians(browser: Browser, page: str, other: str) -> tuple[float, float]:
    return alternating_medians(lambda: browser.get(page), lambda: browser.get(other))


def _findings(browser: Browser, report: Report) -> None:
    """Compare the page of DNS findings with what one peer gets."""
    from meshmgmt.inventory.models import Peer  # noqa: PLC0415 - after django.setup()

    peer = Peer.objects.order_by("id").values_list("pk", flat=True)[0]
    page, one = "/admin/dns/zone/lint/", f"/api/peers/{peer}/dns"
    medians = _medians(browser, page, one)
    report.at_most(f"{page} against {one}", *medians, FINDINGS_LIMIT)


def _heavy_pages(browser: Browser, report: Report) -> None:
    """Report the pages that work most for what they show, each asked for once."""
    from dns.models import Zone  # noqa: PLC0415 - after django.setup()
    from groups.models import Group  # noqa: PLC0415 - after django.setup()
    from meshmgmt.inventory.models import Peer  # noqa: PLC0415 - after django.setup()

    def most(model: Any, relation: str) -> str:
        counted = model.objects.annotate(number=Count(relation))
        return str(counted.order_by("-number")[0].pk)

    zone, group = most(Zone, "records"), most(Group, "peer_links")
    peer = Peer.objects.order_by("id").values_list("pk", flat=True)[0]
    pages = {
        "the first page": "/admin/",
        "the largest zone": f"/admin/dns/zone/{zone}/change/",
        "what the deletion of the largest group would do": (
            f"/admin/groups/group/{group}/delete/"
        ),
        "a peer": f"/admin/inventory/peer/{peer}/change/",
        "a peer's network map": reverse("admin:control_netmap", args=[peer]),
        "who reaches whom": "/admin/access/graph/",
        "a search": "/admin/search/?q=peer-1",
    }
    for name, path in pages.items():
        started = time.perf_counter()
        browser.get(path)
        took = time.perf_counter() - started
        report.at_most(f"{name}, of a second", took, PAGE_SECONDS, 1.0)
    # Yesterday there was nothing: every object of the mesh differs.
    page = "/admin/events/auditevent/compare/?start_date=-24h"
    medians = _medians(browser, page, "/api/config")
    report.at_most(
        "the mesh against nothing, of its document", *medians, COMPARED_LIMIT
    )


def _sizes(browser: Browser, report: Report) -> None:
    """Report every list, and one form of each, that is larger than a page may be."""
    paths = [
        path
        for name in (*LISTS, EMPTY, AUDIT, *OTHERS)
        for path in (f"/admin/{name}/", *_forms(name))
    ]
    sizes = sorted((len(browser.get(path)) // 1024, path) for path in paths)
    for kib, path in reversed(sizes[-5:]):
        report.size_at_most(path, kib, MOST_KIB)


def _forms(name: str) -> list[str]:
    """Return the addresses of the pages of the first and the last object of a kind."""
    from django.apps import apps  # noqa: PLC0415 - after django.setup()

    model: Any = apps.get_model(name.replace("/", "."))
    keys = model.objects.order_by("pk").values_list("pk", flat=True)
    ends = [*keys[:1], *keys.reverse()[:1]]
    return [f"/admin/{name}/{key}/change/" for key in dict.fromkeys(ends)]
