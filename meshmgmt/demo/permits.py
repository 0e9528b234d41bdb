"""Policies, routes, networks with resources and routers, and setup keys of the demo."""

import datetime as dt
import hashlib
from functools import partial

from groups.models import GroupResource
from meshmgmt.access.models import (
    Policy,
    PolicyPostureCheck,
    PolicyRule,
    PostureCheck,
    Route,
    RouteGroup,
    RoutePeerGroup,
    Router,
    RuleDestination,
    RuleSource,
    SetupKey,
    SetupKeyAutoGroup,
)
from meshmgmt.core import clock
from meshmgmt.core.orderedlinks import set_members
from meshmgmt.core.transactions import account_write
from meshmgmt.demo import rights
from meshmgmt.demo.rights import KeyRow, NetworkRow, PolicyRow, RouteRow
from meshmgmt.demo.story import Story
from meshmgmt.inventory.models import Network, NetworkResource


def plan_permits(story: Story) -> None:
    """Keys come first, for servers need them; routes and networks need their peers."""
    for number, key in enumerate(rights.SETUP_KEYS):
        story.plan(0, 11 * 60 + 5 * number, "tomas", partial(_key, story, key))
    for number, policy in enumerate(rights.POLICIES):
        deed = partial(_policy, story, policy)
        story.plan(0, 11 * 60 + 40 + 8 * number, "yuki", deed)
    story.plan(
        1, 16 * 60 + 20, "yuki", partial(_posture_check, "Contractors to the wiki")
    )
    for number, route in enumerate(rights.ROUTES):
        story.plan(2, 9 * 60 + 12 * number, "ines", partial(_route, story, route))
    for number, network in enumerate(rights.NETWORKS):
        story.plan(2, 13 * 60 + 30 * number, "olof", partial(_network, story, network))


def _key(story: Story, row: KeyRow) -> None:
    # Only the digest of a key is kept; nobody knows the keys of the demo.
    secret = story.random.randbytes(16).hex().upper()
    with account_write():
        key = SetupKey(
            name=row.name,
            type=row.type,
            key_hash=hashlib.sha256(secret.encode()).hexdigest(),
            key_prefix=secret[:4],
            created_at=clock.now(),
            updated_at=clock.now(),
            expires_at=clock.now() + dt.timedelta(days=90),
            usage_limit=row.limit,
        )
        key.save(force_insert=True)
        set_members(SetupKeyAutoGroup, key, story.group_ids(row.groups), new=True)
    story.keys[row.name] = key


def _policy(story: Story, row: PolicyRow) -> None:
    policy_create(
        name=row.name,
        sources=story.group_ids(row.sources),
        destinations=story.group_ids(row.destinations),
        protocol=row.protocol,
        ports=list(row.ports),
    )


def policy_create(
    *,
    name: str,
    sources: list[str],
    destinations: list[str],
    protocol: str = "all",
    ports: list[str] | None = None,
) -> Policy:
    """Add a policy with one rule that accepts from groups (ids) to groups (ids)."""
    with account_write():
        policy = Policy(name=name)
        policy.save(force_insert=True)
        rule = PolicyRule(
            policy=policy, name=name, protocol=protocol, ports=ports or []
        )
        rule.save(force_insert=True)
        set_members(RuleSource, rule, sources, new=True)
        set_members(RuleDestination, rule, destinations, new=True)
    return policy


def _posture_check(policy_name: str) -> None:
    with account_write():
        check = PostureCheck(
            name="Client not older than 0.55",
            checks={"nb_version_check": {"min_version": "0.55.0"}},
        )
        check.save(force_insert=True)
        policy = Policy.objects.get(name=policy_name)
        set_members(PolicyPostureCheck, policy, [check.pk])


def _route(story: Story, row: RouteRow) -> None:
    with account_write():
        route = Route(
            network_id=row.identifier,
            network=row.network,
            domains=list(row.domains),
            peer=story.peers[row.peer] if row.peer else None,
            metric=100,
        )
        route.save(force_insert=True)
        set_members(RouteGroup, route, story.group_ids(row.groups), new=True)
        if not row.peer:
            set_members(RoutePeerGroup, route, story.group_ids(["Gateways"]), new=True)


def _network(story: Story, row: NetworkRow) -> None:
    with account_write():
        network = Network(name=row.name, description=row.description)
        network.save(force_insert=True)
        story.networks[row.name] = network
        router = Router(network=network, peer=story.peers[row.router], metric=100)
        router.save(force_insert=True)
        for entry in row.resources:
            resource = NetworkResource(
                network=network, name=entry.name, type=entry.type, address=entry.address
            )
            resource.save(force_insert=True)
            story.resources[entry.name] = resource
            for group in entry.groups:
                _add_resource(story, group, resource)


def _add_resource(story: Story, group: str, resource: NetworkResource) -> None:
    owner = story.groups[group]
    members = GroupResource.objects.filter(group=owner)
    keys = list(members.values_list("resource_id", "resource_type"))
    set_members(GroupResource, owner, [*keys, (resource.pk, resource.type)])
