"""A session of the PyPI client `netbird` against a running server.

Run by its own interpreter, never imported: the client brings in dnspython, whose name our
app `dns` has. Usage: netbird_session.py URL TOKEN. Prints the names of the finished steps
as one JSON array; a failed expectation ends it with a traceback.
"""

import json
import sys
from collections.abc import Callable

from netbird import APIClient
from netbird.exceptions import (
    NetBirdAPIError,
    NetBirdAuthenticationError,
    NetBirdNotFoundError,
    NetBirdValidationError,
)
from netbird.models import (
    Account,
    AuditEvent,
    Group,
    GroupCreate,
    GroupUpdate,
    Peer,
    TokenCreate,
    User,
)
from netbird.models.dns_zone import (
    DNSRecord,
    DNSRecordCreate,
    DNSRecordUpdate,
    DNSZone,
    DNSZoneCreate,
    DNSZoneUpdate,
)

URL, TOKEN = sys.argv[1:]
client = APIClient(host=URL, api_token=TOKEN)


def refused(kind: type[NetBirdAPIError], call: Callable[[], object]) -> NetBirdAPIError:
    """Return the client's exception for a call that must fail."""
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


def users_and_account() -> None:
    """Who am I, who else is there, in which account."""
    me = User(**client.users.get_current())
    assert me.role == "owner"
    assert me.is_current
    assert me.permissions["modules"]["groups"]["create"] is True
    everybody = client.users.list()
    assert me.id in [user["id"] for user in everybody]
    assert "colleague@mesh.dev" in [user["email"] for user in everybody]
    accounts = [Account(**row) for row in client.accounts.list()]
    assert len(accounts) == 1
    assert accounts[0].settings["dns_domain"] == "mesh.internal"


def tokens() -> None:
    """A token is made, shown once, used, and revoked."""
    me = client.users.get_current()["id"]
    made = client.tokens.create(me, TokenCreate(name="laptop", expires_in=7))
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
        error = refused(NetBirdAuthenticationError, other.groups.list)
        assert error.status_code == 401
    refused(NetBirdNotFoundError, lambda: client.tokens.get(me, kept["id"]))
    with APIClient(host=URL, api_token="nonsense") as stranger:
        refused(NetBirdAuthenticationError, stranger.groups.list)


def peers() -> None:
    """Machines, all and one, with filters."""
    found = [Peer(**row) for row in client.peers.list()]
    assert [peer.name for peer in found] == [f"node-{n}" for n in range(5)]
    one = found[1]
    assert Peer(**client.peers.get(one.id)) == one.model_copy(
        update={"accessible_peers_count": None}  # lists alone have it
    )
    assert {group["name"] for group in one.groups} == {"All"}
    assert [row["name"] for row in client.peers.list(name="node-1")] == ["node-1"]
    assert [row["id"] for row in client.peers.list(ip=str(one.ip))] == [one.id]
    refused(NetBirdNotFoundError, lambda: client.peers.get("0" * 20))


def groups() -> None:
    """A group from creation to deletion."""
    nodes = [row["id"] for row in client.peers.list()[:3]]
    made = Group(**client.groups.create(GroupCreate(name="crew", peers=nodes)))
    assert [peer["id"] for peer in made.peers] == nodes
    assert (made.peers_count, made.resources_count, made.issued) == (3, 0, "api")
    assert Group(**client.groups.get(made.id)) == made
    assert made.id in [row["id"] for row in client.groups.list()]
    error = refused(
        NetBirdValidationError, lambda: client.groups.create(GroupCreate(name="crew"))
    )
    assert error.status_code == 409
    renamed = client.groups.update(
        made.id, GroupUpdate(name="crew two", peers=nodes[1:])
    )
    assert renamed["name"] == "crew two"
    assert [peer["id"] for peer in renamed["peers"]] == nodes[1:]
    # What the client got it sends back, objects instead of ids included.
    client.put(f"groups/{made.id}", data=renamed)
    assert client.groups.get(made.id) == renamed
    client.groups.delete(made.id)
    refused(NetBirdNotFoundError, lambda: client.groups.get(made.id))


