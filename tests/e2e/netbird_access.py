"""The rest of a session of the PyPI client `netbird`: users, access, the account.

Run as `netbird_session.py` is, after it, by the client's own interpreter.
"""

import warnings
from typing import Any

from netbird import models
from netbird_session import STEPS, client, group, refused  # type: ignore[import-not-found]

PASSWORD = "Correct-Horse-1"


def between(source: str, destination: str) -> dict[str, Any]:
    """Return what a rule says that lets one group reach another."""
    ends = {"sources": [source], "destinations": [destination]}
    return {"enabled": True, "action": "accept", **ends}


def users() -> None:
    """People and service users, from creation to deletion."""
    crew = group("user crew")
    named = {"email": "new@mesh.dev", "name": "New", "role": "user"}
    made = client.users.create(models.UserCreate(**named, auto_groups=[crew]))
    user = models.User(**made)
    assert user.password
    assert (user.status, user.auto_groups) == ("active", [crew])
    shown = client.users.get(user.id)
    assert shown in client.users.list()
    promoted = models.UserUpdate(role="admin")
    changed = models.User(**client.users.update(user.id, promoted))
    assert (changed.role, changed.auto_groups) == ("admin", [crew])
    blocked = client.users.update(user.id, models.UserUpdate(is_blocked=True))
    assert blocked["is_blocked"]
    left = client.users.update(user.id, models.UserUpdate(auto_groups=[]))
    assert left["auto_groups"] == []
    refused(422, lambda: client.users.approve(user.id))
    refused(422, lambda: client.users.reject(user.id))
    refused(412, lambda: client.users.invite(user.id))
    refused(403, lambda: client.users.change_password(user.id, "x", PASSWORD))
    again = models.UserCreate(email="NEW@mesh.dev", name="x")
    refused(409, lambda: client.users.create(again))
    client.users.delete(user.id)
    refused(404, lambda: client.users.get(user.id))
    named = {"email": "ignored@mesh.dev", "name": "ci"}
    robot = client.users.create(models.UserCreate(**named, is_service_user=True))
    assert (robot["email"], robot["is_service_user"]) == ("", True)
    client.users.delete(robot["id"])
    client.groups.delete(crew)


def invites() -> None:
    """A link makes a user with a password of their own."""
    named = {"email": "guest@mesh.dev", "name": "Guest", "role": "user"}
    data = models.UserInviteCreate(**named, auto_groups=[])
    made = models.UserInvite(**client.users.create_invite(data))
    assert made.invite_token
    assert made.id in [row["id"] for row in client.users.list_invites()]
    again = client.users.regenerate_invite(made.id)
    shown = client.users.get_invite_info(again["invite_token"])
    info = models.UserInvite.model_construct(**shown)
    assert (info.email, info.valid) == ("guest@mesh.dev", True)
    client.users.accept_invite(again["invite_token"], PASSWORD)
    guest = next(u for u in client.users.list() if u["email"] == "guest@mesh.dev")
    client.users.delete(guest["id"])
    other = client.users.create_invite(data)
    client.users.delete_invite(other["id"])
    assert client.users.list_invites() == []


