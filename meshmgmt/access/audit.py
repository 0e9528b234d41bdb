"""Which activities changes of access objects emit."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from events.activities import Activity
from events.audit import specs
from events.audit.changes import Change, objects_by_id, related_object
from events.audit.specs import MemberEvent, MemberRule, Meta, written
from groups.models import Group
from meshmgmt.access import models
from meshmgmt.accounts.models import User
from meshmgmt.core.orderedlinks import member_keys

Describe = Callable[[Any, Sequence[Any]], Mapping[Any, MemberEvent]]


def register() -> None:
    specs.register(
        written(models.PostureCheck, "posture.check", meta=_named),
        written(models.Policy, "policy", "source_posture_checks", meta=_named),
        written(
            models.PolicyRule,
            "rule",
            *("sources", "destinations", "authorized_groups"),
            # Clients of the reference hear of rules by `policy.update` alone.
            part_of=("policy", "rules"),
            meta=_rule_meta,
        ),
        written(
            models.Route,
            "route",
            *("groups", "peer_groups", "access_control_groups"),
            meta=_route_meta,
        ),
        written(models.Router, "network.router", "peer_groups", meta=_router_meta),
    )
    _register_enrolment()


def _named(instance: Any) -> Meta:
    return {"name": instance.name}


def _rule_meta(rule: models.PolicyRule) -> Meta:
    policy = related_object(rule, "policy")
    return {
        "name": rule.name,
        "policy_id": rule.policy_id,
        "policy_name": policy.name if policy else "",
    }


def _route_meta(route: models.Route) -> Meta:
    return {
        "name": route.network_id,
        "network_range": route.network,
        "domains": route.domains,
        "peer_id": route.peer_id or "",
        "peer_groups": member_keys(models.RoutePeerGroup, route),
    }


def _router_meta(router: models.Router) -> Meta:
    network = related_object(router, "network")
    return {
        "network_name": network.name if network else "",
        "network_id": router.network_id,
        "peer": router.peer_id or "",
        "peer_groups": member_keys(models.RouterPeerGroup, router),
    }


def _register_enrolment() -> None:
    specs.register(
        written(
            models.SetupKey,
            "setupkey",
            fields={
                "revoked": specs.switched(
                    "revoked", Activity.SETUPKEY_REVOKE, Activity.SETUPKEY_UPDATE
                )
            },
            # A use has an event already: that of the peer that the key let in.
            unaudited=frozenset({"used_times", "last_used", "updated_at"}),
            secret=frozenset({"key_hash"}),
            random=frozenset({"key_prefix"}),
            meta=lambda key: {"name": key.name, "type": key.type, "key": key.masked},
            members={
                "auto_groups": MemberRule(
                    added=Activity.SETUPKEY_GROUP_ADD,
                    removed=Activity.SETUPKEY_GROUP_DELETE,
                    reordered=Activity.SETUPKEY_UPDATE,
                    describe=_describe_groups(lambda key: {"setupkey": key.name}),
                )
            },
        )
    )
    # The spec of users is that of a room below, which knows of no groups.
    specs.register_members(
        User,
        "auto_groups",
        MemberRule(
            added=Activity.USER_GROUP_ADD,
            removed=Activity.USER_GROUP_DELETE,
            reordered=Activity.USER_UPDATE,
            describe=_describe_groups(_of_user),
        ),
    )
    specs.register(
        specs.AuditSpec(
            model=models.Invite,
            created=Activity.USER_INVITE_LINK_CREATE,
            # Of an invite that waits nothing changes but its link.
            updated=Activity.USER_INVITE_LINK_REGENERATE,
            deleted=Activity.USER_INVITE_LINK_DELETE,
            fields={"accepted_by": Activity.USER_INVITE_LINK_ACCEPT},
            secret=frozenset({"token_hash"}),
            random=frozenset({"token_prefix"}),
            meta=lambda invite: {"email": invite.email},
            update_meta=_invite_meta,
            target=_invite_target,
            members={"auto_groups": MemberRule(owner=Activity.USER_INVITE_LINK_UPDATE)},
        )
    )


def _invite_meta(change: Change, activity: str) -> Meta:
    invite: Any = change.instance
    if activity == Activity.USER_INVITE_LINK_ACCEPT:
        return {"email": invite.email, "username": invite.name}
    return {"email": invite.email}


def _invite_target(change: Change, activity: str) -> str:
    """Return the user who came by the invite, else the invite."""
    accepted = activity == Activity.USER_INVITE_LINK_ACCEPT
    return str(change.after["accepted_by"] if accepted else change.pk)


def _of_user(user: User) -> Meta:
    return {
        "is_service_user": user.is_service_user,
        "user_name": user.name,
        "email": user.email,
        "username": user.name,
    }


def _describe_groups(facts: Callable[[Any], Meta]) -> Describe:
    """Return a describer of groups that an owner's list gained or lost."""

    def describe(owner: Any, keys: Sequence[str]) -> Mapping[Any, MemberEvent]:
        return {
            pk: MemberEvent(
                target_id=str(owner.pk),
                target_type=owner._meta.model_name,
                meta={"group": group.name, "group_id": pk, **facts(owner)},
            )
            for pk, group in objects_by_id(Group, keys).items()
        }

    return describe
