"""The menu of the admin site: sections and entries in the operator's words and order.

Models and pages are named by text, for this room stands below those they live in.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the menu, and what lives inside of it without a line of its own.

    `target` is a model (`app.model`) or the name of a page's path; so is each of `inner`.
    `module` says whose readers see a page; everybody who may enter does without one.
    """

    name: str
    target: str
    inner: tuple[str, ...] = ()
    module: str = ""

    def holds(self, view: str) -> bool:
        """Tell whether the page with this name of a path belongs here."""
        return any(_covers(target, view) for target in (self.target, *self.inner))


MENU: Final[Mapping[str, tuple[Entry, ...]]] = {
    "Overview": (
        Entry("Overview", "admin:index", ("admin:search", "admin-first-steps")),
    ),
    "Peers": (
        Entry(
            "Peers",
            "inventory.peer",
            ("admin:control_netmap", "admin:control_jobs", "admin-dns-peer"),
        ),
        Entry("Setup keys", "access.setupkey"),
    ),
    "Groups": (Entry("Groups", "groups.group"),),
    "Access": (
        Entry("Policies", "access.policy", ("access.policyrule",)),
        Entry("Posture checks", "access.posturecheck"),
        Entry("Access tests", "accesstests.accesstest"),
        Entry("Can A reach B?", "admin-reach", ("admin-reach-names",), "policies"),
        Entry("Who reaches whom", "admin-graph", module="policies"),
    ),
    "Networks": (
        Entry(
            "Networks",
            "inventory.network",
            ("inventory.networkresource", "access.router"),
        ),
        Entry("Routes", "access.route"),
    ),
    "DNS": (
        Entry("Zones", "dns.zone", ("dns.record",)),
        Entry("Nameservers", "dns.nameservergroup"),
        Entry("Explain a look-up", "admin-dns-explain", module="dns"),
        Entry("DNS findings", "admin-dns-lint", module="dns"),
        Entry("DNS settings", "dns.dnssettings"),
    ),
    "Events": (
        Entry(
            "Audit trail", "events.auditevent", ("admin-audit-revert", "admin-saved")
        ),
        Entry("Compare two moments", "admin-compare", module="settings"),
        Entry("Network traffic", "events.trafficevent"),
        Entry("Proxy logs", "events.proxyentry"),
        Entry(
            "Subscriptions",
            "delivery.subscription",
            ("delivery.deadletter", "admin:delivery_sending"),
        ),
    ),
    "People": (
        Entry("Users", "accounts.user", ("access.invite", "access.userautogroup")),
        Entry("Access tokens", "accounts.accesstoken"),
    ),
    "System": (
        Entry("Metrics and checks", "admin-metrics", ("admin-log-level",), "events"),
        Entry("Account settings", "accounts.account"),
        Entry("Proxy tokens", "control.proxytoken"),
        Entry("API documentation", "docs"),
    ),
}
"""The entries of each section."""


def is_model(target: str) -> bool:
    """Tell a model from the name of a page's path."""
    return "." in target


def models() -> Iterator[str]:
    """Yield the models (`app.model`) in the order of the menu, inner ones behind theirs."""
    for entries in MENU.values():
        for entry in entries:
            yield from filter(is_model, (entry.target, *entry.inner))


def place_of(view: str) -> tuple[str, Entry] | None:
    """Return the section and the entry that the page with this name of a path is in."""
    return next((place for place in _all() if place[1].holds(view)), None)


def name_of(label: str) -> str:
    """Return what the menu calls a model (`app.model`), "" for one inside another."""
    return next((entry.name for _, entry in _all() if entry.target == label), "")


def _all() -> list[tuple[str, Entry]]:
    pairs = ((name, entry) for name, entries in MENU.items() for entry in entries)
    # Pages before models: the path of a page may be named as those of a model are.
    return sorted(pairs, key=lambda pair: is_model(pair[1].target))


def _covers(target: str, view: str) -> bool:
    if is_model(target):
        return view.startswith(f"admin:{target.replace('.', '_')}_")
    return view == target
