"""`manage.py import_reference` against a second instance, over real HTTP."""

import json
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError
from django.db import transaction
from pytest_django.plugin import DjangoDbBlocker

from events.models import AuditEvent
from groups.models import Group
from meshmgmt.access.models import Policy
from meshmgmt.accounts.models import Account, User
from meshmgmt.inventory.models import Peer
from meshmgmt.meshstate.loading import load
from meshmgmt.movingin.models import Copied
from meshmgmt.movingin.source import Source
from tests.api_client import Api
from tests.events import commands
from tests.factories import Trail, account_settings, group
from tests.people import api_of, person
from tests.resource_contract import ok
from tests.servers import Server, running_server

pytestmark = pytest.mark.django_db

COMPANY = """
import random
from meshmgmt.core import clock
from meshmgmt.demo import company
from meshmgmt.demo.story import Story
from meshmgmt.inventory.models import Peer
story = Story(random.Random(1), clock.now())
company.plan_company(story)
company.plan_week(story)
story.play()
for peer in Peer.objects.all():
    print(peer.wg_public_key, peer.ip)
"""
"""Makes the company of the demo, without its streams, and prints the keys of its peers."""

COPIED = """
groups policies posture-checks access-tests routes networks networks/resources
networks/routers dns/nameservers dns/settings dns/zones
"""
VOLATILE = {"id", "connected", "is_current", "last_login", "updated_at", "key"}
VOLATILE |= {"state", "failures", "checked_at", "emptied_by"}  # of access tests
"""What of an object belongs to a service, not to its configuration."""


@dataclass
class Origin:
    """The service that is left: a company with everything the demo has."""

    server: Server
    token: Path
    keys: Path

    def get(self, path: str) -> Any:
        return Source(self.server.url, self.token.read_text().strip()).get(path)

    def send(self, method: str, path: str, body: Any) -> None:
        request = urllib.request.Request(  # noqa: S310 - our own server
            f"{self.server.url}/api/{path}",
            data=json.dumps(body).encode(),
            headers={"Authorization": f"Token {self.token.read_text().strip()}"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=60):  # noqa: S310
            pass


def default_policy(groups: list[str]) -> dict[str, Any]:
    """Return the policy that the reference makes with an account."""
    named = {"name": "Default", "enabled": True}
    traffic = {"action": "accept", "bidirectional": True, "protocol": "all"}
    ends = {"sources": groups, "destinations": groups}
    return {**named, "rules": [{**named, **traffic, **ends}]}


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Origin]:
    folder = tmp_path_factory.mktemp("origin")
    as_installed = {"SVC_DNS_DOMAIN": "netbird.selfhosted"}
    with running_server(folder / "var", as_installed) as server:
        token, keys = folder / "token", folder / "keys"
        keys.write_text(server.manage("shell", "-v0", "-c", COMPANY))
        command = ("create_token", "--user", "root@origin.test", "--role", "owner")
        token.write_text(server.manage(*command))
        made = Origin(server, token, keys)
        account = made.get("accounts")[0]
        settings = account["settings"] | {"dns_domain": ""}
        made.send("PUT", f"accounts/{account['id']}", {"settings": settings})
        for test in made.get("access-tests"):  # the policy below breaks promises
            made.send("PUT", f"access-tests/{test['id']}", test | {"enforce": False})
        everybody = [row["id"] for row in made.get("groups") if row["name"] == "All"]
        made.send("POST", "policies", default_policy(everybody))
        yield made


@pytest.fixture
def owner() -> User:
    """The owner of the account that is moved into."""
    return person("owner", email="root@origin.test")


def told(origin: Origin, *arguments: str, status: int = 0) -> str:
    """Run the command, which ends with a status; return what it prints."""
    given = (f"--url={origin.server.url}", f"--token-file={origin.token}")
    text, ended = commands.run("import_reference", *given, *arguments)
    assert ended == status
    return text


def run(origin: Origin, *arguments: str) -> dict[str, Any]:
    """Move in and return the report."""
    text = told(origin, f"--peer-keys={origin.keys}", "--json", *arguments)
    report: dict[str, Any] = json.loads(text)
    return report


def of_ours(report: dict[str, Any], rows: Any) -> Any:
    """Return answers of the origin with our ids, as the report maps them."""
    text = json.dumps(rows)
    for copy in report["copies"]:
        text = text.replace(f'"{copy["old_id"]}"', f'"{copy["new_id"]}"')
    return json.loads(text)


def plain(rows: Any) -> Any:
    """Return answers without what belongs to a service."""
    if isinstance(rows, list):
        return [plain(row) for row in rows]
    if isinstance(rows, dict):
        return {name: plain(row) for name, row in rows.items() if name not in VOLATILE}
    return rows


def compared(origin: Origin, status: int, *arguments: str) -> str:
    """Return what the comparison prints, which ends with a status."""
    return told(origin, "--compare", *arguments, status=status)


@dataclass(frozen=True)
class Moved:
    """What moving in told, who owns the account, and the newest event before it."""

    report: dict[str, Any]
    owner: User
    newest: int

    @property
    def api(self) -> Api:
        return api_of(self.owner)


