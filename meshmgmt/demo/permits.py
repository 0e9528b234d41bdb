"""Policies, routes, networks with resources and routers, and setup keys of the demo."""

import datetime as dt
import hashlib
from collections.abc import Sequence
from functools import partial

from meshmgmt.access.models import (
    Action,
    Policy,
    PolicyPostureCheck,
    SetupKey,
    SetupKeyAutoGroup,
)
from meshmgmt.access.rules.networks import NetworkDraft, ResourceDraft
from meshmgmt.access.rules.policies import PolicyDraft, RuleDraft
from meshmgmt.access.rules.posture import PostureDraft
from meshmgmt.access.rules.routes import RouteDraft, RouterDraft
from meshmgmt.access.services import policies
from meshmgmt.access.services.networks import (
    network_create,
    resource_create,
    router_create,
)
from meshmgmt.access.services.posture import posture_check_create
from meshmgmt.access.services.routes import route_create
from meshmgmt.core import clock
from meshmgmt.core.orderedlinks import set_members
from meshmgmt.core.transactions import account_write
from meshmgmt.demo import rights
from meshmgmt.demo.rights import KeyRow, NetworkRow, PolicyRow, RouteRow
from meshmgmt.demo.story import Story


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
        ports=row.ports,
    )


def policy_create(
    *,
    name: str,
    sources: list[str],
    destinations: list[str],
    protocol: str = "all",
    ports: Sequence[str] = (),
) -> Policy:
    """Add a policy with one rule that accepts from groups (ids) to groups (ids)."""
    rule = RuleDraft(
        name,
        Action.ACCEPT,
        protocol,
        bidirectional=True,
        ports=ports,
        sources=sources,
        destinations=destinations,
    )
    return policies.policy_create(draft=PolicyDraft(name, [rule]))


def _posture_check(policy_name: str) -> None:
    checks = {"nb_version_check": {"min_version": "0.55.0"}}
    with account_write():
        draft = PostureDraft("Client not older than 0.55", checks)
        check = posture_check_create(draft=draft)
        policy = Policy.objects.get(name=policy_name)
        set_members(PolicyPostureCheck, policy, [check.pk])


def _route(story: Story, row: RouteRow) -> None:
    draft = RouteDraft(
        row.identifier,
        story.group_ids(row.groups),
        network=row.network,
        domains=row.domains,
        peer=story.peers[row.peer].pk if row.peer else "",
        peer_groups=[] if row.peer else story.group_ids(["Gateways"]),
        metric=100,
        masquerade=True,
    )
    route_create(draft=draft)


def _network(story: Story, row: NetworkRow) -> None:
    with account_write():
        network = network_create(draft=NetworkDraft(row.name, row.description))
        router = RouterDraft(story.peers[row.router].pk, metric=100, masquerade=True)
        router_create(network_id=network.pk, draft=router)
        for entry in row.resources:
            groups = story.group_ids(entry.groups)
            draft = ResourceDraft(entry.name, entry.address, groups=groups)
            resource_create(network_id=network.pk, draft=draft)
