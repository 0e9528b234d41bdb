"""Writers that race for a group's name or for the group itself."""

from typing import Any

import pytest
from django.db import IntegrityError, models, transaction

from events.models import AuditEvent
from groups.models import Group
from groups.references import usages_of
from groups.selectors import short_groups
from meshmgmt.access.models import PolicyRule
from meshmgmt.api.exceptions import describe
from tests.access.bodies import policy
from tests.access.bodies import rule as access_rule
from tests.api_client import Api
from tests.factories import Trail, group, peer, rule
from tests.people import api_as
from tests.races import sent_at_once
from tests.resource_contract import ok

pytestmark = pytest.mark.django_db(transaction=True)
SAME = ("POST", "/api/groups", {"name": "same"})


@pytest.fixture
def api() -> Api:
    return api_as("admin")


def statuses(api: Api, *requests: tuple[str, str, Any]) -> list[int]:
    return sorted(answer.status for answer in sent_at_once(api, *requests))


def test_one_of_many_gets_the_name(api: Api):
    trail = Trail()
    assert statuses(api, *[SAME] * 6) == [200] + [409] * 5
    assert Group.objects.filter(name="same").count() == 1
    assert trail.codes == ["group.add"]


def test_creation_and_renaming_cannot_both_get_the_name(api: Api):
    paths = [f"/api/groups/{group().pk}" for _ in range(2)]
    renamed = [("PUT", path, {"name": "same"}) for path in paths]
    assert statuses(api, SAME, *renamed) == [200, 409, 409]
    assert Group.objects.filter(name="same").count() == 1


def test_a_group_is_deleted_once(api: Api):
    gone = group("gone", peer())
    trail = Trail()
    deletion = ("DELETE", f"/api/groups/{gone.pk}", None)
    assert statuses(api, *[deletion] * 4) == [200, 404, 404, 404]
    assert trail.codes == ["peer.group.delete", "group.delete"]


def test_members_and_deletion_end_in_one_consistent_state(api: Api):
    for _ in range(5):
        gone, member = group(), peer()
        made = rule([gone], [gone])
        path, body = f"/api/groups/{gone.pk}", {"name": gone.name, "peers": [member.pk]}
        trail = Trail()

        deleted, updated = sent_at_once(
            api, ("DELETE", path, None), ("PUT", path, body)
        )

        assert deleted.status == 200
        assert updated.status in {200, 404}
        assert not usages_of(gone.pk)
        assert not PolicyRule.objects.get(pk=made.pk).enabled
        joined = trail.codes.count("peer.group.add")
        assert joined == trail.codes.count("peer.group.delete")
        assert joined == (1 if updated.status == 200 else 0)


def test_constraint_guards_the_name_even_without_the_lock():
    group("same")
    rows: models.QuerySet[Group] = models.QuerySet(Group)

    with pytest.raises(IntegrityError) as caught, transaction.atomic():
        rows.bulk_create([Group(name="same")])

    assert describe(caught.value)[:2] == (409, "a group with this name exists already")
    assert not AuditEvent.objects.filter(target_id="").exists()


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_a_write_is_answered_whatever_is_deleted_while_it_is_read_back(
    api: Api, method: str, monkeypatch: pytest.MonkeyPatch
):
    gone, path = group(), "/api/policies"
    body = policy(rules=[access_rule(sources=[gone.pk])])
    if method == "PUT":
        path = f"{path}/{ok(api.post(path, body))['id']}"

    def deleting(*args: Any) -> Any:
        sent_at_once(api, ("DELETE", f"/api/groups/{gone.pk}", None))
        return short_groups(*args)

    monkeypatch.setattr("meshmgmt.access.selectors.policies.short_groups", deleting)
    answer = api.call(method, path, body)

    assert answer.status == 200
    assert [each["id"] for each in answer.json["rules"][0]["sources"]] == [gone.pk]
    assert not Group.objects.filter(pk=gone.pk).exists()
