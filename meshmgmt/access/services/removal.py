"""What happens to access objects when a peer or a resource they name changes or goes."""

from collections.abc import Iterator, Sequence

from django.db.models import Q

from meshmgmt.access.models import Policy, PolicyRule, Route, Router
from meshmgmt.core import context
from meshmgmt.core.errors import PreconditionFailed
from meshmgmt.inventory import registries

_BATCH = 500


def register() -> None:
    """Let the inventory take peers and resources out of access objects."""
    registries.register_peer_unlinker(take_peers_out)
    registries.register_resource_unlinker(take_resources_out)


def take_peers_out(peer_ids: Sequence[str]) -> None:
    """Let go of peers that are about to be deleted.

    Rules for such a peer alone go, and policies left without rules. Routes lose the peer
    and are disabled. Raises PreconditionFailed for a peer that is a network's router.
    """
    for part in _parts(peer_ids):
        _refuse_routers(part)
        with context.scope(reason="a peer was deleted"):
            _delete_rules(part)
            for route in Route.objects.filter(peer__in=part).order_by("id"):
                route.peer = None
                route.enabled = False
                route.save(update_fields=["peer", "enabled"])


def take_resources_out(resource_ids: Sequence[str]) -> None:
    """Let go of resources that are about to be deleted, as of peers."""
    for part in _parts(resource_ids):
        with context.scope(reason="a resource was deleted"):
            _delete_rules(part)


def retype_rules(resource_id: str, kind: str) -> None:
    """Name a resource in rules by the type it has now."""
    for rule in _rules_for([resource_id]):
        for end in ("source", "destination"):
            if getattr(rule, f"{end}_resource_id") == resource_id:
                setattr(rule, f"{end}_resource_type", kind)
        rule.save()


def _parts(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(ids), _BATCH):
        yield ids[start : start + _BATCH]


def _refuse_routers(peer_ids: Sequence[str]) -> None:
    router = Router.objects.filter(peer__in=peer_ids).order_by("id").first()
    if router is not None:
        raise PreconditionFailed(
            f"peer {router.peer_id!r} is linked to a network router: {router.pk}"
        )


def _rules_for(ids: Sequence[str]) -> list[PolicyRule]:
    ends = Q(source_resource_id__in=ids) | Q(destination_resource_id__in=ids)
    return list(PolicyRule.objects.filter(ends).order_by("id"))


def _delete_rules(ids: Sequence[str]) -> None:
    rules = _rules_for(ids)
    if not rules:
        return
    policies = {rule.policy_id for rule in rules}
    for rule in rules:
        rule.delete()
    for policy in Policy.objects.filter(pk__in=policies, rules=None).order_by("id"):
        policy.delete()
