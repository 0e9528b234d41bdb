"""Changes over the API that all agents are told of."""

import json
from dataclasses import dataclass
from typing import Any

from benchmarks import load


@dataclass
class Api:
    """The API as its owner calls it."""

    port: int
    token: str

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Return the answer, which must be 200."""
        client = load.Connection(self.port)
        data = b"" if body is None else json.dumps(body).encode()
        status, answer = client.exchange(load.request(method, path, self.token, data))
        client.close()
        assert status == 200, answer
        return json.loads(answer)

    def manage_all_dns(self) -> None:
        """Let everybody have their DNS managed: others would not be told of changes."""
        self.ask("PUT", "/api/dns/settings", {"disabled_management_groups": []})

    def resolve_by(self, address: str) -> None:
        """Give everybody one more DNS server, which shows in every map."""
        everybody = self.ask("GET", "/api/groups?name=All")[0]["id"]
        body = {
            "name": f"for all {address}",
            "description": "",
            "nameservers": [{"ip": address, "ns_type": "udp", "port": 53}],
            "enabled": True,
            "groups": [everybody],
            "primary": False,
            "domains": ["bench.internal"],
            "search_domains_enabled": False,
        }
        self.ask("POST", "/api/dns/nameservers", body)
