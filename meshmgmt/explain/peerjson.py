"""What one peer gets as plain values, for JSON."""

from collections.abc import Mapping
from functools import lru_cache

from meshmgmt.mesh.peerdns import (
    EffectiveGroup,
    EffectiveZone,
    Excluded,
    PeerDns,
)
from meshmgmt.mesh.reasons import Reason


def to_json(config: PeerDns) -> dict[str, object]:
    """The configuration as plain lists, dicts, texts, numbers and booleans."""
    return {
        "peer_id": config.peer_id,
        "peer_name": config.peer_name,
        "managed": config.managed,
        "reason": _reason(config.reason),
        "zones": [_zone(zone) for zone in config.zones],
        "nameserver_groups": [_group(group) for group in config.nameserver_groups],
        "search_domains": [
            {
                "domain": search.domain,
                "from": {"kind": search.kind, "id": search.id, "name": search.name},
            }
            for search in config.search_domains
        ],
        "visible_peers": [
            {"id": peer.id, "name": peer.name, "reason": _reason(peer.reason)}
            for peer in config.visible_peers
        ],
        "excluded": [_excluded(excluded) for excluded in config.excluded],
        "object_count": config.object_count,
    }


@lru_cache(maxsize=1024)
def _reason(reason: Reason) -> Mapping[str, object]:
    """Shared by all that have it: hundreds of objects have a few."""
    return {"code": reason.code, "subjects": list(reason.subjects), "text": reason.text}


def _zone(zone: EffectiveZone) -> dict[str, object]:
    return {
        "kind": zone.kind,
        "id": zone.id,
        "name": zone.name,
        "domain": zone.domain,
        "search_domain": zone.search,
        "authoritative": zone.authoritative,
        "records": [
            {"name": r.name, "type": r.type, "content": r.content, "ttl": r.ttl}
            for r in zone.records
        ],
        "reason": _reason(zone.reason),
    }


def _group(group: EffectiveGroup) -> dict[str, object]:
    return {
        "id": group.id,
        "name": group.name,
        "primary": group.primary,
        "domains": list(group.domains),
        "search_domains_enabled": group.search,
        "nameservers": [
            {"ip": server.ip, "ns_type": server.ns_type, "port": server.port}
            for server in group.nameservers
        ],
        "reason": _reason(group.reason),
    }


def _excluded(excluded: Excluded) -> dict[str, object]:
    return {
        "kind": excluded.kind,
        "id": excluded.id,
        "name": excluded.name,
        "domains": list(excluded.domains),
        "primary": excluded.primary,
        "reasons": [_reason(reason) for reason in excluded.reasons],
    }