def policies() -> None:
    """A policy as the client's own example has it, and a posture check."""
    sources, destinations = group("developers"), group("servers crew")
    checks = {"nb_version_check": {"min_version": "0.30.0"}}
    body = models.PostureCheckCreate(name="new", description="clients", checks=checks)
    check = models.PostureCheck(**client.posture_checks.create(body))
    rule = models.PolicyRule(
        name="Allow SSH", protocol="tcp", ports=["22"], **between(sources, destinations)
    )
    named = {"name": "Development Access", "description": "Allow developers"}
    terms = {"enabled": True, "source_posture_checks": [check.id], "rules": [rule]}
    created = client.policies.create(models.PolicyCreate(**named, **terms))
    made = models.Policy(**created)
    assert made.enabled
    assert (made.rules[0].ports, made.rules[0].bidirectional) == (["22"], False)
    assert made.rules[0].sources[0]["id"] == sources
    assert models.Policy(**client.policies.get(made.id)) == made
    off = client.policies.update(made.id, models.PolicyUpdate(enabled=False))
    assert (off["enabled"], off["name"]) == (False, "Development Access")
    on = models.PolicyUpdate(**{**off, "enabled": True})
    whole = client.policies.update(made.id, on)
    assert whole == {**off, "enabled": True}
    assert whole in client.policies.list()
    newer = models.PostureCheckUpdate(name="newer")
    renamed = client.posture_checks.update(check.id, newer)
    assert (renamed["name"], renamed["checks"]) == ("newer", check.checks)
    assert renamed in client.posture_checks.list()
    assert client.posture_checks.get(check.id) == renamed
    client.posture_checks.delete(check.id)
    left = client.policies.get(made.id)
    assert (left["enabled"], left["source_posture_checks"]) == (False, [])
    client.policies.delete(made.id)
    refused(404, lambda: client.policies.get(made.id))
    for group_id in (sources, destinations):
        client.groups.delete(group_id)


def peers() -> None:
    """Changing peers, what they reach, deleting one."""
    found = [models.Peer(**row) for row in client.peers.list()]
    first, second = found[0], found[1]
    both = group("both", [first.id, second.id])
    rule = models.PolicyRule(name="r", protocol="all", **between(both, both))
    policy = models.PolicyCreate(name="reach", enabled=True, rules=[rule])
    made = client.policies.create(policy)
    [seen] = client.peers.get_accessible_peers(first.id)
    assert (seen["id"], seen["dns_label"]) == (second.id, second.dns_label)
    client.policies.delete(made["id"])
    assert client.peers.get_accessible_peers(first.id) == []
    changed = client.peers.update(first.id, models.PeerUpdate(ssh_enabled=True))
    assert (changed["ssh_enabled"], changed["name"]) == (True, first.name)
    renamed = client.peers.update(first.id, models.PeerUpdate(name="renamed"))
    assert renamed["name"] == "renamed"
    elsewhere = models.PeerUpdate(ip="10.9.9.9")
    refused(422, lambda: client.peers.update(first.id, elsewhere))
    last = found[-1].id
    client.peers.delete(last)
    refused(404, lambda: client.peers.get(last))
    client.groups.delete(both)


def routes() -> None:
    """A route to a network, as the client's own example has it."""
    warnings.simplefilter("ignore", DeprecationWarning)
    peer = client.peers.list()[0]["id"]
    crew = group("route crew")
    named = {"description": "Internal network route", "network_id": "internal"}
    way = {"network_type": "ipv4", "network": "192.168.1.0/24", "peer": peer}
    terms = {"enabled": True, "metric": 100, "groups": [crew]}
    made = models.Route(
        **client.routes.create(models.RouteCreate(**named, **way, **terms))
    )
    shown = (made.network, made.network_type, made.enabled)
    assert shown == ("192.168.1.0/24", "ipv4", True)
    off = client.routes.update(made.id, models.RouteUpdate(enabled=False))
    assert (off["enabled"], off["metric"], off["peer"]) == (False, 100, peer)
    assert client.routes.get(made.id) == off
    assert off in client.routes.list()
    client.routes.delete(made.id)
    refused(404, lambda: client.routes.get(made.id))
    client.groups.delete(crew)


