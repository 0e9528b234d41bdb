"""Versions of answers, and answers that are kept until something is written."""

import re
from collections.abc import Iterator
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from django.db import connection, models
from django.test.utils import CaptureQueriesContext
from django.urls import get_resolver

from events.audit.specs import spec_of
from events.models import AuditEvent
from groups.api import GroupViewSet
from groups.models import Group
from groups.services import group_update
from meshmgmt.accounts.models import AccessToken, User
from meshmgmt.api import versions
from meshmgmt.api.views import ApiView
from meshmgmt.core import clock
from meshmgmt.core.context import account_id
from meshmgmt.inventory.models import Peer
from tests.api_client import Answer, Api
from tests.factories import group, peer, peers
from tests.history.writes import Writer
from tests.people import api_as, api_of, person, token_of
from tests.resource_contract import ok

pytestmark = pytest.mark.django_db


@pytest.fixture
def web() -> Group:
    return group("web", peer("alpha"), peer("beta"))


def queried(api: Api, path: str, **headers: str) -> tuple[Answer, int]:
    """Ask, and count what the database is asked for."""
    with CaptureQueriesContext(connection) as queries:
        answer = api.get(path, **headers)
    reads = [q for q in queries if not q["sql"].startswith(("SAVE", "RELEASE"))]
    return answer, len(reads)


class TestVersions:
    def test_an_unchanged_list_costs_no_query_beside_the_token(
        self, api: Api, web: Group
    ):
        first, _ = queried(api, "/api/groups")
        tag = {"If-None-Match": first.headers["ETag"]}
        unchanged, few = queried(api, "/api/groups", **tag)
        assert (unchanged.status, unchanged.body) == (304, b"")
        assert unchanged.headers["ETag"] == tag["If-None-Match"]
        again, as_few = queried(api, "/api/groups")
        assert (again.status, again.body) == (200, first.body)
        assert few == as_few == 1
        ok(api.put(f"/api/groups/{web.pk}", {"name": "other"}))
        changed, _ = queried(api, "/api/groups", **tag)
        assert changed.status == 200
        assert b"other" in changed.body

    @pytest.mark.parametrize("tag", ["*", "W/{}", '"x", {}'])
    def test_reads_compare_weakly(self, api: Api, web: Group, tag: str):
        known = api.get("/api/groups").headers["ETag"]
        tags = {"If-None-Match": tag.format(known)}
        assert api.get("/api/groups", **tags).status == 304

    def test_writes_compare_strongly(self, api: Api, web: Group):
        path = f"/api/groups/{web.pk}"
        weak = {"If-Match": f"W/{api.get(path).headers['ETag']}"}
        assert api.put(path, {"name": "x"}, **weak).status == 412
        assert api.put(path, {"name": "x"}, **{"If-Match": "*"}).status == 200

    def test_an_answer_is_nobody_elses(self, web: Group):
        """What one may see tells nothing about the answer for another."""
        mine = api_as().get("/api/users").headers["ETag"]
        answer = api_as("user").get("/api/users", **{"If-None-Match": mine})
        assert answer.status == 200

    def test_two_writers_with_one_version_leave_one_write(self, api: Api, web: Group):
        path = f"/api/groups/{web.pk}"
        tag = {"If-Match": api.get(path).headers["ETag"]}
        answers = [api.put(path, {"name": name}, **tag) for name in ("x", "y")]
        assert [answer.status for answer in answers] == [200, 412]
        assert Group.objects.filter(name="x").exists()

    def test_missing_object_is_404_and_path_without_reading_400(self, api: Api):
        tag = {"If-Match": '"x"'}
        assert api.delete("/api/groups/06h07fd5p8p1l2de8h70", **tag).status == 404
        other = api.post("/api/users/06h07fd5p8p1l2de8h70/approve", **tag)
        assert other.status == 400

    @pytest.mark.parametrize("events", ["another", "none"])
    def test_a_restored_history_is_not_the_one_that_was_seen(
        self, api: Api, web: Group, events: str
    ):
        path = f"/api/groups/{web.pk}"
        rows: Any = models.QuerySet(AuditEvent)
        if events == "none":
            rows._raw_delete(rows.db)
        seen = {"If-None-Match": api.get(path).headers["ETag"]}
        for _ in range(2):
            assert api.get(path, **seen).status == 304
        models.QuerySet(Group).filter(pk=web.pk).update(name="restored")
        if events == "another":
            rows.update(timestamp=models.F("timestamp") - timedelta(hours=1))
        assert api.get(path, **seen).status == 200


def audited_paths() -> Iterator[str]:
    """Every path whose answers are kept, with the parameters that it has."""
    for place in get_resolver().url_patterns:
        for pattern in getattr(place, "url_patterns", [place]):
            view: Any = getattr(getattr(pattern, "callback", None), "cls", None)
            if issubclass(view or object, ApiView) and view.audited:
                yield f"/{pattern.pattern}"


