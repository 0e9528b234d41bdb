"""The configuration as one document: round trips, plans, refusals, drift."""

import io
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from threading import Thread
from typing import Final

import jsonschema_rs
import pytest
import yaml
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st

from groups.models import Group
from meshmgmt.configuration.document import as_yaml, configuration
from meshmgmt.configuration.sections import schema
from meshmgmt.core.orderedlinks import all_links
from meshmgmt.core.transactions import read_snapshot
from meshmgmt.inventory.models import NetworkResource
from meshmgmt.movingin.rows import GROUP_LISTS
from tests.access import bodies
from tests.api_client import Api
from tests.databases import KIND, elsewhere
from tests.dns import bodies as dns
from tests.factories import Trail, group, newest_event, numbered, peer, peers, resource
from tests.history.writes import Writer
from tests.people import api_as, person, robot
from tests.resource_contract import Body, ok, stored

pytestmark = pytest.mark.django_db


def document() -> Body:
    with read_snapshot():
        return configuration()


def run(*words: str) -> tuple[int, str]:
    """Run `manage.py config`; return its status and what it prints."""
    printed = io.StringIO()
    try:
        call_command("config", *words, stdout=printed)
    except SystemExit as ended:
        return int(ended.code or 0), printed.getvalue()
    return 0, printed.getvalue()


def done(deed: str, file: Path, found: Body) -> tuple[int, str]:
    """Write a document and run a command on it."""
    file.write_text(as_yaml(found))
    return run(deed, str(file))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where a document is written."""
    return tmp_path / "config.yaml"


@pytest.fixture
def filled() -> Body:
    """A configuration of many objects that refer to each other."""
    api = api_as()
    writer = Writer(api, Random(7), [one.pk for one in peers(3)])
    for _ in range(60):
        writer.write()
    some = [ok(api.post("/api/groups", {"name": n}))["id"] for n in ("ops", "eng")]
    zone = dns.zone(name="o", domain="office.example", distribution_groups=some)
    ok(api.post("/api/dns/zones", zone))
    domains = ["b.example", "a.example"]
    servers = dns.nameserver_group(name="z servers", domains=domains, groups=some)
    ok(api.post("/api/dns/nameservers", servers))
    # Before the networks that are drawn.
    network = ok(api.post("/api/networks", {"name": "an office"}))["id"]
    resource = {"name": "nas", "address": "10.0.0.1", "groups": some, "enabled": True}
    made = ok(api.post(f"/api/networks/{network}/resources", resource))
    router = {"peer_groups": some[:1], "metric": 9, "masquerade": True, "enabled": True}
    ok(api.post(f"/api/networks/{network}/routers", router))
    check = {"name": "new", "checks": {"nb_version_check": {"min_version": "0.60.0"}}}
    posture = ok(api.post("/api/posture-checks", {"description": "", **check}))
    rule = {
        "name": "to the nas",
        "enabled": True,
        "action": "accept",
        "bidirectional": False,
        "protocol": "tcp",
        "ports": ["445"],
        "sources": some,
        "destinationResource": {"id": made["id"], "type": "host"},
    }
    policy = {"name": "nas", "enabled": True, "rules": [rule]}
    ok(api.post("/api/policies", {**policy, "source_posture_checks": [posture["id"]]}))
    route: Body = {"network_id": "lan", "network": "10.9.0.0/16", "description": ""}
    route |= {"enabled": True, "metric": 100, "masquerade": True}
    ok(api.post("/api/routes", {**route, "peer_groups": some[:1], "groups": some}))
    return document()


def test_every_list_of_groups_is_known_to_hold_some():
    """Its entries are named, and copied from another service, by the list's name."""
    lists = {
        link.relation for link in all_links() if link.member_fields == ("group_id",)
    }
    assert lists
    assert lists <= {*GROUP_LISTS}


def test_it_names_and_sorts_and_shows_no_ids(filled: Body):
    text = as_yaml(filled)
    ids = Group.objects.values_list("pk", flat=True)
    assert not [identifier for identifier in ids if identifier in text]
    for section in ("groups", "policies", "zones", "nameserver_groups", "networks"):
        names = [entry["name"] for entry in filled[section]]
        assert names
        if section != "zones":
            assert names == sorted(names)
    jsonschema_rs.validate(schema(), filled)


