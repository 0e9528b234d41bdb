"""What a peer reports of its machine, as columns; and the peer with a public key."""

from collections.abc import Collection
from typing import Any, Final

from meshmgmt.access.models import PostureCheck
from meshmgmt.accounts.models import Account, User
from meshmgmt.control.protocol import management_pb2 as pb
from meshmgmt.control.services.refusals import Code, Refused
from meshmgmt.core.queries import Prepared, batches, columns_of, loaded
from meshmgmt.inventory.models import Peer
from meshmgmt.inventory.reports import peer_report, place_facts
from meshmgmt.inventory.rules import DISABLE_IPV6, LOCAL_FLAGS
from meshmgmt.inventory.standing import DELETED, Standing, standing_of
from observability.metrics import instruments

MAX_TEXT: Final = 255
MAX_VERSION: Final = 64
MAX_PATH: Final = 4096
MAX_KEY: Final = 16 * 1024
MAX_NUMBER: Final = 2**31 - 1

_FLAGS: Final = dict(
    zip(
        (*LOCAL_FLAGS, DISABLE_IPV6),
        (
            "rosenpassEnabled",
            "rosenpassPermissive",
            "serverSSHAllowed",
            "disableClientRoutes",
            "disableServerRoutes",
            "disableDNS",
            "disableFirewall",
            "blockLANAccess",
            "blockInbound",
            "lazyConnectionEnabled",
            "disableIPv6",
        ),
        strict=True,
    )
)
"""Names of our flags with those of the protocol."""

_META_UPDATES: Final = instruments.counter(
    "management.account.peer.meta.update.counter"
)
_PLACE: Final = frozenset({"connection_ip", "country_code", "city_name"})

# For each stream that begins: Django would take longer to write it than to ask it.
_BY_KEYS: Final = Prepared(
    lambda keys: (
        Peer.objects.filter(wg_public_key__in=keys)
        .order_by()
        .values_list(*columns_of(Peer), *columns_of(User, "user__"))
    )
)


def facts_of(meta: pb.PeerSystemMeta) -> dict[str, Any]:
    """Return the columns that `meta` gives; none at all when it says nothing.

    Texts lose what cannot be printed and are cut to what their columns hold. Lists are
    not, for that could make posture checks pass: envelopes bound them.
    """
    if not meta.ByteSize():
        return {}
    os_version = plain(meta.OSVersion or meta.core)
    facts = {
        "hostname": plain(meta.hostname),
        "go_os": plain(meta.goOS, MAX_VERSION),
        "os": f"{plain(meta.OS)} {os_version}".strip()[:MAX_TEXT],
        "os_version": os_version,
        "kernel": plain(meta.kernel),
        "kernel_version": plain(meta.kernelVersion),
        "platform": plain(meta.platform),
        "version": plain(meta.netbirdVersion, MAX_VERSION),
        "serial_number": plain(meta.sysSerialNumber),
        "product_name": plain(meta.sysProductName),
        "manufacturer": plain(meta.sysManufacturer),
        "environment": {
            "cloud": plain(meta.environment.cloud),
            "platform": plain(meta.environment.platform),
        },
        "network_addresses": [
            {"net_ip": plain(item.netIP, MAX_VERSION), "mac": plain(item.mac, 64)}
            for item in meta.networkAddresses
        ],
        "files": [
            {
                "path": plain(item.path, MAX_PATH),
                "exist": item.exist,
                "process_is_running": item.processIsRunning,
            }
            for item in meta.files
        ],
        "capabilities": sorted(set(meta.capabilities)),
        "sync_message_version": min(max(meta.syncMessageVersion, 0), MAX_NUMBER),
        "local_flags": {
            ours: True for ours, theirs in _FLAGS.items() if getattr(meta.flags, theirs)
        },
    }
    if meta.uiVersion:  # clients without a window open leave it out
        facts["ui_version"] = plain(meta.uiVersion, MAX_VERSION)
    return facts


def ssh_key_of(request: pb.LoginRequest) -> dict[str, str]:
    """Return the column for the SSH key of a login, none without. Raises Refused."""
    key = request.peerKeys.sshPubKey
    if len(key) > MAX_KEY:
        raise Refused(Code.INVALID_ARGUMENT, "the SSH public key is too long")
    text = plain(key.decode("utf-8", "replace"), MAX_KEY)
    return {"ssh_key": text} if text else {}


def plain(text: str, limit: int = MAX_TEXT) -> str:
    """Return `text` on one line, without characters that are not seen, cut to `limit`."""
    if not text.isprintable():
        text = "".join(character for character in text if character.isprintable())
    return text.strip()[:limit].strip()


def known_peer(public_key: str) -> Peer | None:
    """Return the peer with its user, None for a key that nobody knows."""
    return known_peers([public_key]).get(public_key)


def known_peers(public_keys: Collection[str]) -> dict[str, Peer]:
    """Return the peers with these public keys, with their users."""
    wanted = list(dict.fromkeys(public_keys))
    rows = (row for part in batches(wanted) for row in _BY_KEYS.rows(part))
    return {peer.wg_public_key: peer for peer in map(_with_user, rows)}


def _with_user(row: tuple[Any, ...]) -> Peer:
    own = len(Peer._meta.concrete_fields)
    peer = loaded(Peer, row[:own])
    if peer.user_id is not None:
        peer.user = loaded(User, row[own:])
    return peer


def admitted(peer: Peer, account: Account) -> Standing:
    """Return the standing of a peer that may go on. Raises Refused for another."""
    standing = standing_of(peer, account)
    if not standing.allowed:
        raise Refused(Code.PERMISSION_DENIED, standing.reason)
    return standing


def stored_peer(peer_id: str) -> Peer:
    """Return the peer as the running write finds it. Raises Refused when it is gone."""
    peer = Peer.objects.select_related("user").filter(pk=peer_id).first()
    if peer is None:
        raise Refused(Code.PERMISSION_DENIED, DELETED)
    return peer


def take_report(
    peer: Peer, meta: pb.PeerSystemMeta, source: str, **further: str
) -> None:
    """Store what a peer says of itself and where it comes from."""
    facts = {**facts_of(meta), **place_facts(source), **further}
    changed = peer_report(peer, facts, posture_checks_exist=PostureCheck.objects.exists)
    if changed - _PLACE - further.keys():
        _META_UPDATES.inc()