class TestKeptAnswers:
    def everything(self, api: Api, maker: str) -> dict[str, bytes]:
        """Answers of all paths, made anew for each `maker`."""
        ids = {
            "groupId": "groups",
            "networkId": "networks",
            "policyId": "policies",
            "nsgroupId": "dns/nameservers",
            "zoneId": "dns/zones",
            "peerId": "peers",
            "userId": "users",
        }
        found = {"accountId": account_id()}
        for name, path in ids.items():
            found[name] = ok(api.get(f"/api/{path}"))[-1]["id"]
        answers = {"": api.get("/api/users/current", Accept=maker).body}
        for pattern in audited_paths():
            path = re.sub("<str:(.*?)>", lambda m: found.get(m[1], "<"), pattern)
            if "<" not in path:
                answer = api.get(path, Accept=maker)
                assert answer.status == 200, (path, answer.json)
                answers[path] = answer.body
        assert len(answers) >= 20
        return answers

    @pytest.mark.slow
    def test_neither_time_nor_what_leaves_no_event_changes_one(self):
        caller = Api(token_of(person(), days=365))
        writer = Writer(caller, Random(4), [member.pk for member in peers(3)])
        for _ in range(40):
            writer.write()
        writer.make_each()
        before = self.everything(caller, "a/1")
        live: dict[Any, Any] = {
            models.BooleanField: True,
            models.DateTimeField: clock.now(),
            models.IntegerField: 7,
            models.CharField: "xx",
        }
        spec = spec_of(Peer)
        assert spec is not None
        columns = [Peer._meta.get_field(n) for n in spec.unaudited | spec.reported]
        changed = {c.name: live[type(c)] for c in columns if type(c) in live}
        assert {"connected", "last_seen", "hostname"} < changed.keys()
        assert Peer.objects.all().unaudited_update(**changed) == 3
        AccessToken.objects.all().unaudited_update(last_used=clock.now())
        with clock.set_to(clock.now() + timedelta(days=300)):
            assert self.everything(caller, "a/2") == before

    def test_of_oneself_knows_the_last_sign_in(self):
        user = person()
        api = api_of(user)
        path = "/api/users/current"
        before = [api.get(path).json["last_login"] for _ in range(2)]
        assert queried(api, path)[1] == 1
        User.objects.filter(pk=user.pk).unaudited_update(last_login=clock.now())
        assert api.get(path).json["last_login"] not in before

    def test_looks_like_one_that_was_made(self, api: Api, web: Group):
        path = f"/api/groups/{web.pk}"
        made, kept = api.get(path), api.get(path)
        head = api.call("HEAD", path)
        assert queried(api, path)[1] == 1
        assert (made.status, made.body) == (kept.status, kept.body)
        own = made.headers.pop("X-Request-Id")
        for answer in (kept, head):
            assert answer.headers.pop("X-Request-Id") != own
            assert dict(answer.headers) == dict(made.headers)

    def test_is_for_those_alone_who_may_see_it_still(self, web: Group):
        admin = person("admin")
        reader, owner = api_of(admin), api_as()
        path = f"/api/groups/{web.pk}"
        assert [reader.get(path).status for _ in range(2)] == [200, 200]
        user = {"role": "user", "auto_groups": [], "is_blocked": False}
        for change, status in (
            ({}, 403),
            ({"role": "admin"}, 200),
            ({"role": "admin", "is_blocked": True}, 403),
            ({"role": "admin"}, 200),
        ):
            ok(owner.put(f"/api/users/{admin.pk}", user | change))
            assert [reader.get(path).status for _ in range(2)] == [status] * 2
        AccessToken.objects.get(user=admin).delete()
        assert reader.get(path).status == 401

    def test_is_of_now(self, api: Api, web: Group):
        """Neither of another time nor of what was only tried."""
        path = f"/api/groups/{web.pk}"
        then = clock.rfc3339(clock.now())
        ok(api.put(path, {"name": "renamed"}))
        kept = [api.get(path).body for _ in range(2)]
        for _ in range(2):
            past, queries = queried(api, f"{path}?at={then}")
            assert (past.json["name"], queries > 2) == ("web", True)
        ok(api.put(f"{path}?dry_run=true", {"name": "tried"}))
        assert [api.get(path).body, *kept] == [*kept, kept[0]]

    def test_a_change_while_it_is_made_is_in_the_next(
        self, api: Api, web: Group, monkeypatch: pytest.MonkeyPatch
    ):
        path = f"/api/groups/{web.pk}"
        rows = GroupViewSet.rows

        def rows_then_change(view: Any, ids: Any = None) -> Any:
            found = rows(view, ids)
            group_update(group_id=web.pk, name="changed", peers=None, resources=[])
            return found

        with monkeypatch.context() as patched:
            patched.setattr(GroupViewSet, "rows", rows_then_change)
            assert api.get(path).json["name"] == "web"
        assert api.get(path).json["name"] == "changed"


class TestMemory:
    KEY = ("somebody", "/api/groups", "")

    def answer(self, size: int, state: object = 1) -> versions._Answer:
        return versions._Answer(state, {"ETag": '"x"'}, bytes(size))

    def test_what_was_not_used_for_longest_makes_room(self):
        memory = versions._Memory()
        keys = [(*self.KEY, str(number)) for number in range(40)]
        for key in keys:
            memory.put(key, self.answer(2**20))
            assert memory.get(keys[0], 1)
        kept = [key for key in keys if memory.get(key, 1)]
        assert kept == [keys[0], *keys[-14:]]

    def test_an_answer_in_place_of_another_takes_its_room(self):
        memory = versions._Memory()
        memory.put(("other",), self.answer(2**20))
        for state in range(40):
            memory.put(self.KEY, self.answer(2**20, state))
        assert memory.get(("other",), 1)
        assert not memory.get(self.KEY, 38)

    def test_of_a_large_answer_the_version_alone_is_kept(
        self, api: Api, web: Group, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(versions, "LARGEST", 100)
        path = f"/api/groups/{web.pk}"
        tag = {"If-None-Match": api.get(path).headers["ETag"]}
        assert queried(api, path)[1] > 1
        unchanged, queries = queried(api, path, **tag)
        assert (unchanged.status, queries) == (304, 1)
