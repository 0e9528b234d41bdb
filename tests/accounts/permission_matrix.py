"""What each role may do, written down by hand from the decisions (not from the code).

One line per module: what owner, admin, network_admin, auditor and user may do there.
`C` create, `R` read, `U` update, `D` delete.
"""

from typing import Final

EXPECTED: Final = {
    "networks": ("CRUD", "CRUD", "CRUD", "R", ""),
    "peers": ("CRUD", "CRUD", "R", "R", ""),
    "remote_jobs": ("CRUD", "CRUD", "", "R", ""),
    "groups": ("CRUD", "CRUD", "CRUD", "R", ""),
    "settings": ("CRUD", "CRUD", "R", "R", ""),
    "accounts": ("CRUD", "R", "R", "R", ""),
    "dns": ("CRUD", "CRUD", "CRUD", "R", ""),
    "nameservers": ("CRUD", "CRUD", "CRUD", "R", ""),
    "events": ("CRUD", "CRUD", "R", "R", ""),
    "policies": ("CRUD", "CRUD", "CRUD", "R", ""),
    "routes": ("CRUD", "CRUD", "CRUD", "R", ""),
    "users": ("CRUD", "CRUD", "R", "R", ""),
    "setup_keys": ("CRUD", "CRUD", "R", "R", ""),
    "pats": ("CRUD", "CRUD", "CRUD", "R", ""),
    "identity_providers": ("CRUD", "CRUD", "R", "R", ""),
    "services": ("CRUD", "CRUD", "", "R", ""),
}

ROLES: Final = ("owner", "admin", "network_admin", "auditor", "user")
