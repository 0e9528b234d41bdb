"""Deeds about what the API has resources for, made, changed and deleted by their names."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from django.db import models

from dns.models import Record
from dns.services.nameservers import dns_settings_update, nameserver_groups
from dns.services.zones import records, zones
from groups.models import Group
from meshmgmt.access.models import Action, PostureCheck
from meshmgmt.access.rules.policies import RuleDraft
from meshmgmt.access.services.enrolment import setup_keys
from meshmgmt.access.services.networks import (
    network_resources,
    networks,
    routers,
    routes,
)
from meshmgmt.access.services.policies import policies, posture_checks
from meshmgmt.accesstests.services import access_tests
from meshmgmt.core.resources import Resource, Row
from meshmgmt.demo.story import Story
from meshmgmt.inventory.models import Peer

_RESOURCES: Final[tuple[Resource[Any], ...]] = (
    *(zones, records, nameserver_groups, setup_keys, policies, posture_checks),
    *(routes, networks, network_resources, routers, access_tests),
)
_OF_GROUPS: Final = (
    *("groups", "peer_groups", "auto_groups", "distribution_groups"),
    *("disabled_management_groups", "sources", "destinations"),
    *("source_ref", "destination_ref"),
)
_NAMED: Final[Mapping[str, type[models.Model]]] = {
    **dict.fromkeys(_OF_GROUPS, Group),
    "peer": Peer,
    "source_posture_checks": PostureCheck,
}


def with_ids(values: Mapping[str, Any]) -> Row:
    """Return values with ids where they name groups, peers and posture checks."""
    return {
        key: ids_of(_NAMED[key], value) if key in _NAMED else value
        for key, value in values.items()
    }


def ids_of(model: type[models.Model], names: Any) -> Any:
    """Return the id of what has a name, or the ids of those that have names."""
    if not isinstance(names, str):
        return [ids_of(model, name) for name in names]
    found = model._default_manager.filter(name=names).first()
    # A domain is no name of a group; of anything else the rules say that it is not there.
    return found.pk if found else names


def _made(
    resource: Resource[Any], story: Story, within: str = "", **values: Any
) -> None:
    whole = _named(resource.whole, within).pk if resource.whole else ""
    resource.create(with_ids(values), whole)


def _changed(resource: Resource[Any], story: Story, name: str, **values: Any) -> None:
    resource.update(_named(resource, name).pk, with_ids(values))


def _removed(resource: Resource[Any], story: Story, name: str, **more: str) -> None:
    resource.delete(_named(resource, name, **more).pk)


def _named(resource: Resource[Any], name: str, **more: str) -> Any:
    return resource.model._default_manager.get(name=name, **more)


def policy(story: Story, name: str, **rule: Any) -> None:
    policy_create(name, **with_ids(rule))


def policy_create(name: str, *, protocol: str = "all", **rule: Any) -> None:
    """Add a policy with one rule that accepts; it has groups (ids) at its ends."""
    draft = RuleDraft(name, Action.ACCEPT, protocol, bidirectional=True, **rule)
    policies.create({"name": name, "rules": [draft]})


def dns_settings(story: Story, **settings: Any) -> None:
    dns_settings_update(**with_ids(settings))


def ttl_changed(story: Story, zone: str, pick: float, ttl: int) -> None:
    """Give one of the records another time to live; `pick`, 0 to 1, says which."""
    # A share, for how many there will be is not known when it is planned.
    known = Record.objects.filter(zone__name=zone).order_by("id")
    records.update(known[int(pick * known.count())].pk, {"ttl": ttl})


DEEDS: Final[Mapping[str, Callable[..., None]]] = {
    **{
        resource.kind.replace(" ", "_") + ending: partial(deed, resource)
        for resource in _RESOURCES
        for ending, deed in (
            ("", _made),
            ("_changed", _changed),
            ("_removed", _removed),
        )
    },
    "policy": policy,
    "dns_settings": dns_settings,
}
