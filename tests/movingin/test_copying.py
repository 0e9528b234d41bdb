"""Rows as the reference answers them, exchanged ids, public keys."""

import datetime as dt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dns.models import NameserverGroup
from events.models import AuditEvent
from groups.models import Group, GroupPeer, GroupResource
from meshmgmt.access.models import Policy, Route, RuleSource, SetupKey
from meshmgmt.accesstests.models import AccessTest
from meshmgmt.accounts.models import Account, User
from meshmgmt.accounts.services.users import user_update
from meshmgmt.core import clock
from meshmgmt.inventory.models import Peer
from meshmgmt.movingin.copying import Report, account_compare, account_copy
from meshmgmt.movingin.rows import NotCopiedError, peer_columns, public_keys, translated
from meshmgmt.movingin.source import Foreign, SourceError, known_form, read
from tests.dns.bodies import nameserver_group
from tests.factories import members_of
from tests.people import person

KEY = "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE="
NEVER = "0001-01-01T00:00:00Z"
PEER = {
    "id": "p1",
    "name": "alpha",
    "ip": "100.64.7.9",
    "connection_ip": "<nil>",
    "dns_label": "alpha-7-9.netbird.selfhosted",
    "extra_dns_labels": ["db.netbird.selfhosted"],
    "user_id": "",
    "last_seen": "2026-11-01T08:00:00.123456789Z",
    "last_login": NEVER,
    "created_at": "2025-01-01T00:00:00Z",
}
ALL = {"id": "g0", "name": "All", "issued": "api", "peers": [{"id": "p1"}]}
ANN: dict[str, Any] = {"id": "u", "email": "ann@mesh.dev", "name": "Ann"}
ANN |= {"role": "admin", "is_service_user": False}
MEMBERS = [{"id": "p1"}, {"id": "p9"}]
OPS = {"id": "g1", "name": "ops", "issued": "jwt", "peers": MEMBERS}
OPS_SHOWN = {"id": "g1", "name": "ops", "peers_count": 1, "resources_count": 0}
RULE: dict[str, Any] = {"id": "x", "name": "in", "enabled": True, "action": "accept"}
RULE |= {"protocol": "all", "sources": [OPS_SHOWN], "destinations": None}
RULE |= {"destinationResource": {"id": "p1", "type": "peer"}}


def copied(*, keys: str = KEY, **rows: Any) -> Report:
    """Copy rows, the kinds named with underscores, into an account with an owner."""
    if not User.objects.any_owner():
        person("owner")
    named = {kind.replace("_", " "): found for kind, found in rows.items()}
    there = Foreign("there", {"setting": [], "user": [], "peer": [], **named})
    return account_copy(there, keys={"100.64.7.9": keys}, dry_run=False)


def left(**rows: Any) -> Any:
    """Copy rows of which one is left out; return what is told of it."""
    [entry] = copied(**rows).left_out
    return entry


def with_rule(**changes: Any) -> dict[str, Any]:
    return {"id": "y", "name": "p", "enabled": True, "rules": [RULE | changes]}


ACCOUNT = {"id": "a1", "settings": {"dns_domain": "x.test"}}


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        *(("accounts", {"a": 1}), ("accounts", "x"), ("accounts", [1])),
        *(("accounts", [{}]), ("accounts", [{**ACCOUNT, "settings": [1]}])),
        *(("users", {"a": 1}), ("groups", ["g1"]), ("peers", 7), ("networks", [{}])),
        *(("networks/n1/routers", {"a": 1}), ("dns/settings", [1])),
    ],
)
def test_an_answer_of_another_form_is_told(path: str, answer: Any):
    answers = {"accounts": [ACCOUNT], "networks": [{"id": "n1"}], path: answer}
    with pytest.raises(SourceError), known_form():
        read(answers.get)


@pytest.mark.django_db
def test_a_row_of_another_form_is_left_out_and_told():
    report = copied(user=[{"id": "u1"}], peer=[{**PEER, "ip": [1]}])
    told = [row.old_id for row in report.left_out if "another form" in row.reason]
    assert told == ["u1", "p1"]
    groups = [{"id": "g1", "resources": [{"id": "r"}]}]
    with pytest.raises(SourceError, match="another form"):
        copied(group=groups, setup_key=[{}])
    with pytest.raises(SourceError, match="another form"):
        account_compare(Foreign("there", {"setup key": [{"usage_limit": 1}]}))


