"""Which tests a write may have touched: those whose objects it can be about."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Count, Q

from dns.models import DnsSettings, NameserverGroup, Record, Zone
from events.audit.changes import Change
from groups.models import Group, GroupPeer
from meshmgmt.access.models import Policy, PolicyRule, PostureCheck, Route, Router
from meshmgmt.accesstests.models import FAILING, AccessTest
from meshmgmt.accesstests.rules import ACCESS, DNS, ROUTED
from meshmgmt.accounts.models import Account, User
from meshmgmt.accounts.selectors import account_domain
from meshmgmt.core.names import canonical
from meshmgmt.core.queries import BATCH
from meshmgmt.inventory.models import NetworkResource, Peer
from meshmgmt.mesh.extent import Extent
from meshmgmt.meshstate.loading import Touched, are_named, groups_of, routes_something

_WIDE: Final = (Account, Route, Router, NetworkResource)
"""What may be about any peers."""
_RULES: Final = (Policy, PolicyRule, PostureCheck)
_NAMES: Final = (DnsSettings, NameserverGroup, Record, Zone)
TOLD: Final = frozenset({"name", "description"})
"""What is only told: no test goes another way by it."""


@dataclass(frozen=True, slots=True)
class Touch:
    """What was touched: peers, and groups with the members that came and went.

    Or `everything`, all that is `routed`, all `names`; `sides` are groups and peers that
    all changed rules name, or named, where nothing else was touched.
    """

    peers: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    moved: frozenset[str] = frozenset()
    everything: bool = False
    routed: bool = False
    names: bool = False
    sides: Extent | None = None
    renamed: bool = False
    """Whether anything has another name, which may stand in what a failing test tells."""

    @classmethod
    def by_machines(cls, touched: Touched | None) -> "Touch":
        """What machines and jobs did; None: nobody knows what."""
        if touched is None or touched.groups:  # nobody knows who came and went
            return cls(everything=True)
        return cls(touched.peers, names=bool(touched.zones))

    @property
    def is_of_members(self) -> bool:
        """Whether nothing but members of groups came and went."""
        return not (self.peers or self.everything or self.routed or self.names)

    def tests(self) -> list[AccessTest]:
        """The enabled tests that may go another way now."""
        tests = AccessTest.objects.filter(enabled=True).order_by("id")
        # More than a query takes ids.
        many = len(self.peers) + len(self.groups) + len(self.moved) > BATCH
        if self.everything or many:
            return list(tests)
        # Most accounts have few kinds: what none asks about is not looked up.
        asked = tests.order_by().values_list("kind", "destination_kind").distinct()
        telling = Q(state=FAILING) if self.renamed else Q(pk__in=())
        return list(tests.filter(self._about({*asked}) | telling))

    def thin_groups(self) -> frozenset[str]:
        """The touched groups with at most one member left."""
        links = GroupPeer.objects.filter(group__in=self.groups).order_by()
        counted = links.values_list("group").annotate(number=Count("id"))
        return self.groups - {group for group, number in counted if number > 1}

    def _left(self) -> bool:
        """Tell whether a machine is no more: what it routed names it no longer."""
        return Peer.objects.filter(pk__in=self.peers).count() < len(self.peers)

    def _about(self, asked: Collection[tuple[str, str]]) -> Q:
        """Which tests; nothing is looked up of kinds that none asks about."""
        names = any(kind == DNS for kind, _ in asked)
        ways = any(end in ROUTED for kind, end in asked if kind == ACCESS)
        named = Q(kind=DNS) if self.names else Q(pk__in=())
        routed = self.routed
        if self.peers or self.groups:
            everyone = self.peers | self.moved
            around = self.groups | groups_of(everyone)
            domain = account_domain() if names or ways else ""
            domain = canonical(domain) if domain else ""
            if names:
                asking = Q(source_ref__in={*everyone, *around}) | Q(source_kind="user")
                named |= Q(kind=DNS) & asking  # zones name groups that no rule does
                asked_of = Q() if _lead_to(domain) else _of_peers(domain)
                named |= Q(kind=DNS) & asked_of
            # Who is in a group that no rule names meets nobody else by that.
            meeting = bool(self.groups) and are_named(self.groups)
            peers = everyone if meeting else self.peers
            groups = around if peers else self.groups
            refs = {*peers, *groups}
            named |= Q(source_ref__in=refs) | Q(destination_ref__in=refs)
            if peers:
                # Whose they were cannot be asked any more of what is deleted or moved.
                named |= Q(source_kind="user")
            if peers and ways:
                routed = routed or routes_something(peers, groups) or self._left()
                named |= Q(destination_kind="address")
                named |= Q(kind=ACCESS, destination_kind="domain") & _of_peers(domain)
        elsewhere = Q(kind=ACCESS, destination_kind__in=ROUTED)
        return named | elsewhere if routed else named


def touch_of(changes: Sequence[Change], touched: Touched | None) -> Touch:
    """What a write did, told its changes and what maps must read again of it."""
    if touched is None:
        return Touch(everything=True)
    renamed = any(_is_update(each) and each.changed("name") for each in changes)
    changes = [each for each in changes if not _is_only_told(each)]
    rules = [change for change in changes if type(change.instance) in _RULES]
    of_groups = [change for change in changes if type(change.instance) is Group]
    listed = [each.members["peers"] for each in of_groups if "peers" in each.members]
    wide = any(
        type(each.instance) in _WIDE
        or (type(each.instance) is User and each.changed("is_blocked"))
        for each in changes
    )
    # Of the others no more changed than the name.
    with_members = {str(each.pk) for each in of_groups if any(each.members.values())}
    groups = touched.groups & with_members
    alone = rules and not (touched.peers or groups or wide)
    return Touch(
        touched.peers,
        groups,
        moved=frozenset(
            str(x) for each in listed for x in (*each.added, *each.removed)
        ),
        everything=wide or bool(rules),
        routed=any("resources" in each.members for each in of_groups),
        names=any(type(each.instance) in _NAMES for each in changes),
        sides=_sides(rules) if alone else None,
        renamed=renamed,
    )


def _is_update(change: Change) -> bool:
    return not (change.created or change.deleted)


def _is_only_told(change: Change) -> bool:
    # The names of records are what is asked for, and others are not known by their change.
    if type(change.instance) not in (Group, *_WIDE, *_RULES):
        return False
    more = any(change.members.values()) or not TOLD.issuperset(change.changed_fields)
    return _is_update(change) and not more


def _sides(changes: Sequence[Change]) -> Extent:
    """The groups and peers on the sides of rules, before and after they changed."""
    ids = {
        model: [str(each.pk) for each in changes if type(each.instance) is model]
        for model in _RULES
    }
    of_checks = Q(policy__posture_check_links__posture_check__in=ids[PostureCheck])
    found = PolicyRule.objects.filter(
        Q(pk__in=ids[PolicyRule]) | Q(policy__in=ids[Policy]) | of_checks
    ).order_by()
    named: set[Any] = set()
    for side in ("source", "destination"):
        links = found.filter(**{f"{side}_links__isnull": False})
        named.update(links.values_list(f"{side}_links__group", flat=True))
        named.update(found.values_list(f"{side}_resource_id", flat=True))
        for change in changes:
            named.add(change.before.get(f"{side}_resource_id", ""))
            if listed := change.members.get(f"{side}s"):
                named.update(listed.removed)
    ids_named = frozenset(map(str, filter(None, named)))
    return Extent(ids_named, ids_named)


def _of_peers(domain: str) -> Q:
    """Names that may be those of peers, whose names end in a domain, as tests have them."""
    if "xn--" in domain:
        return Q()  # tests may have it in Unicode
    bare = ~Q(destination_ref__contains=".") | Q(destination_ref__endswith=".")
    return bare | Q(destination_ref__iendswith=domain) if domain else bare


def _lead_to(domain: str) -> bool:
    """Tell whether records give names in a domain others."""
    aliases = Record.objects.filter(type="CNAME", canonical_content__endswith=domain)
    return bool(domain) and aliases.exists()
