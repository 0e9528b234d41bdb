"""`Idempotency-Key`: what a write that is repeated is answered, and what it does."""

import datetime as dt
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import time_machine
from django.db import close_old_connections, connections
from hypothesis import given
from hypothesis import strategies as st

from events.models import AuditEvent
from groups.models import Group
from meshmgmt.accounts.models import WrongPassword
from meshmgmt.api.models import KeptAnswer
from meshmgmt.api.retries import KEPT, forget_old_answers, marks_of, parse_key
from meshmgmt.core.errors import BadRequest
from meshmgmt.core.transactions import account_write, joined_write
from tests.api_client import Answer, Api
from tests.dns.bodies import zone
from tests.events.backends import second_session, waiting_pid
from tests.factories import changed
from tests.people import api_as, api_of, person, token_of
from tests.races import race
from tests.resource_contract import ok, refusal

GROUPS = "/api/groups"
KEY = {"Idempotency-Key": "8e03978e-40d5-43dd-bc93-6894a57f9324"}


def replayed(answer: Answer) -> bool:
    return bool(answer.headers.get("Idempotency-Replayed") == "true")


def added() -> list[str]:
    """Names of the groups that the audit trail says were added."""
    told = AuditEvent.objects.filter(activity_code="group.add")
    return [event.meta["name"] for event in told if event.meta["name"] != "All"]


@pytest.mark.django_db
class TestOneKey:
    def test_the_same_request_is_done_once_and_answered_alike(self, api: Api):
        first = api.post(GROUPS, {"name": "web"}, **KEY)
        events = AuditEvent.objects.count()
        again = [api.post(GROUPS, {"name": "web"}, **KEY) for _ in range(20)]
        assert first.status == 200
        assert not replayed(first)
        assert all(map(replayed, again))
        kinds = {(x.status, x.body, x.headers["Content-Type"]) for x in again}
        assert kinds == {(200, first.body, first.headers["Content-Type"])}
        assert Group.objects.filter(name="web").count() == 1
        assert AuditEvent.objects.count() == events

    def test_replays_have_request_ids_of_their_own(self, api: Api):
        answers = [api.post(GROUPS, {"name": "web"}, **KEY) for _ in range(2)]
        assert len({each.headers["X-Request-Id"] for each in answers}) == 2

    def test_a_key_in_quotes_is_the_same_key(self, api: Api):
        api.post(GROUPS, {"name": "web"}, **KEY)
        quoted = {"Idempotency-Key": f'"{KEY["Idempotency-Key"]}"'}
        assert replayed(api.post(GROUPS, {"name": "web"}, **quoted))

    @pytest.mark.parametrize(
        ("method", "path", "body"),
        [
            ("POST", GROUPS, {"name": "db"}),
            ("POST", f"{GROUPS}?x=1", {"name": "web"}),
            ("POST", "/api/networks", {"name": "web"}),
            ("DELETE", "/api/groups/{id}", None),
        ],
    )
    def test_another_request_is_refused_and_not_done(
        self, method: str, path: str, body: Any
    ):
        api = api_as()
        made = api.post(GROUPS, {"name": "web"}, **KEY)
        refused = api.call(method, path.format(id=made.json["id"]), body, **KEY)
        assert "this key was used before" in refusal(refused, 422)
        assert [group.name for group in Group.objects.exclude(name="All")] == ["web"]
        assert api.post(GROUPS, {"name": "web"}, **KEY).body == made.body

    def test_another_user_has_keys_of_their_own(self):
        api_as().post(GROUPS, {"name": "web"}, **KEY)
        assert api_as("admin").post(GROUPS, {"name": "db"}, **KEY).status == 200

    def test_a_renewed_token_of_the_user_gets_the_answer(self):
        user = person()
        first = api_of(user).post(GROUPS, {"name": "web"}, **KEY)
        again = api_of(user).post(GROUPS, {"name": "web"}, **KEY)
        assert (again.status, again.body) == (200, first.body)
        assert replayed(again)

    def test_whoever_has_no_secret_key_opens_no_answer(self, settings: Any):
        api = api_as()
        api.post(GROUPS, {"name": "web"}, **KEY)
        settings.SECRET_KEY = "another"
        assert api.post(GROUPS, {"name": "web"}, **KEY).status == 422

    def test_deleting_twice_finds_the_object_gone_only_without_a_key(self):
        api = api_as()
        path = f"{GROUPS}/{api.post(GROUPS, {'name': 'web'}).json['id']}"
        assert [api.delete(path, **KEY).status for _ in range(2)] == [200, 200]
        assert api.delete(path).status == 404

    def test_a_put_that_comes_late_overwrites_nothing(self, api: Api):
        path = f"{GROUPS}/{api.post(GROUPS, {'name': 'a'}).json['id']}"
        api.put(path, {"name": "b"}, **KEY)
        api.put(path, {"name": "c"})
        assert api.put(path, {"name": "b"}, **KEY).json["name"] == "b"
        assert api.get(path).json["name"] == "c"

    def test_reading_pays_no_attention(self, api: Api):
        assert api.get(GROUPS, **KEY).status == 200
        assert not KeptAnswer.objects.exists()

    def test_requests_without_a_key_ask_nothing(
        self, django_assert_max_num_queries: Any
    ):
        api = api_as()
        with django_assert_max_num_queries(100) as asked:
            api.post(GROUPS, {"name": "web"})
        assert not [q for q in asked.captured_queries if "keptanswer" in q["sql"]]

    def test_a_zone_file_is_read_whole(self, api: Api):
        made = api.post("/api/dns/zones", zone(domain="apps.test")).json["id"]
        path, text = f"/api/dns/zones/{made}/zonefile", b"wiki 300 IN A 192.0.2.1\n"
        answers = [api.put(path, text, **KEY) for _ in range(2)]
        assert [len(each.json["added"]) for each in answers] == [1, 1]
        assert replayed(answers[1])

    def test_events_have_ids_and_need_no_key(self):
        ok(api_as().call("POST", "/api/events/network-traffic", [], **KEY))
        assert not KeptAnswer.objects.exists()


