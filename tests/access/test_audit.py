"""What changes of access objects leave in the audit trail."""

from typing import Any

import pytest

from events.audit.audited import AuditedModel
from groups.models import GroupLink
from meshmgmt.access import models as access
from meshmgmt.core import clock
from meshmgmt.core.orderedlinks import OrderedLink, set_members
from meshmgmt.core.transactions import account_write
from tests.factories import Trail, changed, group, rule
from tests.people import person

pytestmark = pytest.mark.django_db


def stored(model: type[AuditedModel], **facts: Any) -> Any:
    made = model(**facts)
    made.save()
    return made


def test_change_of_a_rule_is_one_event_of_it_and_one_of_its_policy():
    one, two = group("one"), group("two")
    made = rule([one], [two])
    trail = Trail()

    with account_write():
        again = access.PolicyRule.objects.get(pk=made.pk)
        changed(again, ports=["443"], protocol="tcp")
        set_members(access.RuleSource, again, [one.pk, two.pk])
        set_members(access.RuleAuthorizedGroup, again, [(one.pk, "root\nadmin")])

    updated = [("policy.update", made.policy_id), ("rule.update", made.pk)]
    assert trail.targets == updated
    changes = {"added": [], "removed": [], "changed": [made.pk]}
    assert trail.events[0].changes == {"rules": changes}
    assert trail.events[1].changes == {
        "protocol": {"before": "all", "after": "tcp"},
        "ports": {"before": [], "after": ["443"]},
        "sources": {"added": [two.pk], "removed": []},
        "authorized_groups": {"added": [[one.pk, "root\nadmin"]], "removed": []},
    }


@pytest.mark.parametrize(
    "link",
    [access.RouteGroup, access.RoutePeerGroup, access.RouteAccessControlGroup],
    ids=lambda link: link.relation,
)
def test_change_of_any_list_of_a_route_is_a_change_of_the_route(link: type[GroupLink]):
    route = stored(access.Route, network_id="office")
    trail = Trail()

    set_members(link, route, [group().pk])

    assert trail.codes[-1] == "route.update"


def key(**facts: Any) -> Any:
    return stored(
        access.SetupKey, name="key", key_hash="f" * 64, key_prefix="ABCDE", **facts
    )


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
def test_change_of_a_setup_key_has_its_code(name: str, value: Any, codes: list[str]):
    made = key()
    trail = Trail()

    setattr(made, name, value)
    made.save()

    assert trail.codes == codes


@pytest.mark.parametrize("kind", ["user", "setupkey"])
def test_new_order_of_auto_groups_is_an_event_of_its_own(kind: str):
    one, two = group("one").pk, group("two").pk
    link: type[OrderedLink] = access.UserAutoGroup
    owner: Any = person("user") if kind == "user" else key()
    if kind == "setupkey":
        link = access.SetupKeyAutoGroup
    set_members(link, owner, [one, two])
    trail = Trail()
    set_members(link, owner, [two, one])
    assert trail.codes == [f"{kind}.update"]
