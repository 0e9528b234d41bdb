"""Valid bodies of the DNS endpoints, to be changed by a test in one place."""

from typing import Any


def nameserver_group(**changes: Any) -> dict[str, Any]:
    """Return the body of a nameserver group with match domains."""
    body = {
        "name": "office",
        "description": "servers of the office",
        "nameservers": [{"ip": "10.0.0.53", "ns_type": "udp", "port": 53}],
        "enabled": True,
        "groups": [],
        "primary": False,
        "domains": ["corp.test"],
        "search_domains_enabled": False,
    }
    return body | changes


def zone(**changes: Any) -> dict[str, Any]:
    body = {
        "name": "Services",
        "domain": "svc.test",
        "enabled": True,
        "enable_search_domain": False,
        "distribution_groups": [],
    }
    return body | changes


def record(**changes: Any) -> dict[str, Any]:
    """Return the body of an A record."""
    body = {"name": "www.svc.test", "type": "A", "content": "10.0.0.1", "ttl": 300}
    return body | changes
