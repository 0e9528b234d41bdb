"""Which activities changes of the inventory emit."""

from collections.abc import Callable
from typing import Any, Final

from events.activities import Activity
from events.audit import specs
from events.audit.changes import Change, objects_by_id, related_object
from events.audit.emission import audit_record
from events.audit.specs import AuditSpec, Meta, switched, switches, written
from meshmgmt.accounts.models import Account
from meshmgmt.core.context import account_id
from meshmgmt.inventory.labels import full_name
from meshmgmt.inventory.models import (
    CONNECTION,
    MACHINE,
    REPORTED,
    Network,
    NetworkResource,
    Peer,
)

_SWITCHES: Final = {
    "ssh_enabled": "peer.ssh",
    "login_expiration_enabled": "peer.login.expiration",
    "inactivity_expiration_enabled": "peer.inactivity.expiration",
}
_NAMED_BY_ADDRESS: Final = {
    f"{code}.{deed}" for code in _SWITCHES.values() for deed in ("enable", "disable")
}
"""The reference API gives the peer's address as target of these."""


def register() -> None:
    specs.register(
        _peer_spec(),
        written(Network, "network", meta=lambda network: {"name": network.name}),
        written(NetworkResource, "network.resource", meta=_resource_meta),
    )


def fqdn(peer: Peer) -> str:
    """Return the peer's name under the account's domain."""
    return under_domain()(peer.dns_label)


def under_domain() -> Callable[[str], str]:
    """Return a function that makes a DNS label a name under the account's domain."""
    account = objects_by_id(Account, [account_id()]).get(account_id())
    domain = account.peers_domain if account is not None else ""
    return lambda label: full_name(label, domain)


def _peer_spec() -> AuditSpec:
    return AuditSpec(
        model=Peer,
        created=_enrolled,
        updated=Activity.PEER_UPDATE,
        deleted=Activity.USER_PEER_DELETE,
        fields={
            "name": Activity.PEER_RENAME,
            "dns_label": Activity.PEER_RENAME,
            "ip": Activity.PEER_IP_UPDATE,
            "ipv6": Activity.PEER_IP_UPDATE,
            **switches(_SWITCHES),
            "approval_required": switched(
                "approval_required",
                Activity.PEER_APPROVAL_REVOKE,
                Activity.PEER_APPROVE,
            ),
            "login_expired": switched(
                "login_expired", Activity.PEER_LOGIN_EXPIRE, Activity.USER_PEER_LOGIN
            ),
        },
        unaudited=frozenset(
            {
                *(*REPORTED, *CONNECTION),
                *("network_addresses", "stream_started", "stream_process"),
            }
        ),
        reported=frozenset({*MACHINE, "local_flags"}),
        # Addresses that nobody asked for are drawn, and the label may end in one.
        random=frozenset({"ip", "ipv6", "dns_label"}),
        meta=peer_meta,
        update_meta=_peer_update_meta,
        target=_peer_target,
    )


def _enrolled(change: Change) -> Activity:
    by_key = change.after.get("setup_key_id")
    return Activity.PEER_SETUPKEY_ADD if by_key else Activity.PEER_USER_ADD


def _peer_target(change: Change, activity: str) -> str:
    address = getattr(change.instance, "ip", "")
    return address if activity in _NAMED_BY_ADDRESS else str(change.pk)


def peer_meta(peer: Peer) -> Meta:
    """Return what events about a peer say of it (reference API 10.5, PM)."""
    meta: dict[str, Any] = {
        "name": peer.name,
        "fqdn": fqdn(peer),
        "ip": peer.ip,
        "created_at": peer.created_at,
        "location_city_name": peer.city_name,
        "location_country_code": peer.country_code,
        "location_geo_name_id": peer.geoname_id,
        "location_connection_ip": peer.connection_ip,
    }
    if peer.ipv6:
        meta["ipv6"] = peer.ipv6
    if peer.setup_key_name:
        meta["setup_key_name"] = peer.setup_key_name
    if peer.approval_required:
        meta["pending_approval"] = True
    return meta


def record_about(peer: Peer, activity: Activity) -> None:
    """Record what a peer did that no column of it tells."""
    audit_record(activity, target_id=peer.pk, target_type="peer", meta=peer_meta(peer))


def _peer_update_meta(change: Change, activity: str) -> Meta:
    peer = change.instance
    assert isinstance(peer, Peer)
    meta = peer_meta(peer)
    if activity == Activity.PEER_IP_UPDATE:
        # The reference has these two keys alone; the event's changes tell both addresses.
        field = "ip" if change.changed("ip") else "ipv6"
        meta["old_ip"] = change.before[field]
        meta["ip"] = change.after[field]
    return meta


def _resource_meta(resource: NetworkResource) -> Meta:
    network = related_object(resource, "network")
    return {
        "name": resource.name,
        "type": resource.type,
        "network_name": network.name if network else "",
        "network_id": resource.network_id,
    }
