"""Users as stored, their services, and races between writers."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import IntegrityError, transaction
from django.test import RequestFactory

from events.audit.audited import audited_bulk_create
from events.models import AuditEvent
from meshmgmt.accounts.backends import RoleBackend
from meshmgmt.accounts.models import AccessToken, Account, User
from meshmgmt.accounts.services.account import account_update, ensure_account
from meshmgmt.accounts.services.tokens import access_tokens
from meshmgmt.accounts.services.users import (
    user_create,
    user_delete,
    user_rename,
    user_set_blocked,
    user_set_role,
)
from meshmgmt.api.exceptions import describe
from meshmgmt.core.context import account_id
from meshmgmt.core.errors import Conflict, InvalidArgument, NotFound, ServiceError
from tests.databases import KIND, elsewhere
from tests.people import person, robot, token_of
from tests.races import race

pytestmark = pytest.mark.django_db


def in_parallel(*works: Callable[[], object]) -> list[object]:
    """Run the works at once; return their results and refusals."""

    def run(work: Callable[[], object]) -> object:
        try:
            return work()
        except ServiceError as error:
            return error

    return race([partial(run, work) for work in works])


class TestEmail:
    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ("ann@mesh.dev", "ann@mesh.dev"),
            ("ann@mesh.dev", "ANN@Mesh.Dev"),
            ("straße@mesh.dev", "STRASSE@mesh.dev"),
            ("\u212bngström@x", "\u00e5NGSTRÖM@x"),
        ],
    )
    def test_letter_case_makes_no_difference(self, first: str, second: str):
        user = person(email=first)
        with pytest.raises(Conflict, match="another user"):
            person(email=second)
        assert User.objects.with_email(second).get() == user
        assert user.email == first

    def test_the_database_refuses_it_too(self):
        person(email="ann@mesh.dev")
        with pytest.raises(IntegrityError) as refused, transaction.atomic():
            User(email="Ann@mesh.dev").save()
        told = (409, "another user has this e-mail address")
        assert describe(refused.value)[:2] == told

    def test_bulk_creation_keeps_the_rule(self):
        users = [User(email=f"{name}@mesh.dev") for name in "Ab"]
        audited_bulk_create(users)
        assert User.objects.with_email("a@MESH.dev").get() == users[0]

    def test_service_users_have_none(self):
        assert robot().email_key is robot().email_key is None
        assert not User.objects.with_email("").exists()
        with pytest.raises(IntegrityError), transaction.atomic():
            User(email="x@y", is_service_user=True).save()

    def test_a_new_address_is_found_at_once(self):
        user = person(email="ann@mesh.dev")
        user_rename(user_id=user.pk, name="Ann", email="Eve@mesh.dev")
        assert User.objects.with_email("eve@mesh.dev").get() == user
        assert not User.objects.with_email("ann@mesh.dev").exists()

    def test_renaming_to_a_known_address_is_refused(self):
        person(email="ann@mesh.dev")
        user = person(email="bob@mesh.dev")
        with pytest.raises(Conflict):
            user_rename(user_id=user.pk, name="", email="ANN@mesh.dev")
        user_rename(user_id=user.pk, name="", email="BOB@mesh.dev")

    def test_who_has_none_can_be_renamed(self):
        user = User(name="Ann", issued=User.Issued.JWT, subject="issuer|ann")
        user.save(force_insert=True)
        user_rename(user_id=user.pk, name="Ann Married", email="")
        assert User.objects.get(pk=user.pk).name == "Ann Married"

    @pytest.mark.parametrize(
        "email",
        ["", "x", "@", "a@", "@b", "a b@c", "a@b@c", "a@\x00", "a" * 251 + "@b.c"],
    )
    def test_what_is_no_address_is_refused(self, email: str):
        with pytest.raises(InvalidArgument):
            person(email=email)

    def test_the_longest_address_folds_longer_and_fits(self):
        person(email="ß" * 250 + "@b.c")

    def test_an_address_that_folds_too_long_is_refused(self):
        wide = "\N{ARABIC LIGATURE SALLALLAHOU ALAYHE WASALLAM}"
        with pytest.raises(InvalidArgument, match="508 characters when folded"):
            person(email=f"{wide * 30}@b.c")


class TestDeletion:
    def test_of_the_last_owner_is_refused(self):
        owner = person("owner")
        token_of(owner)
        with pytest.raises(Conflict, match="no owner left"):
            user_delete(user_id=owner.pk)
        assert AccessToken.objects.exists()

    def test_events_keep_who_it_was(self):
        person("owner")
        machine = robot(name="ci")
        user_delete(user_id=machine.pk)
        event = AuditEvent.objects.latest("id")
        told = (event.activity_code, event.meta["name"])
        assert told == ("service.user.delete", "ci")
        assert event.meta["created_at"].endswith("Z")


def test_creation_events_tell_people_from_service_users():
    person("owner", name="Ann", email="ann@mesh.dev")
    event = AuditEvent.objects.latest("id")
    assert (event.activity_code, event.meta["email"]) == ("user.create", "ann@mesh.dev")
    assert event.changes["password"] == {"before": None, "after": "changed"}
    robot(name="ci")
    assert AuditEvent.objects.latest("id").activity_code == "service.user.create"


def test_bulk_updates_are_refused():
    token_of(person())
    users, tokens = User.objects, AccessToken.objects
    for update in (users.update, users.unaudited_update):
        with pytest.raises(TypeError):
            update(role="owner")
    with pytest.raises(TypeError):
        tokens.update(name="x")


def test_signing_in_takes_the_time_of_a_check_for_unknown_users_too(
    monkeypatch: pytest.MonkeyPatch,
):
    """Else the answer's delay would tell which addresses exist."""
    hashed: list[str] = []
    place = "meshmgmt.accounts.services.passwords.make_password"
    monkeypatch.setattr(place, hashed.append)
    request = RequestFactory().post("/admin/login/")
    assert RoleBackend().authenticate(request, "eve@mesh.dev", "guess") is None
    assert hashed == ["guess"]


