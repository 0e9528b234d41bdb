"""Objects of the mesh for tests: peers, groups, networks and what refers to them."""

from base64 import b64encode
from ipaddress import IPv4Address
from itertools import count
from typing import Any, Final

from events.audit.audited import audited_bulk_create
from events.models import AuditEvent
from groups.models import Group, GroupPeer
from groups.selectors import all_group_id
from groups.services import group_create
from meshmgmt.access.models import (
    Policy,
    PolicyRule,
    RuleDestination,
    RuleSource,
    SetupKey,
)
from meshmgmt.access.services.enrolment import setup_keys
from meshmgmt.accounts.models import Account
from meshmgmt.core.orderedlinks import member_keys, set_members
from meshmgmt.core.resources import ModelT
from meshmgmt.core.transactions import account_write
from meshmgmt.inventory.models import Network, NetworkResource, Peer

_numbers = count(1)
FIRST_ADDRESS: Final = IPv4Address("100.64.128.0")
"""Above what tests write down."""


def peer(name: str = "", **facts: Any) -> Peer:
    """Store a peer with an address and a key of its own."""
    made = _unsaved_peer(name, facts)
    made.save()
    return made


def peers(number: int) -> list[Peer]:
    """Store many peers at once."""
    made = [_unsaved_peer("", {}) for _ in range(number)]
    audited_bulk_create(made)
    return made


def _unsaved_peer(name: str, facts: dict[str, Any]) -> Peer:
    number = next(_numbers)
    # The last digit leaves two bits open, which well-formed keys have zero.
    facts.setdefault("wg_public_key", f"{number:042d}0=")
    facts.setdefault("ip", str(FIRST_ADDRESS + number))
    facts.setdefault("dns_label", f"peer-{number}")
    return Peer(name=name or f"peer {number}", **facts)


def public_key(number: int) -> str:
    """Return a well-formed WireGuard key, another one for each number."""
    return b64encode(number.to_bytes(32)).decode()


def group(name: str = "", *members: Peer, **facts: Any) -> Group:
    """Store a group of peers."""
    chosen = name or f"group {next(_numbers)}"
    return group_create(name=chosen, peers=[member.pk for member in members], **facts)


def members_of(made: Group) -> list[str]:
    """Return the ids of the peers that a group lists, in their order."""
    return list(member_keys(GroupPeer, made))


def numbered(number: int) -> Peer:
    """Return the peer with this number, made when it is missing."""
    name = f"peer no. {number}"
    return Peer.objects.filter(name=name).first() or peer(name)


def group_id(name: str, *numbers: int) -> str:
    """Return the id of the group with this name, made when it is missing.

    With numbers, the peers of these numbers become its members.
    """
    found = Group.objects.filter(name=name).first() or Group.objects.create(name=name)
    if numbers:
        set_members(GroupPeer, found, [numbered(number).pk for number in numbers])
    return found.pk


def network(name: str = "office") -> Network:
    """Return the network with this name, made when it is missing."""
    return Network.objects.filter(name=name).first() or Network.objects.create(
        name=name
    )


def printer() -> NetworkResource:
    """Return the printer in the office, made when it is missing."""
    found = NetworkResource.objects.filter(name="printer").first()
    return found or resource("printer", network=network(), address="10.0.0.1/32")


def resource(name: str = "", kind: str = "host", **facts: Any) -> NetworkResource:
    """Store a resource in a network, which is made when not given."""
    number = next(_numbers)
    with account_write():
        facts.setdefault("network", network(f"network {number}"))
        facts.setdefault("address", f"10.0.0.{number % 256}/32")
        made = NetworkResource(name=name or f"resource {number}", type=kind, **facts)
        made.save()
    return made


def rule(
    sources: list[Group],
    destinations: list[Group],
    policy: Policy | None = None,
    **fields: Any,
) -> PolicyRule:
    """Store a rule between groups, in a policy of its own when none is given."""
    number = next(_numbers)
    with account_write():
        if policy is None:
            policy = Policy(name=f"policy {number}")
            policy.save()
        made = PolicyRule(policy=policy, name=f"rule {number}", **fields)
        made.save()
        set_members(RuleSource, made, [entry.pk for entry in sources], new=True)
        set_members(
            RuleDestination, made, [entry.pk for entry in destinations], new=True
        )
    return made


def setup_key(name: str = "key", **terms: Any) -> SetupKey:
    """A key that is good for ever, unless `terms` say otherwise."""
    plain = {"name": name, "type": "reusable", "expires_in": 0}
    return setup_keys.create({**plain, **terms})


def changed(instance: ModelT, **columns: Any) -> ModelT:
    """Store an object with other values in some columns, and return it."""
    for name, value in columns.items():
        setattr(instance, name, value)
    instance.save()
    return instance


def account_settings(**changes: Any) -> Account:
    """Change settings of the account and return it."""
    return changed(Account.objects.get(), **changes)


def ipv6_for_all() -> Account:
    """Let every peer have an address of fd00::/64."""
    enabled = [all_group_id()]
    return account_settings(network_range_v6="fd00::/64", ipv6_enabled_groups=enabled)


def newest_event() -> AuditEvent:
    """Return the event that was written last."""
    return AuditEvent.objects.order_by("-id")[0]


class Trail:
    """The audit events written since this object was made."""

    def __init__(self) -> None:
        newest = AuditEvent.objects.order_by("-id").first()
        self.start = 0 if newest is None else newest.pk

    @property
    def events(self) -> list[AuditEvent]:
        """The events, oldest first."""
        return list(AuditEvent.objects.filter(pk__gt=self.start).order_by("pk"))

    @property
    def codes(self) -> list[str]:
        """The activity codes, oldest first."""
        return [event.activity_code for event in self.events]

    @property
    def targets(self) -> list[tuple[str, str]]:
        """The activity codes with their targets, oldest first."""
        return [(event.activity_code, event.target_id) for event in self.events]


def groups_of_peer(peer_id: str) -> list[str]:
    """Return the ids of the groups that a peer is in, `All` the first."""
    links = GroupPeer.objects.filter(peer=peer_id).order_by("group_id")
    return [all_group_id(), *links.values_list("group_id", flat=True)]
