"""Admin pages that explain answers and show what looks wrong."""

import pytest
from django.test import Client

from groups.models import Group
from meshmgmt.inventory.models import Peer
from tests.api_client import Api
from tests.dns.bodies import nameserver_group, zone
from tests.explain.test_live import answer, nameserver
from tests.resource_contract import ok

pytestmark = pytest.mark.django_db


EXPLAIN = "/admin/dns/zone/explain/"


def test_explain_page_shows_the_tree(client: Client, laptop: Peer):
    assert "How it gets there" not in client.get(EXPLAIN).content.decode()
    path = f"{EXPLAIN}?peer={laptop.pk}&name=www.svc.test&type=A"
    page = client.get(path).content.decode()
    assert "answered by the peer itself" in page
    assert "<td>10.0.0.1</td>" in page
    assert "zone svc.test has www.svc.test with 1 A record" in page


def test_explain_page_asks_servers_on_demand(client: Client, api: Api, laptop: Peer):
    group = Group.objects.get(name="staff").pk
    with nameserver(lambda question: answer(question, "192.0.2.7").pack()) as port:
        servers = [{"ip": "127.0.0.1", "port": port}]
        body = nameserver_group(groups=[group], nameservers=servers)
        ok(api.post("/api/dns/nameservers", body))
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
    assert "0 warnings" in client.get("/admin/dns/zone/lint/").content.decode()
    made = ok(api.post("/api/dns/zones", zone(name="<Empty>")))
    page = client.get("/admin/dns/zone/lint/").content.decode()
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
