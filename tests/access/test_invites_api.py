"""Invites over HTTP."""

import datetime as dt
from collections.abc import Iterator

import pytest

from groups.selectors import all_group_id
from meshmgmt.access.models import Invite
from meshmgmt.accounts.models import User
from meshmgmt.api import limits
from meshmgmt.core import clock
from meshmgmt.core.ids import new_id
from tests.api_client import Api
from tests.factories import Trail, group_id
from tests.people import api_as, api_of, person
from tests.resource_contract import Answered, Body, Fault, SecretContract, ok

pytestmark = pytest.mark.django_db

PATH = "/api/users/invites"
STRONG = "Correct-Horse-1"
HOUR = 3600


@pytest.fixture
def api() -> Api:
    return api_of(person("admin", name="Ada"))


@pytest.fixture
def nobody() -> Api:
    return Api()


@pytest.fixture
def made(api: Api) -> Body:
    """An invite as its creation answered it."""
    answered: Body = ok(api.post(PATH, invite()))
    return answered


@pytest.fixture
def link(made: Body) -> str:
    """The path that the invite's secret opens."""
    return f"{PATH}/{made['invite_token']}"


def invite(**changes: object) -> Body:
    body = {"email": "new@mesh.dev", "name": "New", "role": "auditor"}
    return body | {"auto_groups": [group_id("team")]} | changes


class TestInvites(SecretContract):
    path = PATH
    required = ("email", "name", "role")
    created_codes = ("user.invite.link.create",)
    deleted_codes = ("user.invite.link.delete",)
    read_by_id = False  # by the secret of the link alone
    filled_in = frozenset({"id", "created_at", "expires_at"})
    secret = "invite_token"
    form = "mpi_[0-9A-Za-z]{36}"

    def body(self, number: int = 1) -> Body:
        return invite(email=f"new{number}@mesh.dev")

    def readable(self, made: Body) -> Body:
        return {name: value for name, value in made.items() if name != "invite_token"}

    def answered(self) -> Iterator[Answered]:
        yield invite(), {"expired": False}

    def told(self, made: Body) -> dict[str, Body]:
        return {"user.invite.link.create": {"email": "new1@mesh.dev"}}

    def refused(self) -> Iterator[Fault]:
        yield {"email": "new"}, 422, "email", "'new' is not an e-mail address"
        yield {"email": "NEW9@mesh.dev"}, 409, "email", "is invited already"
        person("user", email="bob@mesh.dev")
        taken = "another user has this e-mail"
        yield {"email": "BOB@mesh.dev"}, 409, "email", taken
        yield {"email": None}, 422, "email", "'' is not an e-mail address"
        yield {"name": " "}, 422, "name", "the name must not be empty or blank"
        yield {"role": "king"}, 422, "role", "'king' is not a role"
        yield {"role": 1}, 400, "role", "must be a JSON string"
        for seconds in (HOUR - 1, 2**40):
            yield {"expires_in": seconds}, 422, "expires_in", "must be from 3600 to"
        for bad, text in (("x", "group 'x' was not found"), (all_group_id(), "All")):
            yield {"auto_groups": [bad]}, 422, "auto_groups[0]", text


@pytest.mark.usefixtures("made")
def test_new_invite_is_good_for_three_days():
    stored = Invite.objects.get()
    assert stored.expires_at - stored.created_at == pytest.approx(
        dt.timedelta(hours=72), abs=dt.timedelta(seconds=1)
    )


def test_link_tells_what_it_is_for_without_credentials(
    made: Body, link: str, nobody: Api
):
    for client in (nobody, Api("mpt_" + "x" * 36)):
        assert ok(client.get(link)) == {
            "email": "new@mesh.dev",
            "name": "New",
            "expires_at": made["expires_at"],
            "valid": True,
            "invited_by": "Ada",
        }


def test_link_is_not_valid_while_another_user_has_the_address(link: str, nobody: Api):
    person("user", email="NEW@mesh.dev")
    trail = Trail()
    assert ok(nobody.get(link))["valid"] is False
    assert nobody.post(f"{link}/accept", {"password": STRONG}).status == 409
    assert trail.codes == []


def test_accepting_makes_the_user(api: Api, link: str, nobody: Api):
    trail = Trail()
    assert ok(nobody.post(f"{link}/accept", {"password": STRONG})) == {"success": True}
    user = User.objects.get(email="new@mesh.dev")
    assert user.check_password(STRONG)
    [shown] = [row for row in ok(api.get("/api/users")) if row["id"] == user.pk]
    assert (shown["role"], shown["status"]) == ("auditor", "active")
    assert shown["auto_groups"] == [group_id("team")]
    deeds = ("create", "group.add", "invite.link.accept", "join")
    assert sorted(trail.targets) == [(f"user.{deed}", user.pk) for deed in deeds]
    assert {event.initiator_id for event in trail.events} == {user.pk}
    accepted = trail.events[trail.codes.index("user.invite.link.accept")]
    assert accepted.meta == {"email": "new@mesh.dev", "username": "New"}
    assert ok(api.get(PATH)) == []


