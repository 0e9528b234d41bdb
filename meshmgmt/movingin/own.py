"""Our account in the words of the API, to be held against that of another service."""

from collections.abc import Callable
from functools import partial
from typing import Any

import orjson

from dns.models import NameserverGroup, Record
from dns.selectors.settings import disabled_management_groups
from dns.selectors.zones import zone_rows
from groups.selectors import group_rows
from meshmgmt.access.models import PostureCheck
from meshmgmt.access.selectors.networks import network_rows, resource_rows
from meshmgmt.access.selectors.policies import policy_rows
from meshmgmt.access.selectors.routes import route_rows, router_rows
from meshmgmt.access.selectors.setupkeys import setup_key_rows
from meshmgmt.accounts.models import User
from meshmgmt.accounts.selectors import account_rows, user_rows
from meshmgmt.api.renderers import to_json
from meshmgmt.core.resources import stored_rows
from meshmgmt.core.transactions import read_snapshot
from meshmgmt.inventory.selectors import peer_rows
from meshmgmt.movingin.source import Foreign, read


def own_account(viewer: User) -> Foreign:
    """Return what `viewer`, an owner, is answered."""
    collections: dict[str, Callable[[], Any]] = {
        "accounts": account_rows,
        "users": partial(user_rows, viewer),
        "peers": partial(peer_rows, viewer),
        "groups": group_rows,
        "posture-checks": partial(stored_rows, PostureCheck),
        "networks": network_rows,
        "policies": policy_rows,
        "routes": route_rows,
        "dns/nameservers": partial(stored_rows, NameserverGroup),
        "dns/zones": zone_rows,
        "dns/settings": lambda: {
            "disabled_management_groups": disabled_management_groups()
        },
        "setup-keys": setup_key_rows,
    }
    parts: dict[str, Callable[[str], Any]] = {
        "resources": resource_rows,
        "routers": router_rows,
        "records": lambda zone_id: stored_rows(Record, within=zone_id),
    }

    def get(path: str) -> Any:
        if path in collections:
            answer = collections[path]()
        else:
            whole, part = path.split("/")[-2:]
            answer = parts[part](whole)
        # Through JSON: times and enumerations are texts, as on the other side.
        return orjson.loads(to_json(answer))

    with read_snapshot():
        found = read(get)
    assert found is not None, "the account is made with the tables"
    return found