@pytest.mark.slow
def test_round_trip_into_an_empty_instance_gives_the_same_bytes(
    filled: Body, file: Path, tmp_path: Path
):
    file.write_text(as_yaml(filled))
    with elsewhere(KIND, folder=tmp_path, migrated=True):
        person()
        status, _ = run("apply", str(file))
        assert status == 0
        _, exported = run("export")
        assert exported == file.read_text()
        trail = Trail()
        assert run("plan", str(file))[0] == 0
        assert trail.codes == []


@given(st.text(st.sampled_from("aé \x85\u2028\ufeff\r\n\t'\":#-")) | st.text())
def test_any_text_is_read_as_it_was_written(text: str):
    assert yaml.safe_load(as_yaml({"name": text})) == {"name": text}


def test_many_entries_that_share_a_key_keep_their_order(api: Api, file: Path):
    for number in range(1, 12):
        ok(api.post("/api/routes", bodies.route(peer=numbered(number).pk)))
    assert done("plan", file, document())[0] == 0


@pytest.mark.slow
def test_a_plan_shows_the_difference_and_writes_nothing(filled: Body, file: Path):
    filled["groups"].insert(0, {"name": "brand new"})
    filled["zones"][0]["enabled"] = not filled["zones"][0]["enabled"]
    gone = filled["nameserver_groups"].pop()["name"]
    file.write_text(as_yaml(filled))
    before = stored()
    status, printed = run("plan", str(file))
    assert status == 1
    assert stored() == before
    assert "created   group brand new" in printed
    assert f"deleted   nameservergroup {gone}" in printed
    trail = Trail()
    assert run("apply", str(file))[0] == 0
    assert document() == filled
    assert len({event.request_id for event in trail.events}) == 1
    assert run("plan", str(file))[0] == 0


@pytest.mark.slow
def test_a_section_that_is_not_there_stays(filled: Body, tmp_path: Path):
    file = tmp_path / "config.json"
    file.write_text(json.dumps({"version": 1, "groups": filled["groups"]}))
    assert run("apply", str(file))[0] == 0
    assert document() == filled


def test_a_router_is_known_by_its_groups_however_they_are_written(api: Api, file: Path):
    network = ok(api.post("/api/networks", {"name": "office"}))["id"]
    ids = [ok(api.post("/api/groups", {"name": name}))["id"] for name in ("b", "a")]
    router = {"metric": 9, "masquerade": True, "enabled": True}
    ok(api.post(f"/api/networks/{network}/routers", {**router, "peer_groups": ids}))
    written = {"name": "office", "routers": [{**router, "peer_groups": ["b", "a"]}]}
    file.write_text(json.dumps({"version": 1, "networks": [written]}))
    assert run("plan", str(file))[0] == 0


@pytest.mark.slow
def test_more_deletions_than_allowed_are_refused(filled: Body, file: Path):
    file.write_text(as_yaml({**filled, "zones": [], "policies": []}))
    with pytest.raises(CommandError, match="would be deleted, more than the 1"):
        run("apply", str(file), "--max-deletions", "1")
    assert document() == filled
    with pytest.raises(CommandError, match="would be deleted, more than the 1") as said:
        run("plan", str(file), "--max-deletions", "1")
    assert said.value.returncode == 2
    with pytest.raises(CommandError, match="must be a number from 0 on"):
        run("plan", str(file), "--max-deletions", "-1")
    assert run("plan", str(file), "--max-deletions", "500")[0] == 1
    assert run("apply", str(file), "--max-deletions", "500")[0] == 0
    assert document()["zones"] == []