@pytest.mark.django_db
def test_what_the_other_service_does_not_have_at_all_is_no_difference():
    person("owner")
    AccessTest.objects.create(name="ours alone")
    nothing: dict[str, Any] = {"access test": []}
    assert not account_compare(Foreign("there", nothing)).equal
    assert account_compare(Foreign("there", nothing, ["access test"])).equal


@pytest.mark.django_db
@pytest.mark.usefixtures("wide_range")
class TestRowsOfTheReference:
    def test_peer(self):
        copied(peer=[PEER], group=[ALL, OPS])
        peer = Peer.objects.get()
        assert (peer.wg_public_key, peer.ip, peer.name) == (KEY, "100.64.7.9", "alpha")
        assert (peer.dns_label, peer.extra_dns_labels) == ("alpha-7-9", ["db"])
        assert peer.connection_ip in {"", None}
        assert peer.last_login is None
        assert peer.last_seen is not None
        ops = Group.objects.get(name="ops")
        assert (ops.issued, members_of(ops)) == ("jwt", [peer.pk])

    def test_peer_whose_key_is_told_later_joins_its_groups(self):
        row = {**PEER, "groups": [{"id": "g0", "name": "All"}, {"id": "g1"}]}
        report = copied(keys="", peer=[row], group=[ALL, OPS])
        assert [entry.kind for entry in report.left_out] == ["peer"]
        assert copied(peer=[row], group=[ALL, OPS]).left_out == []
        joined = GroupPeer.objects.get()
        assert (joined.peer, joined.group.name) == (Peer.objects.get(), "ops")

    def test_ipv6_addresses_of_peers_are_kept(self):
        row = {**PEER, "ipv6": "fd00:1234::7"}
        names: dict[str, Any] = {"network_range_v6": "fd00:1234::/64"}
        names |= {"peer_expose_groups": ["g1"], "ipv6_enabled_groups": ["g1"]}
        settings = [{"id": name, name: value} for name, value in names.items()]
        report = copied(setting=settings, peer=[row], group=[ALL, OPS])
        assert report.left_out == []
        assert Peer.objects.get().ipv6 == "fd00:1234::7"
        events = AuditEvent.objects.values_list("activity_code", flat=True)
        assert "peer.ip.update" not in events

    def test_group_keeps_its_peers_as_resources(self):
        listed = {**OPS, "resources": [{"id": "p1", "type": "peer"}]}
        peer, resources = copied(keys="", peer=[PEER], group=[ALL, listed]).left_out
        assert (peer.kind, resources.kind) == ("peer", "group's resources")
        assert "names the peer p1" in resources.reason
        assert copied(peer=[PEER], group=[ALL, listed]).left_out == []
        entry = GroupResource.objects.get()
        found = (entry.resource_id, entry.resource_type, entry.group.name)
        assert found == (Peer.objects.get().pk, "peer", "ops")

    @pytest.mark.parametrize(
        ("changes", "sources", "kind"),
        [
            ({}, 1, "peer"),
            # A side that is not told lets nobody through.
            ({"sources": None, "destinationResource": {"id": "", "type": ""}}, 0, ""),
            # A type of a resource that is not its own is kept.
            ({"destinationResource": {"id": "p1", "type": "host"}}, 1, "host"),
        ],
    )
    def test_rule_is_copied_as_it_is(
        self, changes: dict[str, Any], sources: int, kind: str
    ):
        report = copied(peer=[PEER], group=[ALL, OPS], policy=[with_rule(**changes)])
        assert report.left_out == []
        rule = Policy.objects.get().rules.get()
        assert RuleSource.objects.filter(rule=rule).count() == sources
        there = Peer.objects.get().pk if kind else ""
        ends = (rule.source_resource_id, rule.destination_resource_id)
        assert (*ends, rule.destination_resource_type) == ("", there, kind)

    def test_empty_domain_is_kept_and_means_what_the_names_of_peers_end_with(self):
        settings = [{"id": "dns_domain", "dns_domain": ""}]
        report = copied(setting=settings, peer=[PEER], group=[ALL])
        assert report.left_out == []
        account = Account.objects.get()
        assert (account.dns_domain, account.peers_domain) == ("", "netbird.selfhosted")

    def test_route_of_domains_with_its_placeholder(self):
        route: dict[str, Any] = {
            "id": "r",
            "network_id": "wiki",
            "network": "192.0.2.0/32",
        }
        route |= {"domains": ["wiki.example"], "peer": "p1", "groups": ["g1"]}
        route |= {"enabled": True, "metric": 9999, "masquerade": True}
        route |= {"keep_route": False}
        report = copied(peer=[PEER], group=[ALL, OPS], route=[route])
        assert report.left_out == []
        assert Route.objects.get().domains == ["wiki.example"]

    def test_what_names_something_left_out_is_left_out_too(self):
        policy = with_rule(destinationResource={"id": "p9", "type": "peer"})
        told = left(peer=[PEER], group=[ALL, OPS], policy=[policy])
        assert (told.kind, told.old_id) == ("policy", "y")
        assert "names the peer p9" in told.reason
        assert not Policy.objects.exists()

    def test_router_that_is_left_out_is_named_by_its_network(self):
        part = {"part_of": "n", "part_of_name": "office"}
        router = {"id": "r", "peer": "p9", "metric": 1, "masquerade": True, **part}
        told = left(network=[], network_router=[router])
        assert (told.name, told.reason) == ("of office", "its network is not copied")

    def test_what_breaks_a_rule_is_left_out_with_the_reason(self):
        alike = {"nameservers": [{"ip": "10.0.0.1"}], "primary": True, "domains": None}
        servers = nameserver_group(id="n", name="", groups=["g1"], **alike)
        named = {**servers, "id": "m", "name": "named"}
        told = left(group=[OPS], nameserver_group=[servers, named])
        assert (told.old_id, "name" in told.reason) == ("n", True)
        assert NameserverGroup.objects.get().name == "named"

    def test_setting_that_is_refused_leaves_the_others(self):
        settings = [
            {"id": "network_range", "network_range": "8.8.8.0/33"},
            {"id": "groups_propagation_enabled", "groups_propagation_enabled": False},
            {"id": "dashboard_features", "dashboard_features": {}},
        ]
        report = copied(setting=settings)
        assert [entry.old_id for entry in report.left_out] == ["network_range"]
        assert [copy.old_id for copy in report.copies] == ["groups_propagation_enabled"]

    @pytest.mark.parametrize("seconds", [-0.2, 0.2])
    def test_setup_key_at_its_end_does_not_become_endless(self, seconds: float):
        ends = clock.now() + dt.timedelta(seconds=seconds)
        facts = {"id": "k", "name": "k", "type": "reusable", "auto_groups": []}
        uses = {"usage_limit": 0, "used_times": 0}
        valid = {"state": "valid", "expires": clock.rfc3339(ends)}
        copied(setup_key=[{**facts, **uses, **valid}])
        assert not SetupKey.objects.filter(expires_at=None).exists()

    def test_person_without_address_is_left_out(self):
        report = copied(user=[ANN | {"email": ""}])
        assert {entry.kind for entry in report.left_out} == {"user", "user's rights"}

    @pytest.mark.parametrize("email", ["", "ann@mesh.dev"])
    def test_machine_of_a_person_who_is_not_copied_is_left_out(self, email: str):
        peer = {**PEER, "user_id": "u"}
        report = copied(user=[ANN | {"email": email}], peer=[peer])
        told = [entry.reason for entry in report.left_out if entry.kind == "peer"]
        assert told == ([] if email else ["it names the user u, which is not copied"])
        owners = list(Peer.objects.values_list("user__email", flat=True))
        assert owners == ([email] if email else [])
        # Once the address is there, the machine follows its owner.
        copied(user=[ANN], peer=[peer])
        assert Peer.objects.get().user == User.objects.get(email=ANN["email"])

    @pytest.mark.parametrize("is_known", [False, True])
    def test_blocked_person_stays_out_whatever_becomes_of_the_rights(
        self, is_known: bool
    ):
        if is_known:
            person("user", email=ANN["email"])
        blocked = ANN | {"is_blocked": True, "auto_groups": ["g9"]}
        report = copied(user=[blocked])
        assert [entry.kind for entry in report.left_out] == ["user's rights"]
        assert User.objects.get(email=ANN["email"]).is_blocked

    def test_blocked_service_user_stays_blocked_too(self):
        robot = {"name": "robot", "is_service_user": True, "is_blocked": True}
        copied(user=[ANN | robot | {"auto_groups": ["g9"]}])
        assert User.objects.get(name="robot").is_blocked

    def test_rights_that_follow_later_let_nobody_in_who_was_blocked_since(self):
        copied(user=[ANN | {"auto_groups": ["g1"]}])
        ann = User.objects.get(email=ANN["email"])
        owner = User.objects.owners().get()
        user_update(user_id=ann.pk, changes={"is_blocked": True}, by=owner)
        assert copied(user=[ANN | {"auto_groups": ["g1"]}], group=[OPS]).left_out == []
        assert User.objects.get(pk=ann.pk).is_blocked

    def test_group_that_was_deleted_since_is_told_at_the_next_run(self):
        listing = {**OPS, "resources": []}
        copied(peer=[PEER], group=[listing])
        Group.objects.get(name="ops").delete()
        listing["resources"] = [{"id": "p1", "type": "peer"}]
        told = left(peer=[PEER], group=[listing])
        assert (told.kind, told.old_id) == ("group's resources", "g1")
        assert "not found" in told.reason

    def test_values_that_nothing_can_hold_are_left_out_and_told(self):
        odd = {"id": "jwt_groups_enabled", "jwt_groups_enabled": "0001-01-01T00:00:00Z"}
        peers = [
            {**PEER, "ephemeral": 2**63},
            {**PEER, "id": "p2", "geoname_id": 2**70},
        ]
        told = copied(setting=[odd], peer=peers, group=[{**OPS, "id": "a\0b"}]).left_out
        assert {"jwt_groups_enabled", "p1", "p2"} <= {entry.old_id for entry in told}

    def test_posture_check_that_has_more_than_is_known_here_is_left_out(self):
        checks = {"nb_version_check": {"min_version": "0.60.0"}, "moon_check": {}}
        row = {"id": "c", "name": "new", "description": "", "checks": checks}
        assert "moon_check" in left(posture_check=[row]).reason

    def test_two_people_of_one_address_are_compared_with_the_one_here(self):
        again = ANN | {"id": "u2", "email": ANN["email"].upper(), "auto_groups": []}
        rows: dict[str, Any] = {"user": [ANN | {"auto_groups": []}, again]}
        copied(**rows)
        found = account_compare(Foreign("there", rows)).differences
        assert "email" in {entry.field for entry in found if entry.old_id == "u2"}


