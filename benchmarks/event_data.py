"""Made-up traffic events and proxy entries of a mid-sized company, by a fixed seed."""

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, Final

PEERS: Final = 500
USERS: Final = 200
POLICIES: Final = 30
HOSTS: Final = 40
COUNTRIES: Final = (("Berlin", "DE"), ("Paris", "FR"), ("Oslo", "NO"), ("", ""))
SYSTEMS: Final = ("linux", "windows", "darwin", "android", None)
SPACE: Final = 100_000_000


def _identifier(kind: str, number: int) -> str:
    return f"{kind}{number:0{20 - len(kind)}d}"


def _peer(number: int) -> dict[str, Any]:
    city, country = COUNTRIES[number % len(COUNTRIES)]
    return {
        "id": _identifier("p", number),
        "type": "PEER",
        "name": f"host-{number:03d}.{SYSTEMS[number % 4]}",
        "geo_location": {"city_name": city, "country_code": country},
        "os": SYSTEMS[number % len(SYSTEMS)],
        "address": f"100.64.{number // 250}.{number % 250 + 1}",
        "dns_label": f"host-{number:03d}.mesh.internal",
    }


def _resource(chance: random.Random) -> dict[str, Any]:
    number = chance.randrange(60)
    return {
        "id": _identifier("r", number),
        "type": "HOST_RESOURCE",
        "name": f"service-{number:02d}",
        "geo_location": {"city_name": "", "country_code": ""},
        "os": None,
        "address": f"10.20.{number}.{chance.randrange(250)}:{chance.choice((22, 443))}",
        "dns_label": None,
    }


def _window(chance: random.Random, newest: datetime, days: float) -> list[str]:
    end = newest - timedelta(seconds=chance.random() * days * 86400)
    start = end - timedelta(seconds=chance.randrange(1, 600))
    return [f"{moment.replace(tzinfo=None).isoformat()}Z" for moment in (start, end)]


def traffic_events(
    count: int, newest: datetime, days: float = 6, first: int = 0, peers: int = PEERS
) -> Iterator[dict[str, Any]]:
    """Yield `count` events as reporters send them, ending within `days` of `newest`."""
    chance = random.Random(first + 1)
    for number in range(first, first + count):
        source = _peer(chance.randrange(peers))
        routed = chance.random() < 0.3
        target = _resource(chance) if routed else _peer(chance.randrange(peers))
        user = chance.randrange(USERS)
        policy = chance.randrange(POLICIES)
        start, end = _window(chance, newest, days)
        dropped = chance.random() < 0.05
        yield {
            "id": f"{chance.randrange(16**12):012x}{number:08d}",
            "flow_id": f"{chance.randrange(16**16):016x}",
            "reporter_id": source["id"],
            "source": source,
            "destination": target,
            "user": {
                "id": _identifier("u", user),
                "email": f"user{user:03d}@example.com",
                "name": f"User Number {user}",
            },
            "policy": {"id": _identifier("q", policy), "name": f"Policy {policy}"},
            "icmp": {"type": 0, "code": 0},
            "protocol": chance.choices((6, 17, 1), (70, 25, 5))[0],
            "direction": chance.choice(("INGRESS", "EGRESS")),
            "connection_type": "ROUTED" if routed else "P2P",
            "rx_bytes": chance.randrange(SPACE),
            "rx_packets": chance.randrange(100_000),
            "tx_bytes": chance.randrange(SPACE),
            "tx_packets": chance.randrange(100_000),
            "num_of_starts": 0 if dropped else chance.randrange(1, 9),
            "num_of_ends": 0 if dropped else chance.randrange(1, 9),
            "num_of_drops": chance.randrange(1, 50) if dropped else 0,
            "window_start": start,
            "window_end": end,
            "events": [
                {"type": "TYPE_DROP" if dropped else "TYPE_START", "timestamp": start}
            ],
        }


def proxy_entries(
    count: int, newest: datetime, days: float = 6, first: int = 0
) -> Iterator[dict[str, Any]]:
    """Yield `count` access log entries as reverse proxies send them."""
    chance = random.Random(first + 2)
    for number in range(first, first + count):
        host = chance.randrange(HOSTS)
        status = chance.choices((200, 204, 301, 401, 404, 500), (70, 9, 5, 8, 5, 3))[0]
        moment = newest - timedelta(seconds=chance.random() * days * 86400)
        user = chance.randrange(USERS * 2)
        yield {
            "id": f"{chance.randrange(16**12):012x}{number:08d}",
            "service_id": _identifier("s", host),
            "timestamp": f"{moment.replace(tzinfo=None).isoformat()}Z",
            "method": chance.choices(("GET", "POST", "PUT"), (80, 15, 5))[0],
            "host": f"app-{host:02d}.example.com",
            "path": f"/api/v1/items/{chance.randrange(5000)}/detail",
            "duration_ms": int(chance.expovariate(0.02)),
            "status_code": status,
            "bytes_upload": chance.randrange(10_000),
            "bytes_download": chance.randrange(1_000_000),
            "source_ip": f"198.51.{chance.randrange(100)}.{chance.randrange(250)}",
            "reason": "Authentication failed" if status == 401 else "",
            "user_id": _identifier("u", user) if user < USERS else "",
            "auth_method_used": chance.choice(("oidc", "password", "pin")),
            "country_code": chance.choice(("DE", "FR", "NO", "")),
            "city_name": "",
            "subdivision_code": "",
            "protocol": "http",
            "metadata": {},
        }
