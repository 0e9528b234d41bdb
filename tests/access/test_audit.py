"""What changes of access objects leave in the audit trail."""

from typing import Any

import pytest

from events.audit.audited import AuditedModel
from groups.models import Group, GroupLink
from meshmgmt.access import models as access
from meshmgmt.core import clock
from meshmgmt.core.orderedlinks import OrderedLink, set_members
from meshmgmt.core.transactions import account_write
from meshmgmt.inventory.models import Network
from tests.mesh import Trail, group, peer, rule
from tests.people import person

pytestmark = pytest.mark.django_db


def stored(model: type[AuditedModel], **facts: Any) -> Any:
    """Store an object."""
    made = model(**facts)
    made.save()
    return made


def test_policy_and_its_rules_have_events_of_their_own() -> None:
    trail = Trail()
    policy = stored(access.Policy, name="office")
    made = stored(access.PolicyRule, policy=policy, name="web")
    check = stored(access.PostureCheck, name="new clients")

    assert trail.targets == [
        ("policy.add", policy.pk),
        ("policy.update", policy.pk),
        ("rule.add", made.pk),
        ("posture.check.create", check.pk),
    ]
    assert trail.events[0].meta == {"name": "office"}
    assert trail.events[2].meta == {
        "name": "web",
        "policy_id": policy.pk,
        "policy_name": "office",
    }


def test_change_of_a_rule_is_one_event_of_it_and_one_of_its_policy() -> None:
    one, two = group("one"), group("two")
    made = rule([one], [two])
    trail = Trail()

    with account_write():
        again = access.PolicyRule.objects.get(pk=made.pk)
        again.ports = ["443"]
        again.protocol = "tcp"
        again.save()
        set_members(access.RuleSource, again, [one.pk, two.pk])
        set_members(access.RuleAuthorizedGroup, again, [(one.pk, "root\nadmin")])

    assert trail.targets == [
        ("policy.update", made.policy_id),
        ("rule.update", made.pk),
    ]
    assert trail.events[0].changes == {
        "rules": {"added": [], "removed": [], "changed": [made.pk]}
    }
    assert trail.events[1].changes == {
        "protocol": {"before": "all", "after": "tcp"},
        "ports": {"before": [], "after": ["443"]},
        "sources": {"added": [two.pk], "removed": []},
        "authorized_groups": {"added": [[one.pk, "root\nadmin"]], "removed": []},
    }


def test_posture_checks_belong_to_their_policy() -> None:
    policy = stored(access.Policy, name="office")
    check = stored(access.PostureCheck, name="new clients")
    trail = Trail()

    set_members(access.PolicyPostureCheck, policy, [check.pk])

    assert trail.targets == [("policy.update", policy.pk)]


def test_deleting_a_policy_reports_its_rules_first() -> None:
    made = rule([group()], [group()])
    ids = (made.pk, made.policy.pk)
    trail = Trail()

    made.policy.delete()

    assert trail.targets == [("rule.delete", ids[0]), ("policy.delete", ids[1])]
    assert trail.events[0].meta["policy_name"] == made.policy.name


def test_route_is_described_with_all_it_serves() -> None:
    gate, team = peer("gate"), group("team")
    trail = Trail()
    with account_write():
        route = stored(
            access.Route, network_id="office", network="10.0.0.0/8", peer=gate
        )
        set_members(access.RoutePeerGroup, route, [team.pk], new=True)

    assert trail.targets == [("route.add", route.pk)]
    assert trail.events[0].meta == {
        "name": "office",
        "network_range": "10.0.0.0/8",
        "domains": "",
        "peer_id": gate.pk,
        "peer_groups": team.pk,
    }


