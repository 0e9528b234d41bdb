"""The rest of a session of the PyPI client `netbird`: users, access, the account.

Run as `netbird_session.py` is, after it, by the client's own interpreter.
"""

import json
import sys
import warnings
from collections.abc import Callable
from typing import Any

from netbird import APIClient
from netbird.exceptions import NetBirdAPIError, NetBirdNotFoundError
from netbird.models import (
    Account,
    AccountSettings,
    GroupCreate,
    Network,
    NetworkCreate,
    NetworkUpdate,
    Peer,
    PeerUpdate,
    Policy,
    PolicyCreate,
    PolicyRule,
    PolicyUpdate,
    PostureCheck,
    PostureCheckCreate,
    PostureCheckUpdate,
    Route,
    RouteCreate,
    RouteUpdate,
    SetupKey,
    SetupKeyCreate,
    SetupKeyUpdate,
    User,
    UserCreate,
    UserInvite,
    UserInviteCreate,
    UserUpdate,
)

URL, TOKEN = sys.argv[1:]
client = APIClient(host=URL, api_token=TOKEN)
PASSWORD = "Correct-Horse-1"


def refused(status: int, call: Callable[[], object]) -> NetBirdAPIError:
    """Return the client's exception for a call that must fail with the status."""
    try:
        call()
    except NetBirdAPIError as error:
        if error.status_code == status:
            return error
        raise
    raise AssertionError(f"{status} was not answered")


def gone(call: Callable[[], object]) -> None:
    """Expect the client's exception for an unknown object."""
    try:
        call()
    except NetBirdNotFoundError:
        return
    raise AssertionError("the object is still there")


def group(name: str, peers: list[str] | None = None) -> str:
    """Create a group and return its id."""
    made = client.groups.create(GroupCreate(name=name, peers=peers or []))
    return str(made["id"])


def users() -> None:
    """People and service users, from creation to deletion."""
    crew = group("user crew")
    made = client.users.create(
        UserCreate(email="new@mesh.dev", name="New", role="user", auto_groups=[crew])
    )
    user = User(**made)
    assert user.password
    assert (user.status, user.auto_groups) == ("active", [crew])
    shown = client.users.get(user.id)
    assert shown in client.users.list()
    changed = User(**client.users.update(user.id, UserUpdate(role="admin")))
    assert (changed.role, changed.auto_groups) == ("admin", [crew])
    assert client.users.update(user.id, UserUpdate(is_blocked=True))["is_blocked"]
    assert client.users.update(user.id, UserUpdate(auto_groups=[]))["auto_groups"] == []
    refused(422, lambda: client.users.approve(user.id))
    refused(422, lambda: client.users.reject(user.id))
    refused(412, lambda: client.users.invite(user.id))
    refused(403, lambda: client.users.change_password(user.id, "x", PASSWORD))
    refused(
        409, lambda: client.users.create(UserCreate(email="NEW@mesh.dev", name="x"))
    )
    client.users.delete(user.id)
    gone(lambda: client.users.get(user.id))
    robot = client.users.create(
        UserCreate(email="ignored@mesh.dev", name="ci", is_service_user=True)
    )
    assert (robot["email"], robot["is_service_user"]) == ("", True)
    client.users.delete(robot["id"])
    client.groups.delete(crew)


def invites() -> None:
    """A link makes a user with a password of their own."""
    data = UserInviteCreate(
        email="guest@mesh.dev", name="Guest", role="user", auto_groups=[]
    )
    made = UserInvite(**client.users.create_invite(data))
    assert made.invite_token
    assert made.id in [row["id"] for row in client.users.list_invites()]
    again = client.users.regenerate_invite(made.id)
    info = UserInvite.model_construct(
        **client.users.get_invite_info(again["invite_token"])
    )
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
    check = PostureCheck(
        **client.posture_checks.create(
            PostureCheckCreate(
                name="new enough",
                description="clients",
                checks={"nb_version_check": {"min_version": "0.30.0"}},
            )
        )
    )
    rule = PolicyRule(
        name="Allow SSH",
        enabled=True,
        action="accept",
        protocol="tcp",
        ports=["22"],
        sources=[sources],
        destinations=[destinations],
    )
    made = Policy(
        **client.policies.create(
            PolicyCreate(
                name="Development Access",
                enabled=True,
                description="Allow developers to access servers",
                source_posture_checks=[check.id],
                rules=[rule],
            )
        )
    )
    assert made.enabled
    assert (made.rules[0].ports, made.rules[0].bidirectional) == (["22"], False)
    assert made.rules[0].sources[0]["id"] == sources
    assert Policy(**client.policies.get(made.id)) == made
    off = client.policies.update(made.id, PolicyUpdate(enabled=False))
    assert (off["enabled"], off["name"]) == (False, "Development Access")
    whole = client.policies.update(made.id, PolicyUpdate(**{**off, "enabled": True}))
    assert whole == {**off, "enabled": True}
    assert whole in client.policies.list()
    renamed = client.posture_checks.update(check.id, PostureCheckUpdate(name="newer"))
    assert (renamed["name"], renamed["checks"]) == ("newer", check.checks)
    assert renamed in client.posture_checks.list()
    assert client.posture_checks.get(check.id) == renamed
    client.posture_checks.delete(check.id)
    left = client.policies.get(made.id)
    assert (left["enabled"], left["source_posture_checks"]) == (False, [])
    client.policies.delete(made.id)
    gone(lambda: client.policies.get(made.id))
    for group_id in (sources, destinations):
        client.groups.delete(group_id)


