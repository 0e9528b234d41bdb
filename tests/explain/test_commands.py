"""The commands that explain and lint, as people type them."""

import json

import pytest
from django.core.management import CommandError

from groups.models import Group, GroupPeer
from meshmgmt.core.orderedlinks import member_keys, set_members
from tests.api_client import Api
from tests.dns.bodies import nameserver_group
from tests.dns.test_commands import run
from tests.explain.test_live import answer, nameserver
from tests.factories import peer
from tests.resource_contract import ok

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("laptop")]


@pytest.mark.parametrize("peer", ["laptop", "laptop-1", "100.64.0.1"])
def test_explain_prints_a_tree(peer: str):
    text = run("explain", peer, "www.svc.test")
    assert text.startswith("www.svc.test A\n└─ query www.svc.test\n")
    assert "=> www.svc.test: answered by the peer itself" in text
    assert "www.svc.test 300 A 10.0.0.1" in text


def test_explain_prints_json():
    found = json.loads(run("explain", "laptop", "www.svc.test", "AAAA", "--json"))
    assert found["outcome"]["kind"] == "nodata"
    assert "live" not in found


def test_explain_asks_servers_live(api: Api):
    group = Group.objects.get(name="staff").pk
    with nameserver(lambda question: answer(question, "192.0.2.7").pack()) as port:
        servers = [{"ip": "127.0.0.1", "port": port}]
        body = nameserver_group(groups=[group], nameservers=servers)
        ok(api.post("/api/dns/nameservers", body))
        text = run("explain", "laptop", "wiki.corp.test", "--live")
    assert f"127.0.0.1 port {port}: NOERROR" in text
    assert "wiki.corp.test. 60 IN A 192.0.2.7" in text
    document = run("explain", "laptop", "wiki.corp.test", "--live", "--json")
    [gone] = json.loads(document)["live"]
    assert gone["error"]
    assert gone["server"] == {"ip": "127.0.0.1", "port": port}
    assert "asks no server" in run("explain", "laptop", "www.svc.test", "--live")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("nobody", "a.test"), "no peer is known as 'nobody'"),
        (("laptop", "a..b"), "empty"),
        (("laptop", "a.test", "MX"), "MX"),
    ],
)
def test_explain_refuses_clearly(arguments: tuple[str, ...], text: str):
    with pytest.raises(CommandError, match=text):
        run("explain", *arguments)


def test_ambiguous_peer_is_not_guessed():
    peer("laptop")
    with pytest.raises(CommandError, match="several peers"):
        run("explain", "laptop", "a.test")


def test_lint_lists_findings_and_fails_on_demand():
    text = run("lint_dns")
    assert "no_primary" in text
    assert text.splitlines()[-1] == "1 finding"
    codes = {finding["code"] for finding in json.loads(run("lint_dns", "--json"))}
    assert "no_primary" in codes
    with pytest.raises(SystemExit) as stopped:
        run("lint_dns", "--fail-on", "info")
    assert stopped.value.code == 1
    with pytest.raises(CommandError):
        run("lint_dns", "--fail-on", "nonsense")


def test_names_cannot_forge_lines_of_explain_or_lint(api: Api):
    forged, shown = "corp\n=> forged\x1b[31m", r"corp\n=> forged\x1b[31m"
    group = Group.objects.get(name="staff").pk
    body = nameserver_group(name=forged, groups=[group])
    ok(api.post("/api/dns/nameservers", body))
    other = peer(forged)
    staff = Group.objects.get(pk=group)
    set_members(GroupPeer, staff, [*member_keys(GroupPeer, staff), other.pk])
    for text in (run("explain", "laptop", "a.corp.test"), run("lint_dns")):
        assert shown in text
        assert all(line.isprintable() for line in text.split("\n"))


def test_lint_without_warnings_passes():
    assert "0 findings" not in run("lint_dns", "--fail-on", "warning")