@pytest.mark.parametrize(
    "link",
    [access.RouteGroup, access.RoutePeerGroup, access.RouteAccessControlGroup],
    ids=lambda link: link.relation,
)
def test_change_of_any_list_of_a_route_is_a_change_of_the_route(
    link: type[GroupLink],
) -> None:
    route = stored(access.Route, network_id="office")
    trail = Trail()

    set_members(link, route, [group().pk])

    assert trail.codes[-1] == "route.update"


def test_deleting_a_network_reports_its_routers_first() -> None:
    network = stored(Network, name="lab")
    gate = peer("gate")
    router = stored(access.Router, network=network, peer=gate)
    ids = (router.pk, network.pk)
    trail = Trail()

    network.delete()

    assert trail.targets == [
        ("network.router.delete", ids[0]),
        ("network.delete", ids[1]),
    ]
    assert trail.events[0].meta == {
        "network_name": "lab",
        "network_id": ids[1],
        "peer": gate.pk,
        "peer_groups": "",
        "reason": "network 'lab' was deleted",
    }


def key(**facts: Any) -> Any:
    """Store a setup key."""
    return stored(
        access.SetupKey, name="key", key_hash="f" * 64, key_prefix="ABCDE", **facts
    )


def test_setup_key_never_shows_its_hash() -> None:
    trail = Trail()

    made = key()

    assert trail.targets == [("setupkey.add", made.pk)]
    assert trail.events[0].meta == {
        "name": "key",
        "type": "reusable",
        "key": "ABCDE****",
    }
    assert trail.events[0].changes["key_hash"] == {"before": None, "after": "changed"}


@pytest.mark.parametrize(
    ("name", "value", "codes"),
    [
        ("revoked", True, ["setupkey.revoke"]),
        ("name", "other", ["setupkey.update"]),
        ("usage_limit", 5, ["setupkey.update"]),
        ("used_times", 1, []),
        ("last_used", clock.now(), []),
    ],
)
def test_change_of_a_setup_key_has_its_code(
    name: str, value: Any, codes: list[str]
) -> None:
    made = key()
    trail = Trail()

    setattr(made, name, value)
    made.save()

    assert trail.codes == codes


def user_list(groups: list[Group]) -> tuple[type[OrderedLink], Any, str]:
    """Return a user with these auto-groups."""
    owner = person("user")
    set_members(access.UserAutoGroup, owner, [entry.pk for entry in groups])
    return access.UserAutoGroup, owner, "user"


def key_list(groups: list[Group]) -> tuple[type[OrderedLink], Any, str]:
    """Return a setup key with these auto-groups."""
    owner = key()
    set_members(access.SetupKeyAutoGroup, owner, [entry.pk for entry in groups])
    return access.SetupKeyAutoGroup, owner, "setupkey"


@pytest.mark.parametrize("made", [user_list, key_list])
def test_auto_groups_have_one_event_each(made: Any) -> None:
    one, two, three = group("one"), group("two"), group("three")
    link, owner, kind = made([one, two])
    trail = Trail()

    set_members(link, owner, [two.pk, three.pk])
    assert trail.targets == [
        (f"{kind}.group.delete", owner.pk),
        (f"{kind}.group.add", owner.pk),
    ]
    assert trail.events[0].meta["group"] == "one"
    assert trail.events[0].meta["group_id"] == one.pk

    trail = Trail()
    set_members(link, owner, [three.pk, two.pk])
    assert trail.codes == [f"{kind}.update"]


def test_invite_is_told_by_its_address() -> None:
    trail = Trail()
    invite = stored(
        access.Invite, email="new@mesh.dev", token_hash="e" * 64, expires_at=clock.now()
    )
    invite.token_hash = "d" * 64
    invite.save()
    set_members(access.InviteAutoGroup, invite, [group().pk])
    invite.delete()

    assert [code for code in trail.codes if code.startswith("user.")] == [
        "user.invite.link.create",
        "user.invite.link.regenerate",
        "user.invite.link.update",
        "user.invite.link.delete",
    ]
    assert trail.events[0].meta == {"email": "new@mesh.dev"}
