"""Every role and ids of nothing on every method of every path, against the matrix."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from events.models import AuditEvent
from meshmgmt.accounts.models import User
from meshmgmt.api import limits
from meshmgmt.core.ids import new_id
from meshmgmt.core.slidingwindow import Limit
from tests.accounts.permission_matrix import (
    ANYBODY,
    ENDPOINTS,
    EXPECTED,
    OWN,
    PUBLIC,
    RESOURCES,
    ROLES,
)
from tests.api_client import Api
from tests.contract.test_document import OPERATIONS
from tests.dns.bodies import nameserver_group, record
from tests.factories import changed
from tests.people import api_of, person, robot, token_of

pytestmark = pytest.mark.django_db


class Case(NamedTuple):
    """One line of the matrix."""

    method: str
    path: str
    who: str
    letter: str = ""

    def is_open_to(self, role: str) -> bool:
        """Whether the matrix lets the role in."""
        if self.who in {PUBLIC, ANYBODY, OWN}:
            return True
        return self.letter in EXPECTED[self.who][ROLES.index(role)]


def of_resource(path: str, module: str) -> Iterator[Case]:
    """Yield what is done to an object, and to all of its kind."""
    for method, letter in (("GET", "R"), ("PUT", "U"), ("DELETE", "D")):
        yield Case(method, path, module, letter)
    for method, letter in (("GET", "R"), ("POST", "C")):
        yield Case(method, path.rpartition("/")[0], module, letter)


CASES = [
    *(Case(*line.split()) for line in ENDPOINTS.strip().splitlines()),
    *(case for x in RESOURCES.strip().splitlines() for case in of_resource(*x.split())),
]


@pytest.fixture(autouse=True)
def _no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    many = limits.Limiter(Limit(count=10_000, seconds=60), workers=1)
    monkeypatch.setattr(limits.LIMITS, "guesses", many)


def filled(path: str, user: User | None = None) -> str:
    """Put ids into the path: the user's own where asked for, else unknown ones."""
    own = path.replace("{userId}", user.pk) if user else path
    parts = [new_id() if part.startswith("{") else part for part in own.split("/")]
    return "/".join(parts)


def call(api: Api, case: Case, user: User | None = None) -> tuple[int, str]:
    """Send a body that no endpoint takes, so that nothing is ever written."""
    path = filled(case.path, user if case.who == OWN else None)
    body = b"no json" if case.method in {"POST", "PUT"} else None
    answer = api.call(case.method, path, body)
    return answer.status, str(answer.json)[:200]


def test_matrix_has_a_line_for_every_method_of_every_path():
    written = [(case.method, case.path) for case in CASES]
    assert len(set(written)) == len(written)
    assert set(written) == set(OPERATIONS)


def test_every_line_names_a_module_and_a_letter_or_a_word():
    for case in CASES:
        if case.letter:
            assert case.who in EXPECTED, case
            assert case.letter in "CRUD", case
        else:
            assert case.who in {PUBLIC, ANYBODY, OWN}, case


def test_methods_that_no_operation_has_are_405():
    user = person("owner")
    api, wrong = api_of(user), []
    for path in {case.path for case in CASES}:
        served = {case.method for case in CASES if case.path == path}
        for method in {"GET", "POST", "PUT", "PATCH", "DELETE"} - served:
            answer = api.call(method, filled(path, user), {})
            allowed = set(answer.headers.get("Allow", "").split(", "))
            absent = "nothing to change here" in answer.json["message"]
            if answer.status != (404 if absent else 405) or not served <= allowed:
                wrong.append((method, path, answer.status, allowed))
    assert wrong == []


def callers() -> Iterator[tuple[str, User]]:
    for role in ROLES:
        yield role, person(role)
        if role != "owner":
            yield role, robot(role, name=f"robot {role}")


@pytest.mark.slow
def test_all_roles_on_all_endpoints_with_all_methods():
    people = [(role, user, api_of(user)) for role, user in callers()]
    before = AuditEvent.objects.count()
    wrong = []
    for role, user, api in people:
        for case in CASES:
            status, text = call(api, case, user)
            allowed = status not in {401, 403}
            if allowed is not case.is_open_to(role) or status >= 500:
                wrong.append((role, user.is_service_user, case, status, text))
    assert wrong == []
    assert AuditEvent.objects.count() == before


def test_credentials_are_needed_everywhere_but_on_public_endpoints():
    person("owner")
    for case in CASES:
        for api in (Api(), Api("mpt_" + "x" * 36)):
            status, text = call(api, case)
            assert (status == 401) is (case.who != PUBLIC), (case, status, text)


@pytest.mark.parametrize("state", ["is_blocked", "pending_approval"])
def test_blocked_and_pending_users_are_let_in_nowhere(state: str):
    user = changed(person("owner"), **{state: True})
    api = api_of(user)
    for case in CASES:
        if case.who != PUBLIC:
            status, text = call(api, case, user)
            assert status == 403, (case, status)
            assert "blocked" in text or "pending" in text


def test_ingest_token_is_good_for_the_ingest_alone():
    user = person("owner")
    api = Api(token_of(user, scope="ingest"))
    for case in CASES:
        if case.who == PUBLIC:
            continue
        status, _ = call(api, case, user)
        ingests = (case.who, case.letter) == ("events", "C")
        ingests &= case.method == "POST" and not case.path.endswith("/subscriptions")
        assert (status != 403) is ingests, (case, status)


def test_tokens_of_others_are_closed():
    other = person("admin")
    for role in ROLES:
        api = api_of(person(role))
        for case in CASES:
            if case.who == OWN:
                path = filled(case.path, other)
                body = b"no json" if case.method in {"POST", "PUT"} else None
                assert api.call(case.method, path, body).status == 403, case


BAD_IDS = ["0" * 20, "x", "%00", "0" * 21, "a" * 200, "-1", "9" * 30, "%D9%A3"]
BAD_IDS += ["%2e%2e", "%ff", "a%20b", "%F0%9F%92%A9", "'--"]


@pytest.mark.parametrize("bad", BAD_IDS)
def test_nothing_is_found_by_an_id_that_there_is_not(bad: str):
    user = person("owner")
    api, wrong = api_of(user), []
    body = nameserver_group() | record() | {"settings": {}, "address": "10.0.0.1"}
    body |= {"from": "2026-01-01T00:00:00Z", "password": "Correct-Horse-1"}
    for case in CASES:
        if "{" not in case.path or case.path.endswith("/password"):
            continue
        for known in {case.path, case.path.replace("{userId}", user.pk)}:
            if (path := re.sub(r"\{\w+\}", bad, known)) == known:
                continue
            answer = api.call(case.method, path, None if case.method == "GET" else body)
            if answer.status != 404 or "not found" not in answer.json["message"]:
                wrong.append((case, path, answer.status, answer.json))
    assert wrong == []
