"""Deeds about who may do what: policies, routes, networks, setup keys, access tests."""

import datetime as dt
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from meshmgmt.access.models import (
    Action,
    Policy,
    PolicyPostureCheck,
    SetupKey,
    SetupKeyAutoGroup,
)
from meshmgmt.access.rules.policies import RuleDraft
from meshmgmt.access.services.networks import (
    network_resources,
    networks,
    routers,
    routes,
)
from meshmgmt.access.services.policies import policies, posture_checks
from meshmgmt.accesstests.services import access_tests
from meshmgmt.core import clock
from meshmgmt.core.orderedlinks import set_members
from meshmgmt.core.transactions import account_write
from meshmgmt.demo.story import Story


def setup_key(
    story: Story, name: str, kind: str, groups: Sequence[str], limit: int = 0
) -> None:
    # Only the digest of a key is kept; nobody knows the keys of the demo.
    secret = story.random.randbytes(16).hex().upper()
    with account_write():
        key = SetupKey(
            name=name,
            type=kind,
            key_hash=hashlib.sha256(secret.encode()).hexdigest(),
            key_prefix=secret[:4],
            created_at=clock.now(),
            updated_at=clock.now(),
            expires_at=clock.now() + dt.timedelta(days=90),
            usage_limit=limit,
        )
        key.save(force_insert=True)
        set_members(SetupKeyAutoGroup, key, story.group_ids(groups), new=True)
    story.keys[name] = key


def key_revoked(story: Story, name: str) -> None:
    with account_write():
        key = story.keys[name]
        key.refresh_from_db()
        key.revoked = True
        key.save(update_fields=["revoked"])


def policy(
    story: Story,
    name: str,
    sources: Sequence[str],
    destinations: Sequence[str],
    **rule: Any,
) -> None:
    policy_create(
        name=name,
        sources=story.group_ids(sources),
        destinations=story.group_ids(destinations),
        **rule,
    )


def policy_create(
    *,
    name: str,
    sources: list[str],
    destinations: list[str],
    protocol: str = "all",
    ports: Sequence[str] = (),
) -> None:
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
    policies.create({"name": name, "rules": [rule]})


def policy_enabled(story: Story, name: str, enabled: bool) -> None:
    with account_write():
        found = Policy.objects.get(name=name)
        found.enabled = enabled
        found.save(update_fields=["enabled"])


def policy_removed(story: Story, name: str) -> None:
    with account_write():
        Policy.objects.get(name=name).delete()


def posture_check(
    story: Story, name: str, policy: str, checks: dict[str, object]
) -> None:
    with account_write():
        check = posture_checks.create({"name": name, "checks": checks})
        found = Policy.objects.get(name=policy)
        set_members(PolicyPostureCheck, found, [check.pk])


def route(
    story: Story, identifier: str, groups: Sequence[str], peer: str = "", **facts: Any
) -> None:
    values = {
        "network_id": identifier,
        "groups": story.group_ids(groups),
        "peer": story.peers[peer].pk if peer else "",
        "peer_groups": [] if peer else story.group_ids(["Gateways"]),
        "metric": 100,
        "masquerade": True,
    }
    routes.create({**values, **facts})


def network(
    story: Story,
    name: str,
    description: str,
    router: str,
    resources: Sequence[Mapping[str, Any]],
) -> None:
    with account_write():
        made = networks.create({"name": name, "description": description})
        peer = story.peers[router].pk
        forwards = {"peer": peer, "metric": 100, "masquerade": True}
        routers.create(forwards, made.pk)
        for row in resources:
            groups = story.group_ids(row["groups"])
            network_resources.create({**row, "groups": groups}, made.pk)


def access_test(
    story: Story,
    name: str,
    source: str,
    *,
    group: str = "",
    domain: str = "",
    port: int | None = None,
    **facts: Any,
) -> None:
    """Promise that a group reaches another at a TCP port or finds a domain, or never."""
    [sources] = story.group_ids([source])
    values: dict[str, Any] = {
        "name": name,
        "kind": "access" if group else "dns",
        "source_kind": "group",
        "source_ref": sources,
        "destination_kind": "group" if group else "domain",
        "destination_ref": story.group_ids([group])[0] if group else domain,
        "protocol": "tcp" if group else "all",
        "port": port,
    }
    access_tests.create({**values, **facts})


DEEDS: Final = (
    access_test,
    setup_key,
    key_revoked,
    policy,
    policy_enabled,
    policy_removed,
    posture_check,
    route,
    network,
)
