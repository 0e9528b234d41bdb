"""Admin pages of DNS: the same rules and words as the API."""

from typing import Any

import pytest
from django.test import Client

from dns.models import DnsSettings, NameserverGroup, Record, Zone
from events.models import AuditEvent
from meshmgmt.accounts.models import User
from tests.admin.signed_in import errors_of, formset_of, saved
from tests.api_client import Api
from tests.dns.bodies import nameserver_group, record, zone
from tests.factories import group_id
from tests.resource_contract import ok

pytestmark = pytest.mark.django_db

GROUPS = "/admin/dns/nameservergroup/"
ZONES = "/admin/dns/zone/"
RECORDS = "/admin/dns/record/"
SETTINGS = "/admin/dns/dnssettings/"


def zone_form(
    *records: dict[str, Any], initial: int = 0, **changes: Any
) -> dict[str, Any]:
    """Return the form of a zone with its records."""
    data: dict[str, Any] = {"name": "Services", "domain": "svc.test"}
    data |= {"enabled": "on", "distribution_groups": []} | changes
    data |= {"records-TOTAL_FORMS": len(records), "records-INITIAL_FORMS": initial}
    for number, values in enumerate(records):
        data |= {f"records-{number}-{name}": value for name, value in values.items()}
    return data


def added(client: Client, *records: dict[str, Any], **changes: Any) -> Zone:
    """Make a zone with records on the page for new ones."""
    saved(client.post(f"{ZONES}add/", zone_form(*records, **changes)))
    return Zone.objects.latest("id")


def events(prefix: str = "") -> list[AuditEvent]:
    return list(
        AuditEvent.objects.filter(activity_code__startswith=prefix).order_by("id")
    )


def test_group_is_made_changed_and_deleted(client: Client, owner: User):
    first, second = group_id("first"), group_id("second")
    form = {"name": "office", "enabled": "on", "groups": [second, first]}
    form["nameservers"] = "2001:DB8::1 5353\n\n10.0.0.53"
    form["domains"] = "Corp.Test\nlab.test"
    saved(client.post(f"{GROUPS}add/", form))
    made = NameserverGroup.objects.get()
    servers = [(server["ip"], server["port"]) for server in made.nameservers]
    assert servers == [("2001:db8::1", 5353), ("10.0.0.53", 53)]
    assert made.domains == ["Corp.Test", "lab.test"]
    links = made.group_links.order_by("position").values_list("group_id", flat=True)
    assert list(links) == [second, first]
    page = client.get(f"{GROUPS}{made.pk}/change/").content.decode()
    assert page.index("second</option>") < page.index("first</option>")
    assert "2001:db8::1 5353\n10.0.0.53" in page
    saved(client.post(f"{GROUPS}{made.pk}/change/", form))
    saved(client.post(f"{GROUPS}{made.pk}/change/", form | {"name": "new"}))
    saved(client.post(f"{GROUPS}{made.pk}/delete/", {"post": "yes"}))
    assert not NameserverGroup.objects.exists()
    found = events("nameserver")
    codes = [event.activity_code.rpartition(".")[2] for event in found]
    assert codes == ["add", "update", "delete"]
    assert {event.initiator_id for event in found} == {owner.pk}


RECORD = {"id": "", **record(ttl="60")}


def test_zone_is_made_with_records(client: Client):
    group = group_id("staff")
    alias = RECORD | {"name": "a.svc.test", "type": "CNAME", "content": "b.test"}
    empty = {"id": "", "name": "", "type": "", "content": "", "ttl": "300"}
    made = added(client, RECORD, alias, empty, distribution_groups=[group])
    contents = made.records.order_by("id").values_list("content", flat=True)
    assert list(contents) == ["10.0.0.1", "b.test"]
    codes = [event.activity_code for event in events("dns.zone")]
    assert codes == ["dns.zone.create", *["dns.zone.record.create"] * 2]


def test_zone_page_changes_deletes_and_adds_records(client: Client):
    made = added(client, RECORD, RECORD | {"content": "10.0.0.2"})
    first, second = made.records.order_by("id")
    path = f"{ZONES}{made.pk}/change/"
    assert client.get(path).status_code == 200
    same = RECORD | {"id": first.pk, "zone": made.pk}
    other = RECORD | {"id": second.pk, "zone": made.pk, "content": "10.0.0.2"}
    before = len(events())
    saved(client.post(path, zone_form(same, other, initial=2)))
    assert len(events()) == before
    new = RECORD | {"zone": made.pk, "type": "CNAME", "content": "a.test"}
    gone = [each | {"DELETE": "on"} for each in (same, other)]
    saved(client.post(path, zone_form(*gone, new, initial=2)))
    [left] = made.records.all()
    assert (left.type, left.content) == ("CNAME", "a.test")
    codes = [event.activity_code.rpartition(".")[2] for event in events()[before:]]
    assert codes == ["delete", "delete", "create"]


def test_a_page_of_few_records_that_claims_many_is_read_as_it_is(client: Client):
    made = added(client, RECORD)
    [first] = made.records.all()
    same = RECORD | {"id": first.pk, "zone": made.pk, "content": "10.0.0.9"}
    path = f"{ZONES}{made.pk}/change/"
    saved(client.post(path, zone_form(same, initial=10**9)))
    assert made.records.get().content == "10.0.0.9"