@pytest.fixture(scope="class")
def moved(
    origin: Origin, django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[Moved]:
    """Move in once for all tests, which begin there; undo it after them."""
    with django_db_blocker.unblock(), transaction.atomic():
        # As `create_token` makes it: without a name.
        owner = person("owner", email="root@origin.test", name="")
        newest = AuditEvent.objects.latest("id").pk
        yield Moved(run(origin), owner, newest)
        transaction.set_rollback(True)


class TestMovedIn:
    def test_everything_arrives_as_it_was_by_events_of_one_correlation_id(
        self, origin: Origin, moved: Moved
    ):
        report = moved.report
        made = AuditEvent.objects.filter(id__gt=moved.newest)
        assert len(made) > len(report["copies"]) / 2
        assert {event.request_id for event in made} == {report["request_id"]}
        api = moved.api
        for path in COPIED.split():
            there, here = origin.get(path), ok(api.get(f"/api/{path}"))
            assert there, path
            assert plain(here) == plain(of_ours(report, there)), path
        settings = origin.get("accounts")[0]["settings"]
        mine = ok(api.get("/api/accounts"))[0]["settings"]
        assert mine == of_ours(report, settings)

    def test_peers_keep_public_key_address_label_and_owner(
        self, origin: Origin, moved: Moved
    ):
        report = moved.report
        there = of_ours(report, origin.get("peers"))
        here = ok(moved.api.get("/api/peers"))
        assert plain(here) == plain(there)
        assert [row["id"] for row in here] == [row["id"] for row in there]
        stored = {f"{peer.wg_public_key} {peer.ip}" for peer in Peer.objects.all()}
        assert stored == set(origin.keys.read_text().splitlines())

    def test_default_domain_of_the_names_of_peers_is_kept(
        self, origin: Origin, moved: Moved
    ):
        api = moved.api
        labels = [row["dns_label"] for row in ok(api.get("/api/peers"))]
        assert labels
        assert {label.partition(".")[2] for label in labels} == {"netbird.selfhosted"}
        assert ok(api.get("/api/accounts"))[0]["settings"]["dns_domain"] == ""
        assert load().settings.dns_domain == "netbird.selfhosted"
        assert Policy.objects.count() == len(origin.get("policies")) > 1

    def test_copy_compares_equal_but_for_secrets_times_and_counters(
        self, origin: Origin, moved: Moved
    ):
        report = moved.report
        trail = Trail()
        text = compared(origin, 0)
        assert text.endswith("\nequal\n")
        found = json.loads(compared(origin, 0, "--json"))
        assert (found["equal"], found["differences"]) == (True, [])
        assert found["compared"]["policy"] == report["counts"]["policy"]["copied"]
        assert found["compared"]["peer"] == len(origin.get("peers"))
        assert found["compared"]["setting"] > 20
        assert len(found["skipped"]) == report["counts"]["setup key"]["left_out"]
        assert trail.codes == []

    def test_users_arrive_without_passwords_and_the_owner_is_found_by_address(
        self, origin: Origin, moved: Moved
    ):
        report = moved.report
        there = of_ours(report, origin.get("users"))
        here = {row["id"]: row for row in ok(moved.api.get("/api/users"))}
        assert len(here) == len(there)
        for row in there:
            mine = here[row["id"]]
            if row["email"] == moved.owner.email:
                assert mine["id"] == moved.owner.pk
                continue
            same = ("email", "role", "auto_groups", "is_blocked", "issued")
            for name in (*same, "is_service_user"):
                assert mine[name] == row[name], name
            assert not User.objects.get(pk=row["id"]).has_usable_password()

    def test_setup_keys_have_the_same_terms_and_new_secrets(
        self, origin: Origin, moved: Moved
    ):
        report = moved.report
        there = of_ours(report, origin.get("setup-keys"))
        valid = [row for row in there if row["state"] == "valid"]
        here = {row["id"]: row for row in ok(moved.api.get("/api/setup-keys"))}
        assert set(here) == {row["id"] for row in valid} == set(report["setup_keys"])
        for row in valid:
            mine = here[row["id"]]
            for name in ("name", "type", "auto_groups", "ephemeral", "state"):
                assert mine[name] == row[name], name
            assert report["setup_keys"][row["id"]].startswith(mine["key"][:5])
        left = {row["name"]: row["reason"] for row in report["left_out"]}
        others = [row for row in there if row["state"] != "valid"]
        assert others
        for row in others:
            assert left[row["name"]] == f"it is {row['state']}"

    def test_comparison_names_each_field_that_differs(
        self, origin: Origin, moved: Moved
    ):
        api = moved.api
        policy = ok(api.get("/api/policies"))[0]
        policy["rules"][0]["bidirectional"] ^= True
        ok(api.put(f"/api/policies/{policy['id']}", policy))
        [zone, *_] = ok(api.get("/api/dns/zones"))
        record = zone["records"][0]
        path = f"/api/dns/zones/{zone['id']}/records/{record['id']}"
        ok(api.put(path, record | {"ttl": record["ttl"] + 1}))
        gone = ok(api.get("/api/dns/nameservers"))[0]
        ok(api.delete(f"/api/dns/nameservers/{gone['id']}"))
        extra = group("made here")
        found = json.loads(compared(origin, 1, "--json"))
        assert found["equal"] is False
        told = {
            (entry["kind"], entry["new_id"], entry["field"])
            for entry in found["differences"]
            if entry["kind"] != "user"
        }
        old = Copied.objects.get(new_id=gone["id"]).old_id
        assert told == {
            ("policy", policy["id"], "rules[0].bidirectional"),
            ("record", record["id"], "ttl"),
            ("zone", zone["id"], "records[0].ttl"),
            ("nameserver group", "", ""),
            ("group", extra.pk, ""),
        }
        lines, ttl = compared(origin, 1).splitlines(), record["ttl"]
        assert [x for x in lines if x.endswith(f": ttl: there {ttl}, here {ttl + 1}")]
        assert f"nameserver group {old} {gone['name']}: only there" in lines
        assert f"group {extra.pk} made here: only here" in lines
        assert lines[-1] == "different"

    def test_second_run_changes_nothing_and_maps_the_same(
        self, origin: Origin, moved: Moved
    ):
        before = Account.objects.get().regular_users_view_blocked
        account_settings(regular_users_view_blocked=not before)  # and so it stays
        trail = Trail()
        second = run(origin)
        assert trail.codes == []
        ids = [
            [
                (copy["kind"], copy["old_id"], copy["new_id"])
                for copy in report["copies"]
            ]
            for report in (moved.report, second)
        ]
        assert ids[0] == ids[1]
        assert {copy["is_new"] for copy in second["copies"]} == {False}
        assert second["left_out"] == moved.report["left_out"]
        assert second["setup_keys"] == {}

    def test_account_with_configuration_of_its_own_is_refused(
        self, origin: Origin, moved: Moved
    ):
        group("made here")
        trail = Trail()
        with pytest.raises(CommandError, match=r"other configuration \(group: 1\)"):
            run(origin)
        assert trail.codes == []


def test_comparison_of_nothing_copied_says_what_is_only_there(
    origin: Origin, owner: User
):
    found = json.loads(compared(origin, 1, "--json"))
    only = [entry for entry in found["differences"] if entry["kind"] == "peer"]
    assert len(only) == len(origin.get("peers"))
    assert {(entry["new_id"], entry["field"]) for entry in only} == {("", "")}


def test_dry_run_reports_and_writes_nothing(origin: Origin, owner: User):
    trail = Trail()
    report = run(origin, "--dry-run")
    assert report["dry_run"] is True
    assert report["counts"]["peer"]["copied"] == len(origin.get("peers"))
    assert report["setup_keys"] == {}
    assert trail.codes == []
    assert not Copied.objects.exists()
    assert User.objects.count() == 1


def test_account_without_owner_is_refused(origin: Origin):
    with pytest.raises(CommandError, match="no owner yet"):
        run(origin)
    assert not User.objects.exists()


@pytest.mark.slow
def test_without_public_keys_peers_are_left_out_and_what_names_them(
    origin: Origin, owner: User, tmp_path: Path
):
    (tmp_path / "keys").write_text("")
    report = run(origin, f"--peer-keys={tmp_path / 'keys'}")
    assert not Peer.objects.exists()
    reasons = [row["reason"] for row in report["left_out"] if row["kind"] == "peer"]
    assert len(reasons) == len(origin.get("peers"))
    assert all("--peer-keys" in reason for reason in reasons)
    assert Group.objects.count() == len(origin.get("groups"))
    named = [row for row in report["left_out"] if "names the peer" in row["reason"]]
    assert {row["kind"] for row in named} <= {"route", "network router", "policy"}


def test_report_for_people_says_what_became_of_what(origin: Origin, owner: User):
    text = told(origin, f"--url={origin.server.url}/api/")
    zone = origin.get("dns/zones")[0]
    copied = Copied.objects.get(kind="zone", old_id=zone["id"])
    assert f"zone {zone['id']} => {copied.new_id} {zone['name']}\n" in text
    assert "left out: peer" in text
    assert "new setup key" in text


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://127.0.0.1:9", "does not answer"),
        ("ftp://mesh.test", "not an http or https address"),
    ],
)
def test_source_that_cannot_be_read_is_named(
    origin: Origin, owner: User, url: str, reason: str
):
    with pytest.raises(CommandError, match=reason):
        run(origin, f"--url={url}")


def test_wrong_token_is_named(origin: Origin, owner: User, tmp_path: Path):
    (tmp_path / "token").write_text("mpt_wrong")
    with pytest.raises(CommandError, match="answered 401"):
        run(origin, f"--token-file={tmp_path / 'token'}")
    with pytest.raises(CommandError, match="cannot be read"):
        run(origin, f"--token-file={tmp_path / 'absent'}")
    assert Api().get("/api/groups").status == 401