def nameservers_and_settings() -> None:
    """Nameserver groups and the settings of DNS."""
    group = client.groups.create(GroupCreate(name="resolvers crew"))["id"]
    data = {
        "name": "upstream",
        "description": "two of them",
        "nameservers": [
            {"ip": "8.8.8.8", "ns_type": "udp", "port": 53},
            {"ip": "2001:4860:4860::8888", "ns_type": "udp", "port": 53},
        ],
        "enabled": True,
        "groups": [group],
        "primary": False,
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
    error = refused(
        NetBirdValidationError, lambda: client.dns.create_nameserver_group(wrong)
    )
    assert error.status_code == 422
    before = client.dns.get_settings()
    listed = {"disabled_management_groups": [group]}
    assert client.dns.update_settings(listed) == listed
    assert client.dns.get_settings() == listed
    assert client.dns.update_settings(before) == before
    client.dns.delete_nameserver_group(made["id"])
    refused(NetBirdNotFoundError, lambda: client.dns.get_nameserver_group(made["id"]))
    client.groups.delete(group)


def zones_and_records() -> None:
    """A zone with records of every type."""
    group = client.groups.create(GroupCreate(name="zone crew"))["id"]
    created = client.dns_zones.create(
        DNSZoneCreate(
            name="Crew",
            domain="crew.internal",
            enable_search_domain=True,
            distribution_groups=[group],
        )
    )
    zone = DNSZone(**created)
    assert zone.enabled
    assert created["records"] == []
    wanted = [
        ("app.crew.internal", "A", "10.0.0.1", 300),
        ("app.crew.internal", "AAAA", "fd00::1", 300),
        ("www.crew.internal", "CNAME", "app.crew.internal", 60),
        ("*.crew.internal", "A", "10.0.0.9", 0),
    ]
    made = [
        DNSRecord(
            **client.dns_zones.create_record(
                zone.id,
                DNSRecordCreate(name=name, type=kind, content=content, ttl=ttl),
            )
        )
        for name, kind, content, ttl in wanted
    ]
    listed = [DNSRecord(**row) for row in client.dns_zones.list_records(zone.id)]
    assert listed == made
    assert [DNSRecord(**r) for r in client.dns_zones.get(zone.id)["records"]] == made
    assert zone.id in [row["id"] for row in client.dns_zones.list()]
    first = client.dns_zones.update_record(
        zone.id, made[0].id, DNSRecordUpdate(ttl=900)
    )
    assert (first["ttl"], first["content"]) == (900, "10.0.0.1")
    assert client.dns_zones.get_record(zone.id, made[0].id) == first
    clash = DNSRecordCreate(
        name="app.crew.internal", type="CNAME", content="x.internal", ttl=1
    )
    error = refused(
        NetBirdValidationError, lambda: client.dns_zones.create_record(zone.id, clash)
    )
    assert error.status_code == 409
    renamed = client.dns_zones.update(zone.id, DNSZoneUpdate(name="Crew two"))
    assert renamed["name"] == "Crew two"
    assert renamed["distribution_groups"] == [group]
    client.dns_zones.delete_record(zone.id, made[3].id)
    assert len(client.dns_zones.list_records(zone.id)) == 3
    client.dns_zones.delete(zone.id)
    refused(NetBirdNotFoundError, lambda: client.dns_zones.get(zone.id))
    client.groups.delete(group)


def audit() -> None:
    """The trail tells what this session did, and that it was us."""
    me = client.users.get_current()
    events = [AuditEvent(**row) for row in client.events.get_audit_events()]
    assert len({event.id for event in events}) == len(events)
    mine = [event for event in events if event.initiator_id == me["id"]]
    codes = [event.activity_code for event in mine]
    for code in (
        "personal.access.token.create",
        "personal.access.token.delete",
        "group.add",
        "group.update",
        "group.delete",
        "peer.group.add",
        "peer.group.delete",
        "nameserver.group.add",
        "nameserver.group.update",
        "nameserver.group.delete",
        "dns.setting.disabled.management.group.add",
        "dns.zone.create",
        "dns.zone.update",
        "dns.zone.delete",
        "dns.zone.record.create",
        "dns.zone.record.update",
        "dns.zone.record.delete",
    ):
        assert code in codes, code
    assert {event.initiator_email for event in mine} == {me["email"]}
    deleted = next(e for e in mine if e.activity_code == "dns.zone.delete")
    assert deleted.meta["domain"] == "crew.internal"


STEPS = (
    users_and_account,
    tokens,
    peers,
    groups,
    nameservers_and_settings,
    zones_and_records,
    audit,
)

if __name__ == "__main__":
    done = []
    for step in STEPS:
        step()
        done.append(step.__name__)
    sys.stdout.write(json.dumps(done))