class TestAccount:
    def test_it_exists_once(self):
        account = Account.objects.get()
        assert ensure_account() == account
        assert account_id() == account.pk
        with pytest.raises(IntegrityError), transaction.atomic():
            Account().save()

    @pytest.mark.django_db(transaction=True)
    def test_it_is_made_once_whoever_asks_first(self):
        Account.objects.all().delete()
        made = race([ensure_account] * 4)
        assert set(made) == {Account.objects.get()}
        codes = AuditEvent.objects.filter(activity_code="account.create")
        assert codes.filter(target_id=made[0].pk).count() == 1

    @pytest.mark.django_db(transaction=True)
    def test_it_is_made_anew_after_the_database_was_emptied(self):
        before = account_id()
        call_command("flush", interactive=False, verbosity=0)
        account = Account.objects.get()
        assert account_id() == account.pk != before

    @pytest.mark.slow
    def test_it_waits_with_the_group_of_all_peers_until_events_can_be_kept(
        self, tmp_path: Path
    ):
        """Apps may be migrated one by one."""
        with elsewhere(KIND, folder=tmp_path):
            call_command("migrate", "accounts", verbosity=0)
            call_command("migrate", verbosity=0)
            codes = AuditEvent.objects.values_list("activity_code", flat=True)
            assert sorted(codes) == ["account.create", "group.add"]


@pytest.mark.django_db(transaction=True)
class TestRaces:
    def test_for_one_address(self):
        emails = ("ann@mesh.dev", "ANN@mesh.dev", "Ann@Mesh.dev")
        works = [partial(user_create, email=email, role="user") for email in emails]
        results = in_parallel(*works)
        assert Counter(map(type, results)) == {User: 1, Conflict: 2}
        assert User.objects.count() == 1
        assert AuditEvent.objects.filter(activity_code="user.create").count() == 1

    def test_for_the_last_owner(self):
        owners = [person("owner") for _ in range(2)]
        results = in_parallel(
            lambda: user_set_blocked(user_id=owners[0].pk, blocked=True),
            lambda: user_set_role(user_id=owners[1].pk, role="admin"),
        )
        assert sum(isinstance(result, Conflict) for result in results) == 1
        assert User.objects.owners().count() == 1

    def test_between_two_revocations(self):
        token = access_tokens.create({"name": "t", "expires_in": 1}, person().pk)
        results = in_parallel(*[partial(access_tokens.delete, token.pk)] * 2)
        assert sum(isinstance(result, NotFound) for result in results) == 1
        events = AuditEvent.objects.filter(activity_code="personal.access.token.delete")
        assert events.count() == 1

    def test_between_two_settings(self):
        in_parallel(
            lambda: account_update(settings={"peer_login_expiration": 7200}),
            lambda: account_update(settings={"metrics_push_enabled": True}),
        )
        account = Account.objects.get()
        kept = (account.peer_login_expiration, account.metrics_push_enabled)
        assert kept == (7200, True)