def test_link_is_good_once(api: Api, made: Body, link: str, nobody: Api):
    ok(nobody.post(f"{link}/accept", {"password": STRONG}))
    assert nobody.post(f"{link}/accept", {"password": STRONG}).status == 404
    assert nobody.get(link).status == 404
    assert api.delete(f"{PATH}/{made['id']}").status == 404
    assert api.post(f"{PATH}/{made['id']}/regenerate").status == 404


def test_expired_link_is_refused(api: Api, nobody: Api):
    made = ok(api.post(PATH, invite(expires_in=HOUR)))
    link = f"{PATH}/{made['invite_token']}"
    trail = Trail()
    with clock.set_to(clock.now() + dt.timedelta(hours=1, seconds=1)):
        assert ok(nobody.get(link))["valid"] is False
        answer = nobody.post(f"{link}/accept", {"password": STRONG})
    assert "expired" in answer.refused(412).message
    assert trail.codes == []


@pytest.mark.parametrize("body", [None, b"", {}, {"expires_in": 2 * HOUR}])
def test_regenerated_link_ends_the_old_one(
    api: Api, made: Body, nobody: Api, body: Body | bytes | None
):
    trail = Trail()
    again = ok(api.call("POST", f"{PATH}/{made['id']}/regenerate", body))
    assert set(again) == {"invite_token", "invite_expires_at"}
    assert nobody.get(f"{PATH}/{made['invite_token']}").status == 404
    assert ok(nobody.get(f"{PATH}/{again['invite_token']}"))["valid"] is True
    assert trail.targets == [("user.invite.link.regenerate", made["id"])]
    assert trail.events[0].meta == {"email": "new@mesh.dev"}


def test_no_other_link_for_who_is_a_user_by_now(api: Api, made: Body):
    person("user", email="NEW@mesh.dev")
    trail = Trail()
    answer = api.post(f"{PATH}/{made['id']}/regenerate")
    assert answer.refused(409).message == "another user has this e-mail address"
    assert trail.codes == []


def test_a_version_of_an_invite_is_nothing_that_can_be_read(api: Api, made: Body):
    answer = api.delete(f"{PATH}/{made['id']}", **{"If-Match": '"x"'})
    assert "nothing can be read at this path" in answer.refused(400).message


def test_nobody_is_invited_as_owner(api: Api):
    assert api.post(PATH, invite(role="owner")).status == 403
    answer = api_as("owner").post(PATH, invite(role="owner")).refused(422)
    assert answer.fields == {"role": "nobody can be invited as owner"}


def test_weak_password_is_refused(link: str, nobody: Api):
    trail = Trail()
    answer = nobody.post(f"{link}/accept", {"password": "Password!"})
    assert answer.refused(422).fields == {"password": "a password needs a digit"}
    assert trail.codes == []
    assert ok(nobody.get(link))["valid"] is True


@pytest.mark.parametrize("bad", ["nope", "mpi_" + "x" * 36, "%00"])
def test_unknown_link_is_not_found(nobody: Api, bad: str):
    for answer in (
        nobody.get(f"{PATH}/{bad}"),
        nobody.post(f"{PATH}/{bad}/accept", {"password": STRONG}),
    ):
        assert "not found" in answer.refused(404).message


def test_id_is_no_secret(api: Api, made: Body, nobody: Api):
    assert nobody.get(f"{PATH}/{made['id']}").status == 404
    assert api.delete(f"{PATH}/{made['invite_token']}").status == 404
    assert api.delete(f"{PATH}/{new_id()}").status == 404
    assert api.post(f"{PATH}/{new_id()}/regenerate").status == 404


def test_guessing_is_slow_over_all_hosts(nobody: Api, monkeypatch: pytest.MonkeyPatch):
    answers = []
    for number in range(7):
        another_host = limits.configured().guesses
        monkeypatch.setattr(limits.LIMITS, "guesses", another_host)
        answers.append(nobody.get(f"{PATH}/mpi_{number}"))
    assert [answer.status for answer in answers] == [404] * 5 + [429] * 2
    assert int(answers[-1].headers["Retry-After"]) in range(1, 32)
    assert "too many tries" in answers[-1].json["message"]
    accept = nobody.post(f"{PATH}/mpi_x/accept", {"password": STRONG})
    assert accept.status == 429
