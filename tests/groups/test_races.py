"""Writers that race for a group's name or for the group itself."""

from functools import partial
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
from tests.races import race
from tests.resource_contract import ok

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def token() -> str:
    api = api_as("admin")
    assert api.token is not None
    return api.token


def test_one_of_many_gets_the_name(token: str):
    trail = Trail()

    answers = race(
        [partial(Api(token).post, "/api/groups", {"name": "same"}) for _ in range(6)]
    )

    assert sorted(answer.status for answer in answers) == [200] + [409] * 5
    assert Group.objects.filter(name="same").count() == 1
    assert trail.codes == ["group.add"]


def test_creation_and_renaming_cannot_both_get_the_name(token: str):
    others = [group(), group()]

    answers = race(
        [
            partial(Api(token).post, "/api/groups", {"name": "same"}),
            *(
                partial(Api(token).put, f"/api/groups/{other.pk}", {"name": "same"})
                for other in others
            ),
        ]
    )

    assert sorted(answer.status for answer in answers) == [200, 409, 409]
    assert Group.objects.filter(name="same").count() == 1


def test_a_group_is_deleted_once(token: str):
    gone = group("gone", peer())
    trail = Trail()

    answers = race(
        [partial(Api(token).delete, f"/api/groups/{gone.pk}") for _ in range(4)]
    )

    assert sorted(answer.status for answer in answers) == [200, 404, 404, 404]
    assert trail.codes == ["peer.group.delete", "group.delete"]


def test_members_and_deletion_end_in_one_consistent_state(token: str):
    for _ in range(5):
        gone, member = group(), peer()
        made = rule([gone], [gone])
        trail = Trail()

        deleted, updated = race(
            [
                partial(Api(token).delete, f"/api/groups/{gone.pk}"),
                partial(
                    Api(token).put,
                    f"/api/groups/{gone.pk}",
                    {"name": gone.name, "peers": [member.pk]},
                ),
            ]
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
    token: str, method: str, monkeypatch: pytest.MonkeyPatch
):
    gone, api = group(), Api(token)
    body = policy(rules=[access_rule(sources=[gone.pk])])
    path = "/api/policies"
    if method == "PUT":
        path = f"{path}/{ok(api.post(path, body))['id']}"

    def deleting(*args: Any) -> Any:
        race([partial(Api(token).delete, f"/api/groups/{gone.pk}")])
        return short_groups(*args)

    monkeypatch.setattr("meshmgmt.access.selectors.policies.short_groups", deleting)
    answer = api.call(method, path, body)

    assert answer.status == 200
    assert [each["id"] for each in answer.json["rules"][0]["sources"]] == [gone.pk]
    assert not Group.objects.filter(pk=gone.pk).exists()
