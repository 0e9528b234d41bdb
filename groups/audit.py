"""Which activities changes of groups emit."""

from collections.abc import Mapping, Sequence
from typing import Any

from events.activities import Activity
from events.audit import specs
from events.audit.changes import Change, facts_by_id, objects_by_id
from events.audit.specs import MemberEvent, MemberRule, Meta, written
from groups.models import Group
from groups.rules import ResourceKey
from meshmgmt.inventory.audit import under_domain
from meshmgmt.inventory.models import NetworkResource, Peer


def register() -> None:
    specs.register(
        written(
            Group,
            "group",
            meta=lambda group: {"name": group.name},
            update_meta=_update_meta,
            members={
                "peers": MemberRule(
                    reordered=Activity.GROUP_ORDER_UPDATE,
                    added=Activity.PEER_GROUP_ADD,
                    removed=Activity.PEER_GROUP_DELETE,
                    describe=_describe_peers,
                    identify=_group_and_peer,
                ),
                "resources": MemberRule(
                    reordered=Activity.GROUP_ORDER_UPDATE,
                    added=Activity.RESOURCE_GROUP_ADD,
                    removed=Activity.RESOURCE_GROUP_DELETE,
                    describe=_describe_resources,
                    identify=_group_and_resource,
                ),
            },
        )
    )


def _update_meta(change: Change, activity: str) -> Meta:
    name = getattr(change.instance, "name", "")
    if activity == Activity.GROUP_ORDER_UPDATE:
        return {"name": name}
    return {"old_name": change.before.get("name", name), "new_name": name}


def _describe_peers(group: Group, keys: Sequence[str]) -> Mapping[Any, MemberEvent]:
    fqdn = under_domain()
    return {
        pk: MemberEvent(
            target_id=pk,
            target_type="peer",
            meta={
                "group": group.name,
                "group_id": group.pk,
                "peer_ip": ip,
                "peer_fqdn": fqdn(label),
            },
        )
        for pk, (ip, label) in facts_by_id(Peer, keys, "ip", "dns_label").items()
    }


def _group_and_peer(event: Any) -> tuple[str, str]:
    return event.meta.get("group_id", ""), event.target_id


def _describe_resources(
    group: Group, keys: Sequence[ResourceKey]
) -> Mapping[Any, MemberEvent]:
    """Describe resources; one that nobody knows has an empty name."""
    names = resource_names(keys)
    return {
        key: MemberEvent(
            target_id=group.pk,
            target_type="group",
            meta={
                "name": group.name,
                "id": group.pk,
                "resource_name": names.get(key, ""),
                "resource_id": key[0],
                "resource_type": key[1],
            },
        )
        for key in keys
    }


def _group_and_resource(event: Any) -> tuple[str, ResourceKey]:
    told = event.meta
    return event.target_id, (told.get("resource_id", ""), told.get("resource_type", ""))


def resource_names(keys: Sequence[ResourceKey]) -> dict[ResourceKey, str]:
    """Return the names of the resources (id, type) that are known."""
    peers = objects_by_id(Peer, [pk for pk, kind in keys if kind == "peer"])
    others = objects_by_id(NetworkResource, [pk for pk, kind in keys if kind != "peer"])
    names: dict[ResourceKey, str] = {}
    for key in keys:
        known = peers.get(key[0]) if key[1] == "peer" else others.get(key[0])
        if known is not None:
            names[key] = known.name
    return names