@pytest.mark.parametrize(
    ("changes", "field", "text"),
    [
        ({"name": "www.other.test."}, "name", "not inside the zone"),
        ({"content": "x"}, "content", "IPv4"),
        ({"ttl": "-1"}, "ttl", "2147483647"),
        ({"ttl": "soon"}, "ttl", "no length of time"),
        ({"type": "MX"}, "type", "valid choice"),
        ({"type": "CNAME", "content": "a.test"}, "name", "CNAME must be alone"),
    ],
)
def test_faulty_record_leaves_the_whole_page_unwritten(
    client: Client, changes: dict[str, str], field: str, text: str
):
    response = client.post(f"{ZONES}add/", zone_form(RECORD, RECORD | changes))
    assert response.status_code == 200
    assert text in formset_of(response).errors[1][field][0]
    assert not Zone.objects.exists()
    assert events("dns.zone") == []


def test_zone_form_shows_the_domain_as_text(client: Client):
    made = added(client)
    path = f"{ZONES}{made.pk}/change/"
    page = client.get(path).content.decode()
    assert 'name="domain"' not in page
    assert '<div class="readonly">svc.test</div>' in page
    saved(client.post(path, zone_form(domain="b.test", name="Renamed")))
    made.refresh_from_db()
    assert (made.name, made.domain) == ("Renamed", "svc.test")
    shown = errors_of(client.post(f"{ZONES}add/", zone_form(domain="SVC.test")))
    assert "already exists" in shown["domain"][0]


def test_record_forms_take_relative_names(client: Client):
    made = added(client, RECORD, RECORD | {"name": "@"}, RECORD | {"name": "*.dev"})
    names = made.records.order_by("id").values_list("name", flat=True)
    assert list(names) == ["www.svc.test", "svc.test", "*.dev.svc.test"]
    saved(client.post(f"{RECORDS}add/", RECORD | {"name": "new", "zone": made.pk}))
    last = made.records.get(name="new.svc.test")
    before = len(events())
    saved(client.post(f"{RECORDS}{last.pk}/change/", RECORD | {"name": "new"}))
    assert len(events()) == before
    saved(client.post(f"{RECORDS}{last.pk}/change/", RECORD | {"name": "newer"}))
    last.refresh_from_db()
    assert last.name == "newer.svc.test"


def test_zone_and_records_are_deleted_together(client: Client):
    made = added(client, RECORD)
    saved(client.post(f"{ZONES}{made.pk}/delete/", {"post": "yes"}))
    assert not Record.objects.exists()
    codes = [event.activity_code for event in events("dns.zone")][2:]
    assert codes == ["dns.zone.record.delete", "dns.zone.delete"]


def test_chosen_zones_are_deleted(client: Client):
    ids = [added(client, domain=f"{name}.test").pk for name in "ab"]
    chosen = {"action": "delete_selected", "_selected_action": ids, "post": "yes"}
    saved(client.post(ZONES, chosen))
    assert not Zone.objects.exists()


def test_zone_with_many_records_shows_some_and_links_to_their_list(
    client: Client, api: Api
):
    made = ok(api.post("/api/dns/zones", zone()))
    text = "\n".join(f"h{number} 60 A 10.0.0.1" for number in range(101))
    api.call("PUT", f"/api/dns/zones/{made['id']}/zonefile", text.encode())
    page = client.get(f"{ZONES}{made['id']}/change/").content.decode()
    link = f"{RECORDS}?zone__id__exact={made['id']}"
    assert f'href="{link}">101 records</a>' in page
    assert "records-74-name" in page
    assert "101 records" in client.get(link).content.decode()
    saved(client.post(f"{ZONES}{made['id']}/change/", zone_form()))
    assert Record.objects.count() == 101


def test_record_has_pages_of_its_own(client: Client, api: Api):
    made = ok(api.post("/api/dns/zones", zone()))
    saved(client.post(f"{RECORDS}add/", {**RECORD, "zone": made["id"]}))
    stored = Record.objects.get()
    assert "svc.test" in client.get(f"{RECORDS}{stored.pk}/change/").content.decode()
    saved(client.post(f"{RECORDS}{stored.pk}/change/", {**RECORD, "ttl": "5"}))
    assert Record.objects.get().ttl == 5
    shown = errors_of(client.post(f"{RECORDS}add/", {**RECORD, "zone": made["id"]}))
    assert "already exists" in shown["content"][0]
    saved(client.post(f"{RECORDS}{stored.pk}/delete/", {"post": "yes"}))
    assert not Record.objects.exists()


def test_settings_have_one_page(client: Client):
    group = group_id("staff")
    [settings] = DnsSettings.objects.all()
    path = f"{SETTINGS}{settings.pk}/change/"
    assert client.get(SETTINGS)["Location"] == path
    saved(client.post(path, {"disabled_management_groups": [group]}))
    assert "staff" in client.get(path).content.decode()
    assert len(events("dns.setting")) == 1
    assert client.get(f"{SETTINGS}add/").status_code == 403
    assert client.post(f"{SETTINGS}{settings.pk}/delete/", {}).status_code == 403


@pytest.mark.parametrize("path", [GROUPS, ZONES, RECORDS])
def test_lists_search_and_filter(client: Client, api: Api, path: str):
    assert client.get(path).status_code == 200
    assert client.get(f"{path}add/").status_code == 200
    ok(api.post("/api/dns/nameservers", nameserver_group()))
    made = ok(api.post("/api/dns/zones", zone()))
    ok(api.post(f"/api/dns/zones/{made['id']}/records", record()))
    for query, found in (("10.0.0", path != ZONES), ("nothing", False), ("s", True)):
        response = client.get(f"{path}?q={query}")
        assert response.status_code == 200
        assert bool(response.context["cl"].result_count) is found
    assert client.get(f"{path}?enabled__exact=1").status_code in {200, 302}
