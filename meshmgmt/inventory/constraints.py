"""Sentences of the inventory's constraints, for writes that race past the rules."""

from typing import Final

from meshmgmt.api.exceptions import register_constraint

_SENTENCES: Final = {
    "wg_public_key": "another peer has this WireGuard public key",
    # Before "ip", which is the beginning of its name.
    "ipv6": "another peer has this IPv6 address",
    "ip": "another peer has this IPv4 address",
    "dns_label": "another peer has this DNS label",
}


def register() -> None:
    """Register them: PostgreSQL names the constraint, SQLite the column."""
    for column, sentence in _SENTENCES.items():
        register_constraint(f"inventory_peer_{column}_key", sentence)
        register_constraint(
            f"UNIQUE constraint failed: inventory_peer.{column}", sentence
        )
    for name in ("resource_name_unique", "inventory_networkresource.name"):
        register_constraint(name, "another resource has this name")
