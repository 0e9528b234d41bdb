"""A minimal writer of MaxMind DB files (format 2.0), for tests.

https://maxmind.github.io/MaxMind-DB/
"""

import ipaddress
import struct
from itertools import chain
from pathlib import Path
from typing import Any, Final

_TEXT, _DOUBLE, _BYTES, _UINT16, _UINT32, _MAP = 2, 3, 4, 5, 6, 7
_UINT64, _ARRAY = 9, 11
_MARKER: Final = b"\xab\xcd\xefMaxMind.com"
_SEPARATOR: Final = bytes(16)


def _control(kind: int, size: int) -> bytes:
    assert size < 29
    if kind <= _MAP:
        return bytes([kind << 5 | size])
    return bytes([size, kind - 7])


def _encode(value: Any) -> bytes:
    if isinstance(value, str):
        raw = value.encode()
        return _control(_TEXT, len(raw)) + raw
    if isinstance(value, int):
        raw = value.to_bytes(8, "big").lstrip(b"\0")
        return _control(_UINT64, len(raw)) + raw
    if isinstance(value, list):
        return _control(_ARRAY, len(value)) + b"".join(map(_encode, value))
    return _control(_MAP, len(value)) + b"".join(
        _encode(key) + _encode(part) for key, part in value.items()
    )


def _small(kind: int, number: int) -> bytes:
    raw = number.to_bytes(4, "big").lstrip(b"\0")
    return _control(kind, len(raw)) + raw


def write_database(
    path: Path, networks: dict[str, dict[str, Any]], kind: str = "Test-City"
) -> None:
    """Write a GeoLite2-City-like file that knows these IPv4 networks."""
    # A record is empty, another node, or (negative) a place in the data.
    nodes: list[list[int | None]] = [[None, None]]
    data = b""
    for text, facts in networks.items():
        network = ipaddress.IPv4Network(text)
        bits = f"{int(network.network_address):032b}"[: network.prefixlen]
        node = 0
        for bit in bits[:-1]:
            following = nodes[node][int(bit)]
            if following is None:
                following = nodes[node][int(bit)] = len(nodes)
                nodes.append([None, None])
            node = following
        nodes[node][int(bits[-1])] = -1 - len(data)
        data += _encode(facts)
    count = len(nodes)

    def number(record: int | None) -> int:
        if record is None:
            return count
        return record if record >= 0 else count + len(_SEPARATOR) - 1 - record

    tree = struct.pack(f">{2 * count}I", *map(number, chain(*nodes)))
    fields = {
        "node_count": _small(_UINT32, count),
        "record_size": _small(_UINT16, 32),
        "ip_version": _small(_UINT16, 4),
        "database_type": _encode(kind),
        "languages": _encode(["en"]),
        "binary_format_major_version": _small(_UINT16, 2),
        "binary_format_minor_version": _small(_UINT16, 0),
        "build_epoch": _encode(1_700_000_000),
        "description": _encode({"en": "test"}),
    }
    metadata = _control(_MAP, len(fields)) + b"".join(
        _encode(name) + encoded for name, encoded in fields.items()
    )
    path.write_bytes(tree + _SEPARATOR + data + _MARKER + metadata)