class TestReferences:
    IDS = {("group", "g"): "G", ("peer", "p"): "P", ("network resource", "p"): "R"}

    def test_ids_are_exchanged_by_the_meaning_of_their_field(self):
        def rule(group: str, host: str, peer: str) -> dict[str, Any]:
            return {
                "sources": [group],
                "authorized_groups": {group: ["root"]},
                "sourceResource": {"id": host, "type": "host"},
                "destinationResource": {"id": peer, "type": "peer"},
            }

        row = {"name": "g", "peer_groups": None, "rules": [rule("g", "p", "p")]}
        there = {"groups": [{"id": "g", "name": "p"}], "peer": "p"}
        ours = {"groups": ["G"], "peer": "P", "rules": [rule("G", "R", "P")]}
        assert translated(row | there, self.IDS) == row | ours

    def test_unknown_id_is_named(self):
        with pytest.raises(NotCopiedError, match="names the group x"):
            translated({"distribution_groups": ["g", "x"]}, self.IDS)

    @given(st.lists(st.sampled_from("abc"), max_size=5))
    def test_order_and_repetitions_stay(self, old: list[str]):
        ids = {("group", letter): letter.upper() for letter in "abc"}
        assert translated({"groups": old}, ids) == {
            "groups": [letter.upper() for letter in old]
        }


class TestPublicKeys:
    def test_lines_of_wg_are_read(self):
        text = f"{KEY}\t100.64.7.9/32 fd00::9/128\nother\t(none)\n\nthird 100.64.0.3"
        assert public_keys(text.splitlines()) == {
            "100.64.7.9": KEY,
            "fd00::9": KEY,
            "100.64.0.3": "third",
        }

    def test_line_of_something_else_is_named(self):
        with pytest.raises(ValueError, match="line 2 is not KEY ADDRESS"):
            public_keys([f"{KEY} 100.64.7.9", "not a key"])

    def test_peer_without_key_has_none(self):
        assert peer_columns(PEER, {})["wg_public_key"] == ""
