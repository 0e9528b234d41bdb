"""Whether a peer passes posture checks (reference API 13.5). What is unknown fails."""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any, Final

from meshmgmt.mesh.snapshot import Peer, PostureCheck
from meshmgmt.mesh.versions import at_least, without_pre

_PATHS: Final = {"linux": "linux_path", "darwin": "mac_path", "windows": "windows_path"}


def passes(peer: Peer, checks: Iterable[PostureCheck]) -> bool:
    """Tell whether a peer passes every part of all the checks."""
    return all(
        _KINDS[kind](peer, settings)
        for check in checks
        for kind, settings in check.checks.items()
    )


def shortfalls(peer: Peer, check: PostureCheck) -> list[str]:
    """What was found of a peer for each part of a check that it does not pass."""
    return [
        _FOUND[kind](peer)
        for kind, settings in check.checks.items()
        if not _KINDS[kind](peer, settings)
    ]


def watched_files(check: PostureCheck) -> tuple[str, ...]:
    """The paths of a check that peers must look at: those of every system."""
    processes = check.checks.get("process_check", {}).get("processes", ())
    names = _PATHS.values()
    return tuple(
        process[name] for process in processes for name in names if process.get(name)
    )


def _client(peer: Peer, settings: Mapping[str, Any]) -> bool:
    # Both cut, as in the reference. A client built by hand has no number, and fails.
    return at_least(without_pre(peer.version), without_pre(settings["min_version"]))


def _system(peer: Peer, settings: Mapping[str, Any]) -> bool:
    match peer.system:
        case "android" | "darwin" | "ios":
            have, field = peer.os_version, "min_version"
        case "linux":
            # 6.1.0-18-amd64 is no pre-release: distributions put their own behind it.
            have, field = without_pre(peer.kernel_version), "min_kernel_version"
        case "windows":
            have, field = peer.kernel_version, "min_kernel_version"
        case _:
            # No check can name other systems, and the reference lets them pass.
            return True
    wanted: Any = settings.get(peer.system)
    return wanted is not None and at_least(have, wanted[field])


def _place(peer: Peer, settings: Mapping[str, Any]) -> bool:
    # Unknown fails, also where the list says who is kept out.
    if not peer.country and not peer.city:
        return False
    inside = any(
        place["country_code"] == peer.country
        and place.get("city_name", "") in ("", peer.city)
        for place in settings["locations"]
    )
    return _wanted(settings, inside=inside)


def _ranges(peer: Peer, settings: Mapping[str, Any]) -> bool:
    networks = [found for text in peer.networks if (found := _network(text))]
    ranges = [found for text in settings["ranges"] if (found := _network(text))]
    inside = any(_contains(outer, network) for outer in ranges for network in networks)
    # A peer that reports no networks is nowhere, not outside of the ranges.
    return bool(networks) and _wanted(settings, inside=inside)


def _wanted(settings: Mapping[str, Any], *, inside: bool) -> bool:
    """Tell whether a peer may be where it is."""
    return inside if settings["action"] == "allow" else not inside


def _contains(
    outer: IPv4Network | IPv6Network, inner: IPv4Network | IPv6Network
) -> bool:
    # subnet_of() refuses to compare two families.
    return inner.version == outer.version and inner.subnet_of(outer)  # type: ignore[arg-type]


@lru_cache(maxsize=16384)
def _network(text: str) -> IPv4Network | IPv6Network | None:
    """The prefix with its host bits cleared; None for what a peer made up."""
    try:
        return ip_network(text, strict=False)
    except ValueError:
        return None


def _processes(peer: Peer, settings: Mapping[str, Any]) -> bool:
    field = _PATHS.get(peer.system)
    return field is not None and all(
        process.get(field) and process[field] in peer.running
        for process in settings["processes"]
    )


_KINDS: Final[Mapping[str, Callable[[Peer, Mapping[str, Any]], bool]]] = {
    "nb_version_check": _client,
    "os_version_check": _system,
    "geo_location_check": _place,
    "peer_network_range_check": _ranges,
    "process_check": _processes,
}

_FOUND: Final[Mapping[str, Callable[[Peer], str]]] = {
    "nb_version_check": lambda peer: f"its client is {peer.version or 'unknown'}",
    "os_version_check": lambda peer: (
        f"it runs {peer.system or 'an unknown system'}"
        f" {peer.os_version} with kernel {peer.kernel_version or 'unknown'}"
    ),
    "geo_location_check": lambda peer: (
        f"it is in {peer.city or 'an unknown city'}, {peer.country or 'unknown'}"
    ),
    "peer_network_range_check": lambda peer: (
        f"its networks are {', '.join(peer.networks) or 'unknown'}"
    ),
    "process_check": lambda peer: (
        f"of the processes asked for it runs {', '.join(sorted(peer.running)) or 'none'}"
    ),
}
