"""A session of the PyPI client `netbird` against a running server.

Run by its own interpreter, never imported by ours: the client brings in dnspython, whose
name our app `dns` has. Usage: netbird_session.py URL TOKEN STEP..., each step a function;
a failed expectation ends it with a traceback.
"""

import sys
from collections.abc import Callable
from typing import Any

from netbird import APIClient, models
from netbird.exceptions import (
    NetBirdAPIError,
    NetBirdAuthenticationError,
    NetBirdNotFoundError,
    NetBirdValidationError,
)
from netbird.models import dns_zone

URL, TOKEN, *STEPS = sys.argv[1:]
client = APIClient(host=URL, api_token=TOKEN)
KINDS: dict[int, type[NetBirdAPIError]] = {
    401: NetBirdAuthenticationError,
    404: NetBirdNotFoundError,
    409: NetBirdValidationError,
    422: NetBirdValidationError,
}


def refused(status: int, call: Callable[[], object]) -> NetBirdAPIError:
    """Return the client's exception for a call that must fail with the status."""
    try:
        call()
    except KINDS.get(status, NetBirdAPIError) as error:
        if error.status_code == status:
            return error
        raise
    raise AssertionError(f"{status} was not answered")


def group(name: str, peers: list[str] | None = None) -> str:
    """Create a group and return its id."""
    made = client.groups.create(models.GroupCreate(name=name, peers=peers or []))
    return str(made["id"])


def users_and_account() -> None:
    """Who am I, who else is there, in which account."""
    me = models.User(**client.users.get_current())
    assert me.role == "owner"
    assert me.is_current
    assert me.permissions["modules"]["groups"]["create"] is True
    everybody = client.users.list()
    assert me.id in [user["id"] for user in everybody]
    assert "colleague@mesh.dev" in [user["email"] for user in everybody]
    accounts = [models.Account(**row) for row in client.accounts.list()]
    assert len(accounts) == 1
    assert accounts[0].settings["dns_domain"] == "mesh.internal"


def tokens() -> None:
    """A token is made, shown once, used, and revoked."""
    me = client.users.get_current()["id"]
    made = client.tokens.create(me, models.TokenCreate(name="laptop", expires_in=7))
    plain = made["plain_token"]
    # Not checked with the client's own model: it asks for a field that no server sends.
    kept = made["personal_access_token"]
    assert (kept["name"], kept["created_by"]) == ("laptop", me)
    assert kept in client.tokens.list(me)
    assert client.tokens.get(me, kept["id"]) == kept
    with APIClient(host=URL, api_token=plain) as other:
        assert other.users.get_current()["id"] == me
        with APIClient(host=URL, api_token=plain, auth_scheme="Bearer") as bearer:
            assert bearer.users.get_current()["id"] == me
        assert client.tokens.get(me, kept["id"])["last_used"]
        client.tokens.delete(me, kept["id"])
        refused(401, other.groups.list)
    refused(404, lambda: client.tokens.get(me, kept["id"]))
    with APIClient(host=URL, api_token="nonsense") as stranger:
        refused(401, stranger.groups.list)


def peers() -> None:
    """Machines, all and one, with filters."""
    found = [models.Peer(**row) for row in client.peers.list()]
    assert [peer.name for peer in found] == [f"node-{n}" for n in range(5)]
    one = found[1]
    assert models.Peer(**client.peers.get(one.id)) == one.model_copy(
        update={"accessible_peers_count": None}  # lists alone have it
    )
    assert {group["name"] for group in one.groups} == {"All"}
    assert [row["name"] for row in client.peers.list(name="node-1")] == ["node-1"]
    assert [row["id"] for row in client.peers.list(ip=str(one.ip))] == [one.id]
    refused(404, lambda: client.peers.get("0" * 20))


def groups() -> None:
    """A group from creation to deletion."""
    nodes = [row["id"] for row in client.peers.list()[:3]]
    made = models.Group(
        **client.groups.create(models.GroupCreate(name="crew", peers=nodes))
    )
    assert [peer["id"] for peer in made.peers] == nodes
    assert (made.peers_count, made.resources_count, made.issued) == (3, 0, "api")
    assert models.Group(**client.groups.get(made.id)) == made
    assert made.id in [row["id"] for row in client.groups.list()]
    refused(409, lambda: group("crew"))
    renamed = client.groups.update(
        made.id, models.GroupUpdate(name="crew two", peers=nodes[1:])
    )
    assert renamed["name"] == "crew two"
    assert [peer["id"] for peer in renamed["peers"]] == nodes[1:]
    # What the client got it sends back, objects instead of ids included.
    client.put(f"groups/{made.id}", data=renamed)
    assert client.groups.get(made.id) == renamed
    client.groups.delete(made.id)
    refused(404, lambda: client.groups.get(made.id))


