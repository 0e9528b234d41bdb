"""What explains and lints, as commands that people type and as pages."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.core.management import CommandError
from django.test import Client

from groups.models import Group, GroupPeer
from meshmgmt.core.orderedlinks import member_keys, set_members
from meshmgmt.inventory.models import Peer
from tests.api_client import Api
from tests.dns.bodies import nameserver_group, zone
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


@contextmanager
def server_of_corp(api: Api) -> Iterator[int]:
    """Give the laptop a server for corp.test that answers once; yield its port."""
    group = Group.objects.get(name="staff").pk
    with nameserver(lambda question: answer(question, "192.0.2.7").pack()) as port:
        servers = [{"ip": "127.0.0.1", "port": port}]
        body = nameserver_group(groups=[group], nameservers=servers)
        ok(api.post("/api/dns/nameservers", body))
        yield port


def test_explain_asks_servers_live(api: Api):
    with server_of_corp(api) as port:
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


EXPLAIN = "/admin/dns/zone/explain/"


def test_explain_page_shows_the_tree(client: Client, laptop: Peer):
    assert "How it gets there" not in client.get(EXPLAIN).content.decode()
    path = f"{EXPLAIN}?peer={laptop.pk}&name=www.svc.test&type=A"
    page = client.get(path).content.decode()
    assert "answered by the peer itself" in page
    assert "<td>10.0.0.1</td>" in page
    assert "zone svc.test has www.svc.test with 1 A record" in page


def test_explain_page_asks_servers_on_demand(client: Client, api: Api, laptop: Peer):
    with server_of_corp(api):
        path = f"{EXPLAIN}?peer={laptop.pk}&name=x.corp.test&type=A"
        assert "192.0.2.7" not in client.get(path).content.decode()
        page = client.get(f"{path}&live=on").content.decode()
    assert "NOERROR" in page
    assert "192.0.2.7" in page


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("name=a..b&type=A", "a label is empty"),
        ("name=a.test&type=MX", "not one of the available choices"),
        ("name=&type=A", "This field is required"),
        ("name=%3Cscript%3E.test&type=A", "&#x27;&lt;script&gt;&#x27;"),
    ],
)
def test_explain_page_shows_what_is_wrong(
    client: Client, laptop: Peer, query: str, text: str
):
    response = client.get(f"{EXPLAIN}?peer={laptop.pk}&{query}")
    assert response.status_code == 200
    assert text in response.content.decode()
    assert "<script>.test" not in response.content.decode()


def test_lint_page_lists_findings(client: Client, api: Api):
    assert "0 warnings" in client.get("/admin/dns/zone/lint/?anew").content.decode()
    made = ok(api.post("/api/dns/zones", zone(name="<Empty>", domain="empty.test")))
    page = client.get("/admin/dns/zone/lint/?anew").content.decode()
    assert "zone_empty" in page
    assert f'<a href="/admin/dns/zone/{made["id"]}/change/">&lt;Empty&gt;</a>' in page


def test_peer_page_shows_what_the_peer_gets(client: Client, laptop: Peer):
    page = client.get(f"/admin/dns/zone/peer/{laptop.pk}/").content.decode()
    assert "DNS is managed" in page
    assert "<td>10.0.0.1</td>" in page
    assert "the peer is in group staff" in page
    assert client.get(f"/admin/dns/zone/peer/{'0' * 20}/").status_code == 404


def test_page_of_a_peer_ends_with_its_effective_dns(client: Client, laptop: Peer):
    path = f"/admin/inventory/peer/{laptop.pk}/change/"
    page = client.get(path).content.decode()
    assert "Effective DNS" in page
    assert "<td>10.0.0.1</td>" in page
    assert f'href="{EXPLAIN}?peer={laptop.pk}"' in page
