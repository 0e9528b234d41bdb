"""What a peer's owner decided on the machine itself."""

from typing import Final

LOCAL_FLAGS: Final = (
    "rosenpass_enabled",
    "rosenpass_permissive",
    "server_ssh_allowed",
    "disable_client_routes",
    "disable_server_routes",
    "disable_dns",
    "disable_firewall",
    "block_lan_access",
    "block_inbound",
    "lazy_connection_enabled",
)
"""Names of the flags, in the order in which the API shows them."""

DISABLE_IPV6: Final = "disable_ipv6"

STORED_FLAGS: Final = (*LOCAL_FLAGS, DISABLE_IPV6)
"""All that is kept; the API does not show the last one."""
