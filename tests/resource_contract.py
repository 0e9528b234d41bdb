"""What every resource of the API promises, as tests that a resource's test class inherits.

A subclass names the path, a valid body, what is refused and the audit codes; its name must
begin with `Test`. Who may do what, and that answers have the documented form, is tested for
all endpoints at once in `tests/contract`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

import pytest
from django.apps import apps

from meshmgmt.accounts.models import AccessToken
from meshmgmt.accounts.tokens import token_hash
from meshmgmt.backup.schema import tables
from tests.api_client import Answer, Api
from tests.factories import Trail
from tests.queries import asking

__all__ = [
    "ABSENT",
    "TAKEN",
    "Answered",
    "Body",
    "Change",
    "CreatedResourceContract",
    "Fault",
    "ReplacedResourceContract",
    "ResourceContract",
    "SecretContract",
    "Trail",
    "ok",
    "refusal",
]

Body = dict[str, Any]
Fault = tuple[Body, int, str, str]
"""A change of a valid body; status, field and words of the answer that refuses it."""
Answered = tuple[Body, Body]
"""What is sent to create an object, and what the answer shows beside it."""
Change = tuple[Body, Body, Sequence[str] | Mapping[str, Body | None]]
"""What is sent, what is shown beside it, and the codes of the events, with their words."""
TAKEN: Final = 8
ABSENT: Final = object()
"""In place of a value: the answer does not have the field."""


def ok(answer: Answer) -> Any:
    """Return the body of a successful answer."""
    assert answer.status == 200, answer.json
    return answer.json


def refusal(answer: Answer, status: int) -> str:
    """Return the message of an answer that refuses with a status."""
    assert answer.status == status, answer.json
    return str(answer.json["message"])


def present(body: Body) -> Body:
    return {name: value for name, value in body.items() if value is not ABSENT}


def stored() -> dict[str, list[bytes]]:
    """Return everything that is in the database, but when tokens were used last."""
    return {
        table.name: list(table.lines())
        for table in tables(apps)
        if table.model is not AccessToken
    }


@pytest.mark.django_db
class CreatedResourceContract:
    """Creates, lists and deletes one kind of object over HTTP."""

    path: ClassVar[str]
    required: ClassVar[tuple[str, ...]]
    created_codes: ClassVar[tuple[str, ...]]
    deleted_codes: ClassVar[tuple[str, ...]]
    read_by_id: ClassVar[bool] = True
    filled_in: ClassVar[frozenset[str]] = frozenset({"id"})
    """Fields of an answer that nobody sends and no example tells."""
    most_queries: ClassVar[int] = 10
    """Of reading a list, whatever its length."""

    def make_path(self) -> str:
        """Return the path of the collection; override where it depends on others."""
        return self.path

    def body(self, number: int = 1) -> Body:
        """Return a valid body; another number makes another object."""
        raise NotImplementedError

    def answered(self) -> Iterable[Answered]:
        """Return examples of bodies; an answer has the fields that are named, no more."""
        return ()

    def told(self, made: Body) -> dict[str, Body]:
        """Return what events of creation and deletion say, by their codes."""
        return {}

    def refused(self) -> Iterable[Fault]:
        """Return what no write may say; the values of body number `TAKEN` are taken."""
        return ()

    def faulty_writes(self, api: Api, where: str, made: Body) -> Callable[[Body], Any]:
        """Return how to send a faulty change, on each way that there is."""
        return lambda changes: [api.post(where, self.body() | changes)]

    @pytest.fixture
    def where(self, db: None) -> str:
        """The path of the collection."""
        return self.make_path()

    def create(self, api: Api, where: str, body: Body) -> Body:
        """Create an object of a body."""
        made: Body = ok(api.post(where, body))
        return made

    def make(self, api: Api, where: str, number: int = 1) -> Body:
        """Create an object."""
        return self.create(api, where, self.body(number))

    def readable(self, made: Body) -> Body:
        """Return what reading shows of an object that creation returned."""
        return made

    def as_sent(self, made: Body) -> Body:
        """Return an answer in the words of a body, where they differ."""
        return made

    def meant(self, made: Body) -> Body:
        """Return what an answer shows of what was meant."""
        shown = self.as_sent(made).items()
        return {name: value for name, value in shown if name not in self.filled_in}

    def check_kept(self, api: Api, one: str, made: Body) -> None:
        """Check that the object is what its creation answered."""
        assert ok(api.get(one)) == made

    def target(self, made: Body) -> str:
        """Return the target of the events of an object."""
        return str(made["id"])

    def targets(self, trail: Trail) -> set[str]:
        """Return the targets of the events that are about objects of this kind."""
        kind = self.created_codes[0].partition(".")[0]
        return {target for code, target in trail.targets if code.startswith(kind)}

    def writes(self, where: str, made: Body) -> list[tuple[str, str, Body | None]]:
        """Return a valid write of each kind: method, path and body."""
        return [
            ("POST", where, self.body()),
            ("DELETE", f"{where}/{made['id']}", None),
        ]

    def test_created_object_is_returned_as_it_will_be_read(self, api: Api, where: str):
        made = self.readable(self.make(api, where))
        if self.read_by_id:
            assert ok(api.get(f"{where}/{made['id']}")) == made
        assert made in ok(api.get(where))

    def test_answer_shows_what_was_sent_and_what_it_means(self, api: Api, where: str):
        for body, beside in self.answered():
            made = self.readable(self.create(api, where, body))
            assert self.meant(made) == present(body | beside), body
            one = f"{where}/{made['id']}"
            if self.read_by_id:
                self.check_kept(api, one, made)
            ok(api.delete(one))

    def test_list_is_in_order_of_creation(self, api: Api, where: str):
        before = [entry["id"] for entry in ok(api.get(where))]
        made = [self.make(api, where, number)["id"] for number in (3, 1, 2)]
        assert [entry["id"] for entry in ok(api.get(where))] == [*before, *made]

    def test_each_required_field_is_asked_for(self, api: Api, where: str):
        for name in self.required:
            body = self.body()
            del body[name]
            trail = Trail()
            answer = api.post(where, body)
            assert answer.status == 422, name
            assert list(answer.fields) == [name]
            assert trail.codes == []

    def test_wrong_json_types_are_400(self, api: Api, where: str):
        for name in self.body():
            answer = api.post(where, self.body() | {name: 1.5})
            assert answer.status == 400, name
            assert next(iter(answer.fields)).startswith(name)
        for no_object in (b"", b"[]", b"{", b'"x"', b"\xff"):
            assert api.post(where, no_object).status == 400, no_object

    def test_broken_rule_is_refused_and_nothing_written(self, api: Api, where: str):
        self.make(api, where, TAKEN)
        made = self.make(api, where, 9)
        faults = list(self.refused())
        before, trail = [row["id"] for row in ok(api.get(where))], Trail()
        send = self.faulty_writes(api, where, self.readable(made))
        for changes, status, field, text in faults:
            for answer in send(changes):
                assert answer.status == status, changes
                assert list(answer.fields) == [field], changes
                assert text in answer.fields[field], changes
                assert answer.json["message"].startswith(answer.fields[field]), changes
                assert trail.codes == [], changes
        assert [row["id"] for row in ok(api.get(where))] == before
        assert self.readable(made) in ok(api.get(where))

    def test_creation_and_deletion_are_audited(self, api: Api, where: str):
        self.body()  # what the body refers to is made before
        created = Trail()
        made = self.make(api, where)
        told = self.told(made)
        assert created.codes == list(self.created_codes)
        assert self.targets(created) == {self.target(made)}
        deleted = Trail()
        assert ok(api.delete(f"{where}/{made['id']}")) == {}
        assert deleted.codes == list(self.deleted_codes)
        events = [*created.events, *deleted.events]
        words = {event.activity_code: event.meta for event in events}
        assert {code: words[code] for code in told} == told
        assert made["id"] not in [row["id"] for row in ok(api.get(where))]
        for method in ("GET", "DELETE"):
            assert api.call(method, f"{where}/{made['id']}").status == 404

    def test_version_of_the_list_changes_with_what_it_shows(self, api: Api, where: str):
        self.make(api, where)
        first = {"If-None-Match": api.get(where).headers["ETag"]}
        assert api.get(where, **first).status == 304
        self.make(api, where, 2)
        assert api.get(where, **first).status == 200

    def test_plan_is_what_the_write_then_does(self, api: Api, where: str):
        made = self.readable(self.make(api, where, 2))
        for method, path, sent in self.writes(where, made):
            before = stored()
            planned = ok(api.call(method, f"{path}?dry_run=true", sent))
            assert stored() == before
            trail = Trail()
            guard = {"X-Plan-Hash": planned["plan_hash"]}
            done = api.call(method, path, sent, **guard)
            assert done.status == 200, done.json
            codes = [event["activity_code"] for event in planned["plan"]["events"]]
            assert trail.codes == codes != []

    def test_number_of_queries_does_not_depend_on_the_data(self, api: Api, where: str):
        self.make(api, where, 1)
        ok(api.get("/api/users/current"))  # the token's last use is stored now
        _, few = asking(lambda: ok(api.get(where)))
        for number in range(2, 8):
            self.make(api, where, number)
        _, many = asking(lambda: ok(api.get(where)))
        assert len(few) == len(many) <= self.most_queries, (len(few), many)


class ReplacedResourceContract(CreatedResourceContract):
    """Replaces the object as well."""

    fixed: ClassVar[frozenset[str]] = frozenset()
    """Fields that replacing does not take, or not as creating does."""
    updates: ClassVar[dict[str, Any]] = {"description": "another text"}
    """A change of one field; the answer shows it as sent."""

    def naming(self, changes: Body) -> Body:
        """Return the body that makes these changes of body number 9."""
        return self.body(9) | changes

    def changed(self, made: Body, changes: Body) -> Body:
        """Return the body that makes faulty changes."""
        return self.naming(changes)

    def changes(self, made: Body) -> Iterable[Change]:
        """Return changes that are made one after the other, body number 9 the first."""
        return ()

    def check_kept(self, api: Api, one: str, made: Body) -> None:
        """Check that it stays so when it is sent back, too."""
        super().check_kept(api, one, made)
        trail = Trail()
        assert ok(api.put(one, made)) == made
        assert trail.codes == []

    def faulty_writes(self, api: Api, where: str, made: Body) -> Callable[[Body], Any]:
        def send(changes: Body) -> Iterator[Answer]:
            yield api.post(where, self.body() | changes)
            if not self.fixed & set(changes):
                yield api.put(f"{where}/{made['id']}", self.changed(made, changes))

        return send

    def writes(self, where: str, made: Body) -> list[tuple[str, str, Body | None]]:
        post, delete = super().writes(where, made)
        return [post, ("PUT", delete[1], made | self.updates), delete]

    def test_sending_back_what_was_read_changes_nothing(self, api: Api, where: str):
        made = self.readable(self.make(api, where))
        self.check_kept(api, f"{where}/{made['id']}", made)

    def test_change_shows_what_it_means_and_is_audited(self, api: Api, where: str):
        made = self.readable(self.make(api, where, 9))
        one = f"{where}/{made['id']}"
        for changes, beside, told in self.changes(made):
            before, trail = self.meant(ok(api.get(one))), Trail()
            shown = ok(api.put(one, self.naming(changes)))
            assert self.meant(shown) == present(before | changes | beside), changes
            assert ok(api.get(one)) == shown
            assert trail.codes == list(told), changes
            assert self.targets(trail) <= {self.target(made)}, changes
            words = told if isinstance(told, Mapping) else {}
            for event in trail.events:
                wanted = words.get(event.activity_code)
                assert wanted is None or event.meta == wanted, changes

    def test_version_changes_with_what_is_read_and_only_then(
        self, api: Api, where: str
    ):
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

    def test_stale_version_refuses_a_write(self, api: Api, where: str):
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

    def test_what_is_gone_is_not_found_whatever_is_sent(self, api: Api, where: str):
        one = f"{where}/{self.make(api, where)['id']}"
        ok(api.delete(one))
        for sent in (self.body(9), {}, {"name": 5}):
            assert api.put(one, sent).status == 404, sent


class ResourceContract(ReplacedResourceContract):
    """Changes of the object what a body names, and leaves the rest as it is."""

    def naming(self, changes: Body) -> Body:
        return changes

    def test_absent_fields_keep_their_value(self, api: Api, where: str):
        made = self.readable(self.make(api, where))
        trail = Trail()
        assert ok(api.put(f"{where}/{made['id']}", {})) == made
        assert trail.codes == []
        assert ok(api.put(f"{where}/{made['id']}", self.updates)) == made | self.updates
        assert len(trail.codes) == 1


class SecretContract(CreatedResourceContract):
    """Shows a secret in the answer to a creation, and nowhere else."""

    secret: ClassVar[str]
    form: ClassVar[str]

    def test_secret_is_shown_once_and_kept_as_a_hash(self, api: Api, where: str):
        body, trail = self.body(), Trail()
        secret = ok(api.post(where, body))[self.secret]
        assert re.fullmatch(self.form, secret)
        [made] = [row for row in ok(api.get(where)) if row["name"] == body["name"]]
        shown = [api.get(where).body, api.get(f"{where}/{made['id']}").body]
        told = [(event.changes, event.meta) for event in trail.events]
        for text in (secret, token_hash(secret)):
            assert text not in f"{shown} {told}"
        kept = str([list(table.lines()) for table in tables(apps)])
        assert secret not in kept
        assert token_hash(secret) in kept