def networks() -> None:
    """A network with a resource and a router."""
    office = models.NetworkCreate(name="office")
    made = models.Network(**client.networks.create(office))
    crew = group("printers")
    sent: dict[str, Any] = {"name": "printer", "address": "10.0.0.9"}
    sent |= {"enabled": True, "groups": [crew]}
    resource = client.networks.create_resource(made.id, sent)
    assert (resource["type"], resource["address"]) == ("host", "10.0.0.9")
    assert client.networks.get_resource(made.id, resource["id"]) == resource
    whole = {**resource, "description": "second floor"}
    changed = client.networks.update_resource(made.id, resource["id"], whole)
    assert changed == whole
    assert client.networks.list_resources(made.id) == [changed]
    peer = client.peers.list()[0]["id"]
    router = client.networks.create_router(made.id, {"peer": peer, "metric": 5})
    assert client.networks.get_router(made.id, router["id"]) == router
    router = client.networks.update_router(made.id, router["id"], {"enabled": False})
    assert (router["enabled"], router["metric"]) == (False, 5)
    assert client.networks.list_routers(made.id) == [router]
    assert router in client.networks.list_all_routers()
    client.peers.delete(peer)
    left = client.networks.get_router(made.id, router["id"])
    assert (left["peer"], left["enabled"]) == ("", False)
    shown = client.networks.update(made.id, models.NetworkUpdate(description="HQ"))
    assert (shown["name"], shown["description"]) == ("office", "HQ")
    assert (shown["resources"], shown["routers"]) == ([resource["id"]], [router["id"]])
    assert shown in client.networks.list()
    client.networks.delete_router(made.id, router["id"])
    client.networks.delete_resource(made.id, resource["id"])
    client.networks.delete(made.id)
    refused(404, lambda: client.networks.get(made.id))
    client.groups.delete(crew)


def setup_keys() -> None:
    """A key is shown once, revoked, and deleted."""
    body = models.SetupKeyCreate(
        name="ci", type="reusable", expires_in=86400, auto_groups=[]
    )
    made = models.SetupKey(**client.setup_keys.create(body))
    assert (made.state, made.valid, len(made.key)) == ("valid", True, 36)
    masked = models.SetupKey(**client.setup_keys.get(made.id))
    assert masked.key == made.key[:5] + "****"
    revoked = client.setup_keys.update(made.id, models.SetupKeyUpdate(revoked=True))
    assert (revoked["state"], revoked["valid"]) == ("revoked", False)
    assert revoked in client.setup_keys.list()
    client.setup_keys.delete(made.id)
    refused(404, lambda: client.setup_keys.get(made.id))


def account() -> None:
    """Settings, given one by one."""
    [stored] = [models.Account(**row) for row in client.accounts.list()]
    two_hours = models.AccountSettings(peer_login_expiration=7200)
    changed = client.accounts.update(stored.id, two_hours)
    # What the reference takes for "none" when it is left out, as this client does.
    expected = {"peer_login_expiration": 7200, "auto_update_version": ""}
    assert changed["settings"] == {**stored.settings, **expected}
    second = models.AccountSettings(peer_login_expiration=1)
    error = refused(422, lambda: client.accounts.update(stored.id, second))
    assert "one hour" in str(error)


def instance() -> None:
    """State, version, countries."""
    assert client.instance.get_status() == {"setup_required": False}
    assert client.instance.get_version()["management_current_version"]
    refused(412, lambda: client.instance.setup("x@mesh.dev", PASSWORD, "X"))
    assert "DE" in client.geo_locations.list_countries()


def jobs() -> None:
    """Jobs of a machine that is not connected."""
    peer = client.peers.list()[0]["id"]
    assert client.peers.list_jobs(peer) == []
    refused(404, lambda: client.peers.get_job(peer, "x"))
    parameters = {"bundle_for": True, "bundle_for_time": 2}
    parameters |= {"log_file_count": 100, "anonymize": False}
    asked = {"workload": {"type": "bundle", "parameters": parameters}}
    error = refused(412, lambda: client.peers.create_job(peer, asked))
    assert "0.64.0" in str(error)


def not_served() -> None:
    """What docs/compatibility.md says is not served: empty lists, writes 404 or 405."""
    peer = client.peers.list()[0]["id"]
    [stored] = client.accounts.list()
    refused(404, lambda: client.peers.create_temporary_access(peer, {}))
    assert client.identity_providers.list() == []
    refused(404, lambda: client.identity_providers.get("x"))
    assert client.geo_locations.list_cities("DE") == []
    refused(405, lambda: client.accounts.delete(stored["id"]))


if __name__ == "__main__":
    for step in STEPS:
        globals()[step]()