FAULTS: Final[list[tuple[Body, str]]] = [
    ({"version": 2}, "version"),
    ({"nonsense": []}, "nonsense"),
    ({"groups": [{"nam": "x"}]}, r"groups\[0\].*'nam' was unexpected"),
    ({"groups": [{"name": ""}]}, r"groups\[0\]: the name"),
    (
        {"zones": [dns.zone(distribution_groups=["nobody"])]},
        r"zones\[0\]: there is no group named 'nobody'",
    ),
    ({"policies": [{"name": "p", "rules": ["x"]}]}, r"policies\[0\]: what refers"),
    ({"access_tests": [{"name": "t", "source": "x"}]}, r"access_tests\[0\]: what"),
    ({"settings": {"peer_login_expiration": "x"}}, "settings: peer_login_exp"),
    ({"settings": {"default_dns_domain": "x.test"}}, "there is no 'default_dns_d"),
    ({"dns_settings": {"groups": []}}, "dns_settings: .*'groups' was unexpected"),
    ({"settings": {"local_mfa_enabled": None}}, "settings: local_mfa_enabled must not"),
    ({"settings": {"embedded_idp_enabled": True}}, "settings: embedded_idp_enabled ca"),
    ({"groups": []}, r"networks\[0\].*: there is no group named '(ops|eng)'"),
]


def test_faults_are_named_with_their_place(filled: Body, file: Path):
    before = stored()
    for change, says in FAULTS:
        file.write_text(yaml.safe_dump({**filled, **change}))
        with pytest.raises(CommandError, match=says):
            run("apply", str(file), "--max-deletions", "999")
        assert stored() == before, says


def test_a_name_that_two_groups_have_stands_for_neither(file: Path):
    ok(api_as().post("/api/policies", bodies.policy()))
    group("people", issued="jwt")
    found = document()
    assert done("plan", file, found)[0] == 0
    found["policies"][0]["description"] = "another"
    with pytest.raises(CommandError, match=r"policies\[0\]: there is more than one gr"):
        done("apply", file, found)


def test_rules_that_are_taken_away_by_null_are_told(filled: Body, file: Path):
    changed = [{**policy, "rules": None} for policy in filled["policies"]]
    file.write_text(yaml.safe_dump({**filled, "policies": changed}))
    with pytest.raises(CommandError, match=r"policies\[0\]"):
        run("plan", str(file))


@pytest.mark.parametrize(
    "text", ["[", "just text", "- 1", "\x00", "version: 2026-02-30"]
)
def test_what_is_no_document_is_refused(file: Path, text: str):
    file.write_text(text)
    with pytest.raises(CommandError):
        run("apply", str(file))


@pytest.mark.parametrize("deed", ["apply", "drift"])
@pytest.mark.parametrize(
    "value",
    [
        *("!!python/x 1", "!!timestamp x", "!!bool x", '!!int ""', "!!binary YQ=="),
        *("!!set {a}", "{1: a}", "{~: a}", r'"\uD800"', r'"\UFFFFFFFF"'),
        f"0x{'9' * 5000}",
    ],
)
def test_a_value_that_no_document_has_is_told_in_a_line(
    file: Path, deed: str, value: str
):
    file.write_text(f"version: 1\nsettings: {{dns_domain: {value}}}")
    with pytest.raises(CommandError, match="neither YAML nor JSON") as refused:
        run(deed, str(file))
    assert refused.value.returncode == 2
    assert "\n" not in str(refused.value)


def test_what_was_exported_as_json_changes_nothing(file: Path):
    group("🛰 uplinks")
    file.write_text(run("export", "--json")[1])
    assert run("plan", str(file))[0] == 0


def test_a_missing_file_is_told():
    with pytest.raises(CommandError, match="No such file"):
        run("plan", "/nonexistent")


@pytest.mark.slow
def test_the_api_serves_it_as_json_and_yaml(filled: Body):
    api = api_as("auditor")
    answer = api.get("/api/config")
    assert ok(answer) == filled
    text = api.get("/api/config", Accept="application/yaml")
    assert text.headers["Content-Type"].startswith("application/yaml")
    assert text.body.decode() == as_yaml(filled)
    unchanged = {"If-None-Match": answer.headers["ETag"]}
    assert api.get("/api/config", **unchanged).status == 304
    assert ok(api.get("/api/config/schema")) == schema()


@pytest.mark.slow
def test_drift_shows_what_differs(filled: Body, file: Path):
    file.write_text(as_yaml(filled))
    assert run("drift", str(file)) == (0, "No difference.\n")
    ok(api_as().post("/api/groups", {"name": "by hand"}))
    status, printed = run("drift", str(file))
    assert status == 1
    assert "+- name: by hand" in printed