def peers() -> None:
    """Changing peers, what they reach, deleting one."""
    found = [Peer(**row) for row in client.peers.list()]
    first, second = found[0], found[1]
    both = group("both", [first.id, second.id])
    rule = PolicyRule(
        name="r",
        enabled=True,
        action="accept",
        protocol="all",
        sources=[both],
        destinations=[both],
    )
    policy = client.policies.create(
        PolicyCreate(name="reach", enabled=True, rules=[rule])
    )
    [seen] = client.peers.get_accessible_peers(first.id)
    assert (seen["id"], seen["dns_label"]) == (second.id, second.dns_label)
    client.policies.delete(policy["id"])
    assert client.peers.get_accessible_peers(first.id) == []
    changed = client.peers.update(first.id, PeerUpdate(ssh_enabled=True))
    assert (changed["ssh_enabled"], changed["name"]) == (True, first.name)
    assert (
        client.peers.update(first.id, PeerUpdate(name="renamed"))["name"] == "renamed"
    )
    refused(422, lambda: client.peers.update(first.id, PeerUpdate(ip="10.9.9.9")))
    last = found[-1].id
    client.peers.delete(last)
    gone(lambda: client.peers.get(last))
    client.groups.delete(both)


def routes() -> None:
    """A route to a network, as the client's own example has it."""
    warnings.simplefilter("ignore", DeprecationWarning)
    peer = client.peers.list()[0]["id"]
    crew = group("route crew")
    made = Route(
        **client.routes.create(
            RouteCreate(
                description="Internal network route",
                network_id="internal",
                enabled=True,
                network_type="ipv4",
                network="192.168.1.0/24",
                peer=peer,
                metric=100,
                groups=[crew],
            )
        )
    )
    assert (made.network, made.network_type, made.enabled) == (
        "192.168.1.0/24",
        "ipv4",
        True,
    )
    off = client.routes.update(made.id, RouteUpdate(enabled=False))
    assert (off["enabled"], off["metric"], off["peer"]) == (False, 100, peer)
    assert client.routes.get(made.id) == off
    assert off in client.routes.list()
    client.routes.delete(made.id)
    gone(lambda: client.routes.get(made.id))
    client.groups.delete(crew)


def networks() -> None:
    """A network with a resource and a router."""
    made = Network(**client.networks.create(NetworkCreate(name="office")))
    crew = group("printers")
    sent: dict[str, Any] = {
        "name": "printer",
        "address": "10.0.0.9",
        "enabled": True,
        "groups": [crew],
    }
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
    shown = client.networks.update(made.id, NetworkUpdate(description="HQ"))
    assert (shown["name"], shown["description"]) == ("office", "HQ")
    assert shown["resources"] == [resource["id"]]
    assert shown["routers"] == [router["id"]]
    assert shown in client.networks.list()
    client.networks.delete_router(made.id, router["id"])
    client.networks.delete_resource(made.id, resource["id"])
    client.networks.delete(made.id)
    gone(lambda: client.networks.get(made.id))
    client.groups.delete(crew)


def setup_keys() -> None:
    """A key is shown once, revoked, and deleted."""
    made = SetupKey(
        **client.setup_keys.create(
            SetupKeyCreate(name="ci", type="reusable", expires_in=86400, auto_groups=[])
        )
    )
    assert (made.state, made.valid, len(made.key)) == ("valid", True, 36)
    masked = SetupKey(**client.setup_keys.get(made.id))
    assert masked.key == made.key[:5] + "****"
    revoked = client.setup_keys.update(made.id, SetupKeyUpdate(revoked=True))
    assert (revoked["state"], revoked["valid"]) == ("revoked", False)
    assert revoked in client.setup_keys.list()
    client.setup_keys.delete(made.id)
    gone(lambda: client.setup_keys.get(made.id))


def account() -> None:
    """Settings, given one by one."""
    [stored] = [Account(**row) for row in client.accounts.list()]
    changed = client.accounts.update(
        stored.id, AccountSettings(peer_login_expiration=7200)
    )
    # What the reference takes for "none" when it is left out, as this client does.
    expected = {"peer_login_expiration": 7200, "auto_update_version": ""}
    assert changed["settings"] == {**stored.settings, **expected}
    error = refused(
        422,
        lambda: client.accounts.update(
            stored.id, AccountSettings(peer_login_expiration=1)
        ),
    )
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
    parameters = {
        "bundle_for": True,
        "bundle_for_time": 2,
        "log_file_count": 100,
        "anonymize": False,
    }
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


STEPS = (
    users,
    invites,
    policies,
    peers,
    routes,
    networks,
    setup_keys,
    account,
    instance,
    jobs,
    not_served,
)

if __name__ == "__main__":
    done = []
    for step in STEPS:
        step()
        done.append(step.__name__)
    sys.stdout.write(json.dumps(done))