@pytest.mark.django_db
class TestRefusals:
    def test_what_the_rules_refused_stays_refused(self, api: Api):
        made = api.post(GROUPS, {"name": "web"}).json["id"]
        refused = api.post(GROUPS, {"name": "web"}, **KEY)
        assert refused.status == 409
        api.delete(f"{GROUPS}/{made}")
        again = api.post(GROUPS, {"name": "web"}, **KEY)
        assert (again.status, again.body) == (409, refused.body)
        assert replayed(again)
        assert not Group.objects.filter(name="web").exists()

    def test_what_was_not_looked_at_may_be_put_right_under_the_same_key(self):
        api = api_as()
        assert api.post(GROUPS, b"{", **KEY).status == 400
        assert api.post(GROUPS, {"name": 1}, **KEY).status == 400
        assert api.post(GROUPS, {"name": "web"}, **KEY).status == 200

    def test_permission_is_asked_again(self):
        user = person("admin")
        api = api_of(user)
        api.post(GROUPS, {"name": "web"}, **KEY)
        changed(user, role="user")
        assert api.post(GROUPS, {"name": "web"}, **KEY).status == 403

    def test_a_wrong_password_counts_with_a_key_too(self):
        user = person(password="correct horse 1")
        body = {"old_password": "wrong", "new_password": "correct horse 2"}
        path = f"/api/users/{user.pk}/password"
        assert api_of(user).put(path, body, **KEY).status == 422
        assert WrongPassword.objects.count() == 1
        assert AuditEvent.objects.filter(activity_code="user.password.fail").exists()

    @pytest.mark.parametrize("key", ["", "a b", "\u00fc", "x" * 256, "\x7f"])
    def test_a_key_of_another_form_is_refused(self, key: str):
        refused = api_as().post(GROUPS, {"name": "web"}, **{"Idempotency-Key": key})
        assert refusal(refused, 400).startswith("Idempotency-Key: ")
        assert not Group.objects.filter(name="web").exists()


@pytest.mark.django_db
class TestSecrets:
    def test_a_setup_key_is_shown_again_and_stored_nowhere(self, api: Api):
        body = {"name": "k", "type": "reusable", "expires_in": 86400, "usage_limit": 0}
        first = api.post("/api/setup-keys", body, **KEY)
        secret = first.json["key"]
        assert api.post("/api/setup-keys", body, **KEY).json["key"] == secret
        sealed = bytes(KeptAnswer.objects.get().sealed)
        assert secret.encode() not in sealed
        assert b"reusable" not in sealed

    def test_a_new_token_is_shown_again_and_works(self):
        user = person()
        api = api_of(user)
        path, body = f"/api/users/{user.pk}/tokens", {"name": "t", "expires_in": 1}
        shown = {api.post(path, body, **KEY).json["plain_token"] for _ in range(2)}
        assert len(shown) == 1
        assert Api(shown.pop()).get("/api/users/current").status == 200


@pytest.mark.django_db
def test_who_read_what_is_changed_may_send_the_same_request_again(api: Api):
    made = api.post(GROUPS, {"name": "web"})
    path = f"{GROUPS}/{made.json['id']}"
    old = api.get(path).headers["ETag"]
    api.put(path, {"name": "www"})
    refused = api.put(path, {"name": "web"}, **KEY, **{"If-Match": old})
    assert refused.status == 412
    now = api.get(path).headers["ETag"]
    done = api.put(path, {"name": "web"}, **KEY, **{"If-Match": now})
    assert (done.status, replayed(done)) == (200, False)


