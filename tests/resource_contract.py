"""What every resource of the API promises, as tests that a resource's test class inherits.

A subclass names the path, a valid body, the role table's module and the audit codes; the
name of the class must begin with `Test`.
"""

from typing import Any, ClassVar

import pytest
from django.apps import apps
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework import serializers

from meshmgmt.accounts.models import AccessToken
from meshmgmt.backup.tables import tables
from meshmgmt.core.ids import new_id
from meshmgmt.core.roles import Operation, Role, allowed
from tests.api_client import Answer, Api
from tests.mesh import Trail
from tests.people import api_as

__all__ = ["Body", "ReplacedResourceContract", "ResourceContract", "Trail", "ok"]

Body = dict[str, Any]


def ok(answer: Answer) -> Any:
    """Return the body of a successful answer."""
    assert answer.status == 200, answer.json
    return answer.json


def stored() -> dict[str, list[bytes]]:
    """Return everything that is in the database, but when tokens were used last."""
    return {
        table.name: list(table.lines())
        for table in tables(apps)
        if table.model is not AccessToken
    }


@pytest.mark.django_db
class ReplacedResourceContract:
    """Creates, reads, replaces and deletes one kind of object over HTTP."""

    path: ClassVar[str]
    module: ClassVar[str]
    required: ClassVar[tuple[str, ...]]
    serializer: ClassVar[type[serializers.BaseSerializer[Any]]]
    created_codes: ClassVar[tuple[str, ...]]
    deleted_codes: ClassVar[tuple[str, ...]]
    updates: ClassVar[dict[str, Any]] = {"description": "another text"}
    """A change of one field; the answer shows it as sent."""

    def make_path(self) -> str:
        """Return the path of the collection; override where it depends on others."""
        return self.path

    def body(self, number: int = 1) -> Body:
        """Return a valid body; another number makes another object."""
        raise NotImplementedError

    @pytest.fixture
    def where(self, db: None) -> str:
        """The path of the collection."""
        return self.make_path()

    def make(self, api: Api, where: str, number: int = 1) -> Body:
        """Create an object."""
        made: Body = ok(api.post(where, self.body(number)))
        return made

    def readable(self, made: Body) -> Body:
        """Return what reading shows of an object that creation returned."""
        return made

    def test_created_object_is_returned_as_it_will_be_read(
        self, api: Api, where: str
    ) -> None:
        made = self.readable(self.make(api, where))
        assert ok(api.get(f"{where}/{made['id']}")) == made
        assert made in ok(api.get(where))

    def test_answer_fits_the_documented_schema(self, api: Api, where: str) -> None:
        made = self.readable(self.make(api, where))
        fields = self.serializer().fields  # type: ignore[attr-defined]
        assert set(made) <= set(fields)
        assert {name for name, field in fields.items() if field.required} <= set(made)

    def test_list_is_in_order_of_creation(self, api: Api, where: str) -> None:
        before = [entry["id"] for entry in ok(api.get(where))]
        made = [self.make(api, where, number)["id"] for number in (3, 1, 2)]
        assert [entry["id"] for entry in ok(api.get(where))] == [*before, *made]

    def test_sending_back_what_was_read_changes_nothing(
        self, api: Api, where: str
    ) -> None:
        made = self.readable(self.make(api, where))
        trail = Trail()
        assert ok(api.put(f"{where}/{made['id']}", made)) == made
        assert trail.codes == []

    def test_each_required_field_is_asked_for(self, api: Api, where: str) -> None:
        for name in self.required:
            body = self.body()
            del body[name]
            trail = Trail()
            answer = api.post(where, body)
            assert answer.status == 422, name
            assert list(answer.fields) == [name]
            assert trail.codes == []

    def test_wrong_json_types_are_400(self, api: Api, where: str) -> None:
        for name in self.body():
            answer = api.post(where, self.body() | {name: 1.5})
            assert answer.status == 400, name
            assert next(iter(answer.fields)).startswith(name)

    def test_creation_and_deletion_are_audited(self, api: Api, where: str) -> None:
        self.body()  # what the body refers to is made before
        trail = Trail()
        made = self.make(api, where)
        assert trail.codes == list(self.created_codes)
        assert made["id"] in {target for _, target in trail.targets}
        trail = Trail()
        assert ok(api.delete(f"{where}/{made['id']}")) == {}
        assert trail.codes == list(self.deleted_codes)
        assert api.get(f"{where}/{made['id']}").status == 404

    def test_version_changes_with_what_is_read_and_only_then(
        self, api: Api, where: str
    ) -> None:
        made = self.readable(self.make(api, where))
        one = f"{where}/{made['id']}"
        for path in (one, where):
            first = api.get(path).headers["ETag"]
            assert api.get(path).headers["ETag"] == first
            unchanged = {"If-None-Match": first}
            assert api.get(path, **unchanged).status == 304
            put = api.put(one, made)
            assert api.get(path, **unchanged).status == 304
            assert put.headers["ETag"] == api.get(one).headers["ETag"]
        before = [api.get(path).headers["ETag"] for path in (one, where)]
        api.put(one, made | self.updates)
        for path, first in zip((one, where), before, strict=True):
            assert api.get(path, **{"If-None-Match": first}).status == 200
            assert api.get(path).headers["ETag"] != first

    def test_stale_version_refuses_a_write(self, api: Api, where: str) -> None:
        made = self.readable(self.make(api, where))
        one = f"{where}/{made['id']}"
        old = {"If-Match": api.get(one).headers["ETag"]}
        now = {"If-Match": api.put(one, made | self.updates, **old).headers["ETag"]}
        trail = Trail()
        for answer in (api.put(one, made, **old), api.delete(one, **old)):
            assert answer.status == 412, answer.json
            assert answer.headers["ETag"] == now["If-Match"]
        assert trail.codes == []
        assert api.put(one, made, **now).status == 200

    def test_plan_is_what_the_write_then_does(self, api: Api, where: str) -> None:
        body = self.body()
        made = self.readable(self.make(api, where, 2))
        one = f"{where}/{made['id']}"
        for method, path, sent in (
            (api.post, where, body),
            (api.put, one, made | self.updates),
            (api.delete, one, None),
        ):
            before = stored()
            planned = ok(method(f"{path}?dry_run=true", *filter(None, [sent])))
            assert stored() == before
            trail = Trail()
            guard = {"X-Plan-Hash": planned["plan_hash"]}
            done = method(path, *filter(None, [sent]), **guard)
            assert done.status == 200, done.json
            codes = [event["activity_code"] for event in planned["plan"]["events"]]
            assert trail.codes == codes != []

    def test_unknown_ids_are_404(self, api: Api, where: str) -> None:
        for identifier in (new_id(), "x", "%00", "0" * 21):
            one = f"{where}/{identifier}"
            for answer in (api.get(one), api.put(one, self.body()), api.delete(one)):
                assert answer.status == 404
                assert "not found" in answer.json["message"]

    @pytest.mark.parametrize("role", list(Role))
    def test_role_decides_before_the_body_is_read(self, where: str, role: str) -> None:
        made = self.make(api_as("owner"), where)
        caller = api_as(role)
        one = f"{where}/{made['id']}"
        for operation, answer in (
            (Operation.READ, caller.get(where)),
            (Operation.READ, caller.get(one)),
            (Operation.CREATE, caller.post(where, b"no json")),
            (Operation.UPDATE, caller.put(one, b"no json")),
            (Operation.DELETE, caller.delete(one)),
        ):
            if not allowed(role, self.module, operation):
                assert answer.status == 403
            else:
                writes = operation in {Operation.CREATE, Operation.UPDATE}
                assert answer.status == (400 if writes else 200)

    def test_number_of_queries_does_not_depend_on_the_data(
        self, api: Api, where: str
    ) -> None:
        self.make(api, where, 1)
        ok(api.get("/api/users/current"))  # the token's last use is stored now
        counts = []
        for numbers in ((), range(2, 21)):
            for number in numbers:
                self.make(api, where, number)
            with CaptureQueriesContext(connection) as queries:
                ok(api.get(where))
            counts.append(len(queries))
        assert counts[0] == counts[1]


class ResourceContract(ReplacedResourceContract):
    """Changes of the object what a body names, and leaves the rest as it is."""

    def test_absent_fields_keep_their_value(self, api: Api, where: str) -> None:
        made = self.readable(self.make(api, where))
        trail = Trail()
        assert ok(api.put(f"{where}/{made['id']}", {})) == made
        assert trail.codes == []
        assert ok(api.put(f"{where}/{made['id']}", self.updates)) == made | self.updates
        assert len(trail.codes) == 1
