"""Plays recorded states of an account through the API and the services of the peers."""

import base64
import datetime as dt
import json
import re
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, Final, Self

from google.protobuf.json_format import ParseDict
from nacl.public import PrivateKey

from meshmgmt.control.agent import META
from meshmgmt.control.maps import MapStore
from meshmgmt.control.protocol import management_pb2 as pb
from meshmgmt.control.services.logins import login
from meshmgmt.core import clock
from meshmgmt.inventory.models import Peer
from tests.control.deployment import open_policy
from tests.control.plain import Symbols, comparable, plain
from tests.people import api_of, person

FOLDER: Final = Path(__file__).parent / "golden"
RECORDED_DOMAIN: Final = "mesh.test"
SOURCE: Final = "127.0.0.1"

USUAL_META: Final = {**META, "syncMessageVersion": None, "flags": {}, "environment": {}}

_numbers = count(1)


def names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("[0-9]*.json"))


@cache
def recording(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return found


def fresh_store() -> MapStore:
    """A store that has read what the account is now."""
    made = MapStore()
    made.refresh()
    return made


class Refused(Exception):
    """A step of a recording is not possible here."""


class Playback:
    """One fresh account in which the steps of a recording are repeated."""

    def __init__(self) -> None:
        owner = person("owner")
        self.api = api_of(owner)
        self.symbols = Symbols({"$user.owner": owner.pk})
        self.setup_keys: dict[str, str] = {}
        self.keys: dict[str, str] = {}
        self.private_keys: dict[str, PrivateKey] = {}
        self.metas: dict[str, pb.PeerSystemMeta] = {}
        [account] = self.call("GET", "/api/accounts")
        self.symbols["$account"] = account["id"]
        self.symbols[RECORDED_DOMAIN] = account["settings"]["dns_domain"]
        [everybody] = self.call("GET", "/api/groups")
        self.symbols["$group.All"] = everybody["id"]
        policy = self.call("POST", "/api/policies", open_policy(everybody["id"]))
        self.symbols["$policy.default"] = policy["id"]

    @classmethod
    def of(cls, name: str) -> Self:
        """An account in a recorded state. Raises Refused."""
        playback = cls()
        for step in recording(name)["steps"]:
            playback.play(step)
        return playback

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Call the API. Raises Refused for an answer that is no success."""
        answer = self.api.call(
            method, self.symbols.resolve(path), self.symbols.resolve(body)
        )
        if answer.status >= 400:
            raise Refused(f"{method} {path}: {answer.status} {answer.json}")
        return answer.json

    def play(self, step: dict[str, Any]) -> None:
        if "enrol" in step:
            self.enrol(step)
        elif "store" in step:
            self._store(step)
        else:
            answer = self.call(step["method"], step["path"], step.get("body"))
            if symbol := step.get("save_id_as"):
                self.symbols[symbol] = answer["id"]
                if symbol.startswith("$setup_key."):
                    self.setup_keys[symbol] = answer["key"]

    def enrol(self, step: dict[str, Any]) -> None:
        """Let a machine in."""
        label = step["enrol"]
        private = PrivateKey(next(_numbers).to_bytes(32))
        key = base64.b64encode(bytes(private.public_key)).decode()
        request = pb.LoginRequest(
            setupKey=self.setup_keys[step.get("setup_key", "$setup_key.k")],
            meta=meta_of(label, step.get("meta", {})),
            peerKeys=pb.PeerKeys(sshPubKey=step["ssh_pub_key"].encode()),
            dnsLabels=step.get("dns_labels", ()),
        )
        self.keys[label], self.metas[label] = key, request.meta
        self.private_keys[label] = private
        self.symbols[f"$key.{label}"] = key
        self.symbols[f"$peer.{label}"] = login(key, request, SOURCE).peer_id

    def learn(self, peers: dict[str, dict[str, str]]) -> None:
        """Take over the addresses and labels that the server chose by chance."""
        for label, recorded in peers.items():
            found = Peer.objects.filter(pk=self.symbols[f"$peer.{label}"]).first()
            for field in ("ip", "ipv6", "dns_label"):
                symbol = re.match(r"\$\w+\.\w+", recorded.get(field, ""))
                if symbol and found is not None:
                    self.symbols[symbol[0]] = getattr(found, field) or "none"

    def message(self, store: MapStore, label: str) -> dict[str, Any]:
        """What a peer gets, in the form of the recordings."""
        message = store.message(self.symbols[f"$peer.{label}"])
        return self.as_recorded(pb.SyncResponse.FromString(message))

    def as_recorded(self, message: pb.SyncResponse) -> dict[str, Any]:
        """A message without configuration, in the form of the recordings."""
        if message.NetworkMap.HasField("peerConfig"):
            assert message.NetworkMap.peerConfig == message.peerConfig
            message.NetworkMap.ClearField("peerConfig")
        found: dict[str, Any] = comparable(plain(message, self.symbols))
        return found

    def _store(self, step: dict[str, Any]) -> None:
        """Set columns that only signing in through a provider would set."""
        peer = Peer.objects.get(pk=self.symbols[step["store"]])
        for name, value in self.symbols.resolve(step["values"]).items():
            if name == "last_login":
                said = None if value == "now" else dt.datetime.fromisoformat(value)
                peer.last_login = said or clock.now()
            else:
                setattr(peer, name, value)
        peer.save()


def meta_of(label: str, differing: dict[str, Any]) -> pb.PeerSystemMeta:
    """What a machine says of itself: the usual, but for what differs (null: not said)."""
    values = {**USUAL_META, "hostname": label, **differing}
    said = {name: value for name, value in values.items() if value is not None}
    return ParseDict(said, pb.PeerSystemMeta())