@pytest.mark.django_db
def test_answers_are_kept_for_a_day():
    with time_machine.travel(dt.datetime(2030, 1, 1, tzinfo=dt.UTC), tick=False) as now:
        api = Api(token_of(person(), days=9))
        api.post(GROUPS, {"name": "web"}, **KEY)
        now.shift(KEPT - dt.timedelta(seconds=1))
        assert forget_old_answers() == 0
        assert replayed(api.post(GROUPS, {"name": "web"}, **KEY))
        now.shift(1)
        assert api.post(GROUPS, {"name": "db"}, **KEY).status == 200
        assert replayed(api.post(GROUPS, {"name": "db"}, **KEY))
        now.shift(KEPT)
        assert forget_old_answers() == 1
        assert not KeptAnswer.objects.exists()


@pytest.mark.django_db(transaction=True)
class TestAtOnce:
    def test_the_same_request_many_times_is_done_once(self):
        token = api_as().token

        def create() -> Answer:
            return Api(token).post(GROUPS, {"name": "web"}, **KEY)

        answers = race([create] * 8)
        assert {(x.status, x.body) for x in answers} == {(200, answers[0].body)}
        assert sum(not replayed(each) for each in answers) == 1
        assert Group.objects.filter(name="web").count() == 1
        assert added() == ["web"]

    def test_who_finds_the_object_gone_gets_the_answer_of_who_deleted_it(self):
        api = api_as()
        path = f"{GROUPS}/{api.post(GROUPS, {'name': 'web'}).json['id']}"

        def delete() -> int:
            return Api(api.token).delete(path, **KEY).status

        assert race([delete] * 6) == [200] * 6
        assert AuditEvent.objects.filter(activity_code="group.delete").count() == 1

    def test_of_two_requests_with_one_key_one_is_refused(self, api: Api):
        def create(name: str) -> int:
            return Api(api.token).post(GROUPS, {"name": name}, **KEY).status

        assert sorted(race([lambda: create("a"), lambda: create("b")])) == [200, 422]
        assert Group.objects.filter(name__in=["a", "b"]).count() == 1
        assert KeptAnswer.objects.count() == 1


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_after_a_503_the_request_may_be_sent_again(api: Api):

    def create() -> Answer:
        close_old_connections()  # as a server does between two requests
        return api.post(GROUPS, {"name": "web"}, **KEY)

    with ThreadPoolExecutor(1) as pool, second_session() as other:
        other.execute("LOCK TABLE api_keptanswer IN SHARE MODE")
        first = pool.submit(create)
        pid = waiting_pid(other, "INSERT INTO%api_keptanswer%")
        other.execute("SELECT pg_terminate_backend(%s)", [pid])
        lost = first.result()
        other.rollback()
        made, again = pool.submit(create).result(), pool.submit(create).result()
        pool.submit(connections.close_all).result()
    assert (lost.status, made.status, again.status) == (503, 200, 200)
    assert (replayed(made), replayed(again)) == (False, True)
    assert Group.objects.filter(name="web").count() == 1
    assert added() == ["web"]


@pytest.mark.django_db(transaction=True)
class TestJoinedWrite:
    def test_begins_with_its_first_write_and_rolls_back_as_one(self):
        begun: list[bool] = []
        joined = joined_write(lambda: begun.append(True))
        with pytest.raises(RuntimeError), joined as write:
            assert not begun
            for name in ("a", "b"):
                with account_write(savepoint=False):
                    Group(name=name).save()
            assert write.has_begun
            raise RuntimeError
        assert begun == [True]
        assert not Group.objects.filter(name__in=["a", "b"]).exists()
        assert added() == []

    def test_a_write_that_fails_undoes_itself_alone(self):
        with joined_write(lambda: None):
            with pytest.raises(KeyError), account_write(savepoint=False):
                Group(name="a").save()
                raise KeyError
            with account_write():
                Group(name="b").save()
        assert list(Group.objects.exclude(name="All").values_list("name")) == [("b",)]
        assert added() == ["b"]


TEXTS = st.text(max_size=20)
REQUESTS = st.tuples(TEXTS, TEXTS, TEXTS, TEXTS, st.binary())


@given(REQUESTS, REQUESTS)
def test_marks_of_different_requests_differ(one: Any, other: Any):
    def marks(request: Any) -> tuple[str, bytes]:
        secret, key, method, path, body = request
        return marks_of(secret, key=key, method=method, path=path, body=body)

    assert (marks(one) == marks(other)) == (one == other)


@given(st.text(max_size=300))
def test_keys_are_visible_ascii_or_refused(text: str):
    try:
        key = parse_key(text)
    except BadRequest:
        return
    assert 1 <= len(key) <= 255
    assert all("!" <= char <= "~" for char in key)
    assert parse_key(f'"{key}"') == key or key[0] == '"'
