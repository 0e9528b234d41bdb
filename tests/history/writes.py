"""Random writes over the API, of objects that refer to each other."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.api_client import Api
from tests.dns.bodies import nameserver_group, zone
from tests.resource_contract import Body

COLLECTIONS = ("groups", "policies", "dns/zones", "dns/nameservers", "networks")


def check_at_random(check: Callable[[Random], None], examples: int) -> None:
    """Check it so many times; a seed that fails is told, and found again."""

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(st.integers(0, 2**32))
    def seeded(seed: int) -> None:
        check(Random(seed))

    seeded()


class Writer:
    """Writes as clients do; what is refused changes nothing."""

    def __init__(self, api: Api, random: Random, peers: Sequence[str] = ()) -> None:
        self._api = api
        self._random = random
        self._peers = peers
        self._number = 0

    def write(self) -> None:
        """Make, replace or delete one object; sometimes a record or a setting."""
        deed = self._random.choice(self._deeds())
        if not self._number:  # every history has a write that is not refused
            self._api.post("/api/groups", self._body("groups"))
            return
        deed()

    def make_each(self) -> None:
        """Make one object of each kind."""
        for collection in COLLECTIONS:
            self._make(collection)

    def _deeds(self) -> list[Callable[[], None]]:
        return [
            *[self._make, self._replace] * 2,
            *[self._delete, self._record, self._unmanage],
        ]

    def _some(self, choices: Sequence[Any]) -> list[Any]:
        return self._random.sample(choices, self._random.randint(0, len(choices)))

    def _ids(self, collection: str) -> list[str]:
        return [
            found["id"]
            for found in self._api.get(f"/api/{collection}").json
            if found["name"] != "All"
        ]

    def _body(self, collection: str) -> Body:
        self._number += 1
        name = f"{collection[:3]} {self._number}"
        groups = self._ids("groups")
        some = self._some(groups)[:3]
        bodies: dict[str, Body] = {
            "groups": {"peers": self._some(self._peers)},
            "policies": {
                "enabled": True,
                "rules": [
                    {
                        "name": name,
                        "enabled": self._random.random() < 0.7,
                        "action": "accept",
                        "bidirectional": True,
                        "sources": some,
                        "destinations": self._some(groups)[:2],
                        **self._kind_of_rule(some),
                    }
                ],
            },
            "dns/zones": zone(
                domain=f"z{self._number}.example",
                distribution_groups=some or groups[:1],
            ),
            "dns/nameservers": nameserver_group(
                primary=True, domains=[], groups=some or groups[:1]
            ),
            "networks": {"description": name},
        }
        return {**bodies[collection], "name": name}

    def _kind_of_rule(self, sources: Sequence[str]) -> Body:
        if self._random.random() < 0.7:
            return {"protocol": "tcp", "ports": [str(self._random.randint(1, 99))]}
        logins = {each: self._some(["root", "bob", "eve"]) for each in sources}
        return {"protocol": "netbird-ssh", "authorized_groups": logins}

    def _make(self, *collections: str) -> None:
        collection = self._random.choice(collections or COLLECTIONS)
        self._api.post(f"/api/{collection}", self._body(collection))

    def _one(self, *collections: str) -> tuple[str, str]:
        collection = self._random.choice(collections or COLLECTIONS)
        ids = self._ids(collection)
        return collection, self._random.choice(ids) if ids else "none"

    def _replace(self, *collections: str) -> None:
        collection, one = self._one(*collections)
        body = self._body(collection)
        body.pop("domain", None)  # it stays what it is
        self._api.put(f"/api/{collection}/{one}", body)

    def _delete(self) -> None:
        collection, one = self._one()
        self._api.delete(f"/api/{collection}/{one}")

    def _record(self) -> None:
        zones = self._api.get("/api/dns/zones").json
        if not zones:
            return
        zone = self._random.choice(zones)
        path = f"/api/dns/zones/{zone['id']}/records"
        if zone["records"] and self._random.random() < 0.4:
            self._api.delete(f"{path}/{self._random.choice(zone['records'])['id']}")
            return
        name = f"{self._random.choice('abc')}.{zone['domain']}"
        kind, content = self._random.choice(
            [("A", "10.0.0.1"), ("A", "10.0.0.2"), ("CNAME", "x.example")]
        )
        body = {"name": name, "type": kind, "content": content, "ttl": 300}
        self._api.post(path, body)

    def _unmanage(self) -> None:
        body = {"disabled_management_groups": self._some(self._ids("groups"))[:2]}
        self._api.put("/api/dns/settings", body)


class AddressWriter(Writer):
    """Also deletes peers, and changes what their addresses are of."""

    def _deeds(self) -> list[Callable[[], None]]:
        addressing = [self._number_anew, self._have_ipv6, self._regroup]
        return [*super()._deeds(), *addressing * 2, self._delete_peer]

    def _body(self, collection: str) -> Body:
        self._peers = self._ids("peers")
        return super()._body(collection)

    def _delete_peer(self) -> None:
        _, one = self._one("peers")
        self._api.delete(f"/api/peers/{one}")

    def _regroup(self) -> None:
        self._random.choice([self._replace, self._make])("groups")

    def _number_anew(self) -> None:
        ranges = {
            "network_range": ("100.64.0.0/10", "100.64.0.16/28", "10.9.0.0/24"),
            "network_range_v6": ("", "fd00:1::/64", "fd00:2::/64"),
        }
        name = self._random.choice(list(ranges))
        self._set(**{name: self._random.choice(ranges[name])})

    def _have_ipv6(self) -> None:
        groups = self._some(self._ids("groups"))[:2]
        self._set(network_range_v6="fd00:1::/64", ipv6_enabled_groups=groups)

    def _set(self, **settings: Any) -> None:
        (account,) = self._api.get("/api/accounts").json
        body = {"settings": account["settings"] | settings}
        self._api.put(f"/api/accounts/{account['id']}", body)
