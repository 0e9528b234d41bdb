"""Fills an empty database with a profile: all of it or nothing."""

import random
from collections.abc import Callable
from typing import Final

from django.db import models, transaction

from dns.models import DisabledManagementGroup, NameserverGroup, Record, Zone
from events.models import AuditEvent, ProxyEntry, TrafficEvent
from groups.models import ALL, Group, GroupPeer, GroupResource, Issued
from meshmgmt.access.models import Invite, Policy, PostureCheck, Route, Router, SetupKey
from meshmgmt.access.services.policies import default_policies
from meshmgmt.accesstests.models import AccessTest
from meshmgmt.accounts.models import User
from meshmgmt.core import clock
from meshmgmt.core.progress import bar
from meshmgmt.core.transactions import account_write
from meshmgmt.demo import company, large, streams
from meshmgmt.demo.story import Story
from meshmgmt.inventory.models import Network, NetworkResource, Peer

Counts = dict[str, int]

_COUNTED: Final[dict[str, type[models.Model]]] = {
    "users": User,
    "peers": Peer,
    "memberships": GroupPeer,
    "group_resources": GroupResource,
    "nameserver_groups": NameserverGroup,
    "zones": Zone,
    "records": Record,
    "disabled_management_groups": DisabledManagementGroup,
    "policies": Policy,
    "posture_checks": PostureCheck,
    "routes": Route,
    "networks": Network,
    "resources": NetworkResource,
    "routers": Router,
    "access_tests": AccessTest,
    "setup_keys": SetupKey,
    "invites": Invite,
    "audit_events": AuditEvent,
    "traffic_events": TrafficEvent,
    "proxy_entries": ProxyEntry,
}
_NO_DATA: Final = {"users", "audit_events"}
"""Users are no data that stands in the way, nor are the events about them."""


def counts() -> Counts:
    """Return how many objects of each kind there are; groups without `All`."""
    groups = Group.objects.exclude(name=ALL, issued=Issued.API).count()
    found = {kind: model._default_manager.count() for kind, model in _COUNTED.items()}
    return {"users": found.pop("users"), "groups": groups, **found}


def other_data() -> Counts:
    """Return the counts of what is there beside what every new account has.

    That is users, the account, `All`, and the policy of `SVC_DEFAULT_POLICY`.
    """
    found = counts()
    found["policies"] -= default_policies().count()
    return {
        kind: count for kind, count in found.items() if count and kind not in _NO_DATA
    }


def is_seeded(profile: str) -> bool:
    """Tell whether the machines of a profile are there, which nobody else makes."""
    mark = PROFILES[profile][0]
    return Peer.objects.filter(serial_number__startswith=mark).exists()


def seed(profile: str, random_seed: int) -> None:
    """Write a profile in one transaction; the same seed gives the same mesh."""
    # No account write: each deed inside is one, with events of its own time and actor.
    with transaction.atomic():
        PROFILES[profile][1](random.Random(random_seed))  # noqa: S311


def _demo(chance: random.Random) -> None:
    story = Story(chance, clock.now())
    company.plan_company(story)
    company.plan_week(story)
    story.play()
    # Last, for flows are between the machines that the week leaves.
    streams.fill_streams(chance)


def _large(chance: random.Random) -> None:
    mesh = large.LargeMesh(chance)
    for step in bar("large mesh", large.STEPS):
        # A write of its own: what one changes is in memory until it ends.
        with account_write():
            step(mesh)


Build = Callable[[random.Random], None]
PROFILES: Final[dict[str, tuple[str, Build]]] = {
    "demo": (company.MARK, _demo),
    "large": (large.MARK, _large),
}