@pytest.mark.parametrize(
    ("status", "body", "says"),
    [
        ("404", b"", "serves no configuration"),
        ("200", b"[]", "serves no configuration"),
        ("200", b"{", "answered no JSON"),
        ("200", b"[" * 100_000, "answered no JSON"),
        ("200", b'{"a":' * 400 + b"1" + b"}" * 400, "nested too deeply"),
        ("302", b"", "answered 302: is this its own address"),
        ("401", b"", "does the token belong"),
        ("x", b"", "does not answer"),
    ],
)
def test_a_hostile_answer_ends_drift_with_a_sentence(
    tmp_path: Path, status: str, body: bytes, says: str
):
    with (
        served(status, body, tmp_path) as words,
        pytest.raises(CommandError, match=says) as refused,
    ):
        run("drift", *words)
    assert refused.value.returncode == 2


def without_records(document: Body) -> list[Body]:
    return [
        {name: value for name, value in zone.items() if name != "records"}
        for zone in document["zones"]
    ]


def test_drift_between_a_file_and_another_instance_is_of_what_the_file_has(
    filled: Body, file: Path
):
    zones = without_records(filled)
    settings = dict(reversed(list(filled["settings"].items())))
    del settings["peer_login_expiration"]
    some = {"groups": filled["groups"][::-1], "settings": settings, "zones": zones}
    file.write_text(json.dumps({"version": 1, **some}))
    with served("200", json.dumps(filled).encode(), file.parent) as words:
        assert run("drift", str(file), *words) == (0, "No difference.\n")
    zones[0]["enabled"] = not zones[0]["enabled"]
    file.write_text(json.dumps({"version": 1, **some}))
    with served("200", json.dumps(filled).encode(), file.parent) as words:
        status, printed = run("drift", str(file), *words)
    assert status == 1
    changed = [line for line in printed.splitlines() if line[0] in "+-"][2:]
    assert len(changed) == 2


@contextmanager
def served(status: str, body: bytes, folder: Path) -> Iterator[tuple[str, ...]]:
    """Give the options that name an instance which answers one request so."""
    token = folder / "token"
    token.write_text("\ufeffsecret\n")  # as editors of Windows begin a text
    head = f"HTTP/1.0 {status} X\r\nLocation: http://127.0.0.1:1/\r\n\r\n".encode()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            with server.accept()[0] as asked:
                asked.recv(4096)
                asked.sendall(head + body)

        thread = Thread(target=answer)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        yield "--url", url, "--token-file", str(token)
        thread.join()


def test_errors_end_with_another_status_than_differences(file: Path):
    file.write_text("version: 7\n")
    absent = f"{file}.none"
    for words in (["plan", str(file)], ["drift", absent], ["drift"]):
        with pytest.raises(CommandError) as refused:
            run(*words)
        assert refused.value.returncode == 2