def nameservers_and_settings() -> None:
    """Nameserver groups and the settings of DNS."""
    crew = group("resolvers crew")
    addresses = ("8.8.8.8", "2001:4860:4860::8888")
    servers = [{"ip": ip, "ns_type": "udp", "port": 53} for ip in addresses]
    data: dict[str, Any] = {
        "name": "upstream",
        "description": "two of them",
        "nameservers": servers,
    }
    data |= {"enabled": True, "groups": [crew], "primary": False}
    data |= {
        "domains": ["Corp.Internal", "lab.internal"],
        "search_domains_enabled": True,
    }
    made = client.dns.create_nameserver_group(data)
    assert {name: made[name] for name in data} == data
    assert client.dns.get_nameserver_group(made["id"]) == made
    made["name"] = "upstream two"
    made["nameservers"].pop()
    changed = client.dns.update_nameserver_group(made["id"], made)
    assert changed == made
    assert changed in client.dns.list_nameserver_groups()
    wrong = {**data, "name": "wrong", "primary": True}
    refused(422, lambda: client.dns.create_nameserver_group(wrong))
    before = client.dns.get_settings()
    listed = {"disabled_management_groups": [crew]}
    assert client.dns.update_settings(listed) == listed
    assert client.dns.get_settings() == listed
    assert client.dns.update_settings(before) == before
    client.dns.delete_nameserver_group(made["id"])
    refused(404, lambda: client.dns.get_nameserver_group(made["id"]))
    client.groups.delete(crew)


def zones_and_records() -> None:
    """A zone with records of every type."""
    crew = group("zone crew")
    facts = {"name": "Crew", "domain": "crew.internal", "enable_search_domain": True}
    body = dns_zone.DNSZoneCreate(**facts, distribution_groups=[crew])
    created = client.dns_zones.create(body)
    zone = dns_zone.DNSZone(**created)
    assert zone.enabled
    assert created["records"] == []
    wanted = [
        ("app.crew.internal", "A", "10.0.0.1", 300),
        ("app.crew.internal", "AAAA", "fd00::1", 300),
        ("www.crew.internal", "CNAME", "app.crew.internal", 60),
        ("*.crew.internal", "A", "10.0.0.9", 0),
    ]
    names = ("name", "type", "content", "ttl")
    bodies = [
        dns_zone.DNSRecordCreate(**dict(zip(names, facts, strict=True)))
        for facts in wanted
    ]
    made = [
        dns_zone.DNSRecord(**client.dns_zones.create_record(zone.id, body))
        for body in bodies
    ]
    listed = [
        dns_zone.DNSRecord(**row) for row in client.dns_zones.list_records(zone.id)
    ]
    assert listed == made
    assert [
        dns_zone.DNSRecord(**r) for r in client.dns_zones.get(zone.id)["records"]
    ] == made
    assert zone.id in [row["id"] for row in client.dns_zones.list()]
    longer = dns_zone.DNSRecordUpdate(ttl=900)
    first = client.dns_zones.update_record(zone.id, made[0].id, longer)
    assert (first["ttl"], first["content"]) == (900, "10.0.0.1")
    assert client.dns_zones.get_record(zone.id, made[0].id) == first
    alias = {"type": "CNAME", "content": "x.internal", "ttl": 1}
    clash = dns_zone.DNSRecordCreate(name="app.crew.internal", **alias)
    refused(409, lambda: client.dns_zones.create_record(zone.id, clash))
    renamed = client.dns_zones.update(zone.id, dns_zone.DNSZoneUpdate(name="Crew two"))
    assert (renamed["name"], renamed["distribution_groups"]) == ("Crew two", [crew])
    client.dns_zones.delete_record(zone.id, made[3].id)
    assert len(client.dns_zones.list_records(zone.id)) == 3
    client.dns_zones.delete(zone.id)
    refused(404, lambda: client.dns_zones.get(zone.id))
    client.groups.delete(crew)


def audit() -> None:
    """The trail tells what this session did, and that it was us."""
    me = client.users.get_current()
    events = [models.AuditEvent(**row) for row in client.events.get_audit_events()]
    assert len({event.id for event in events}) == len(events)
    mine = [event for event in events if event.initiator_id == me["id"]]
    codes = [event.activity_code for event in mine]
    for kind, deeds in {
        "personal.access.token": "create delete",
        "group": "add update delete",
        "peer.group": "add delete",
        "nameserver.group": "add update delete",
        "dns.setting.disabled.management.group": "add",
        "dns.zone": "create update delete",
        "dns.zone.record": "create update delete",
    }.items():
        for deed in deeds.split():
            assert f"{kind}.{deed}" in codes
    assert {event.initiator_email for event in mine} == {me["email"]}
    deleted = next(e for e in mine if e.activity_code == "dns.zone.delete")
    assert deleted.meta["domain"] == "crew.internal"


if __name__ == "__main__":
    for step in STEPS:
        globals()[step]()