def test_a_document_that_grows_without_end_is_refused(file: Path):
    lines = ["version: 1", "groups:", " - name: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    for number in range(1, 12):
        several = ", ".join([f"*a{number - 1}"] * 10)
        lines.append(f" - name: &a{number} [{several}]")
    file.write_text("\n".join(lines))
    with pytest.raises(CommandError, match="aliases"):
        run("plan", str(file))


def test_parts_that_an_entry_does_not_have_stay(filled: Body, file: Path):
    zones = without_records(filled)
    networks = [
        {name: network[name] for name in ("name", "routers")}
        for network in filled["networks"]
    ]
    some = {"version": 1, "zones": zones, "networks": networks}
    assert done("plan", file, some)[0] == 0
    assert run("drift", str(file)) == (0, "No difference.\n")


def test_a_network_gets_another_name_and_keeps_its_resources(filled: Body, file: Path):
    filled["networks"][0]["name"] = "a renamed office"
    assert done("apply", file, filled)[0] == 0
    assert document() == filled


def test_a_resource_moves_to_another_network(filled: Body, file: Path):
    [before] = NetworkResource.objects.values_list("pk", flat=True)
    first = document()
    moved = filled["networks"][0]["resources"].pop()
    other = {"name": "warehouse", "description": "", "resources": [moved]}
    filled["networks"].append({**other, "routers": []})
    # No other section: what names the resource goes on doing so.
    some = {"version": 1, "networks": filled["networks"]}
    assert done("apply", file, some)[0] == 0
    assert document() == filled
    assert [one.pk for one in NetworkResource.objects.all()] == [before]
    path = f"/api/events/audit/{newest_event().pk}/revert"
    ok(api_as().post(path, {"whole_request": True}))
    assert document() == first


def test_what_goes_is_named_by_nothing_else_in_the_document(filled: Body, file: Path):
    for section, number, says in (
        ("groups", -1, "there is no group named"),
        ("posture_checks", 0, "there is no posture check named 'new'"),
    ):
        found = {**filled, section: [*filled[section]]}
        found[section][number] = {**found[section][number], "name": "renamed"}
        with pytest.raises(CommandError, match=says):
            done("plan", file, found)
    del filled["networks"][0]["resources"][:]
    with pytest.raises(CommandError, match="there is no network resource named 'nas'"):
        done("plan", file, filled)


def test_what_a_document_leaves_out_is_no_drift(filled: Body, file: Path):
    settings = {"peer_login_expiration": filled["settings"]["peer_login_expiration"]}
    rules = filled["policies"][0]["rules"]
    del rules[0]["description"]
    some = {"version": 1, "settings": settings, "policies": filled["policies"]}
    assert done("plan", file, some)[0] == 0
    assert run("drift", str(file)) == (0, "No difference.\n")


def test_groups_keep_their_order_when_something_else_changes(api: Api, file: Path):
    ids = [ok(api.post("/api/groups", {"name": name}))["id"] for name in ("b", "a")]
    rule = bodies.rule(sources=ids, destinations=ids[:1])
    made = ok(api.post("/api/policies", bodies.policy(rules=[rule])))
    found = document()
    [policy] = [one for one in found["policies"] if one["name"] == made["name"]]
    policy["rules"][0]["description"] = "another"
    found["settings"]["peer_expose_groups"] = ["b", "a"]
    assert done("apply", file, found)[0] == 0
    [after] = ok(api.get(f"/api/policies/{made['id']}"))["rules"]
    assert after["description"] == "another"
    assert [one["id"] for one in after["sources"]] == ids


@pytest.mark.parametrize(("kind", "sent"), [("host", "peer"), ("peer", "subnet")])
def test_a_rule_goes_on_naming_the_one_of_two_with_a_name_whatever_type_was_sent(
    api: Api, kind: str, sent: str, file: Path
):
    both = {"peer": peer("web", dns_label="web"), "host": resource("web")}
    named = {"id": both[kind].pk, "type": sent}
    rule = bodies.rule(destinations=None, destinationResource=named)
    made = ok(api.post("/api/policies", bodies.policy(rules=[rule])))
    found = document()
    [policy] = [one for one in found["policies"] if one["name"] == made["name"]]
    assert policy["rules"][0]["destinationResource"] == {"id": "web", "type": kind}
    policy["description"] = "another"
    assert done("apply", file, found)[0] == 0
    after = ok(api.get(f"/api/policies/{made['id']}"))
    assert after["description"] == "another"
    assert after["rules"][0]["destinationResource"]["id"] == both[kind].pk


def test_an_access_test_keeps_its_service_user(api: Api, file: Path):
    bot = robot("user", name="bot")
    test = {
        "name": "closed",
        "source": {"kind": "user", "id": bot.pk},
        "destination": {"kind": "group", "id": group("servers").pk},
        "expect": "never",
    }
    made = ok(api.post("/api/access-tests", test))
    found = document()
    [entry] = found["access_tests"]
    assert entry["source"] == {"kind": "user", "id": "bot"}
    entry |= {"description": "another", "enabled": False}
    assert done("apply", file, found)[0] == 0
    after = ok(api.get(f"/api/access-tests/{made['id']}"))
    assert (after["description"], after["enabled"]) == ("another", False)
    assert after["source"]["id"] == bot.pk
    entry |= {"source": {"kind": "user", "id": "nobody"}}
    file.write_text(as_yaml(found))
    with pytest.raises(
        CommandError, match=r"access_tests\[0\]: there is no user named"
    ):
        run("apply", str(file))
