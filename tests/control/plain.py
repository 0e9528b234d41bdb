"""Messages to peers as plain values, with symbols in the place of random ones."""

import hashlib
import ipaddress
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from google.protobuf.message import Message

ORDERED: Final = {
    "NameServers",
    "allowedIps",
    "Domains",
    "domains",
    "sourcePrefixes",
    "audiences",
}
"""Lists whose order says something; the others are compared as sets with repeats."""

NAMES: Final = ("wgPubKey", "ID", "Domain")
"""Fields that tell which element of a list it is."""

ABSENT: Final = "(absent)"
NOT_COMPARED: Final = {"Serial", "jwtConfig"}
_SHORTEST_ID: Final = 5  # shorter texts are too likely to stand for something else
_SESSION_END: Final = "$last_login+peer_login_expiration"


class Symbols(dict[str, str]):
    """What this server calls the objects of a recording: symbol to value."""

    def resolve(self, value: Any) -> Any:
        """Put values in the place of symbols, in texts at any depth."""
        text = json.dumps(value)
        pattern = r"\$account|\$[a-z_]+\.[A-Za-z0-9_-]+"
        return json.loads(re.sub(pattern, lambda found: self[found[0]], text))

    def symbolise(self, text: str) -> str:
        """Put symbols in the place of values."""
        known = {
            value: symbol
            for symbol, value in self.items()
            if len(value) >= _SHORTEST_ID
        }
        if not known:
            return text
        longest_first = sorted(map(re.escape, known), key=len, reverse=True)
        whole = rf"(?<![A-Za-z0-9])(?:{'|'.join(longest_first)})(?![A-Za-z0-9])"
        return re.sub(whole, lambda found: known[found[0]], text)


def plain(message: Message, symbols: Symbols) -> dict[str, Any]:
    """A message as a dict: names of the protocol, fields at their default left out."""
    values: dict[str, Any] = {}
    for field, value in message.ListFields():
        if field.message_type and field.message_type.GetOptions().map_entry:
            values[field.name] = {key: plain(value[key], symbols) for key in value}
        elif field.is_repeated:
            values[field.name] = [_plain(field, item, symbols) for item in value]
        else:
            values[field.name] = _plain(field, value, symbols)
    users = values.get("AuthorizedUsers", [])
    for login, entry in values.get("machine_users", {}).items():
        values["machine_users"][login] = [users[n] for n in entry.get("indexes", [])]
    return values


def comparable(value: Any, name: str = "") -> Any:
    """The values with lists in an order of their own, without what is not compared."""
    if isinstance(value, list):
        items = [comparable(item) for item in value]
        return items if name in ORDERED else sorted(items, key=_text)
    if isinstance(value, Mapping):
        return {
            key: comparable(item, key)
            for key, item in value.items()
            if key not in NOT_COMPARED
        }
    return value


def _plain(field: Any, value: Any, symbols: Symbols) -> Any:
    if field.name == "sessionExpiresAt":
        return _SESSION_END if value.ToSeconds() else "1970-01-01T00:00:00Z"
    if field.message_type:
        return plain(value, symbols)
    if field.enum_type:
        return field.enum_type.values_by_number[value].name
    if isinstance(value, bytes):
        value = _plain_bytes(field.name, value, symbols)
    return symbols.symbolise(value) if isinstance(value, str) else value


def _plain_bytes(name: str, value: bytes, symbols: Symbols) -> str:
    if name in {"sourcePrefixes", "address_v6"}:
        return f"{ipaddress.ip_address(value[:-1])}/{value[-1]}"
    if name == "AuthorizedUsers":
        for symbol, user in symbols.items():
            if hashlib.blake2b(user.encode(), digest_size=16).digest() == value:
                return f"blake2b16({symbol})"
    return value.decode()


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def differences(
    recorded: Any, got: Any, path: str = ""
) -> Iterator[tuple[str, Any, Any]]:
    """Yield path, recorded and got of what differs; elements of lists go by a name."""
    if recorded == got:
        return
    if isinstance(recorded, dict) and isinstance(got, dict):
        for key in sorted(recorded.keys() | got.keys()):
            one, other = recorded.get(key, ABSENT), got.get(key, ABSENT)
            yield from differences(one, other, f"{path}/{key}")
    elif isinstance(recorded, list) and isinstance(got, list):
        if path.rpartition("/")[2] in ORDERED:
            yield path, recorded, got
            return
        extra = _without(got, recorded)
        for item in _without(recorded, got):
            same = [one for one in extra if _name(one) and _name(one) == _name(item)]
            if same:
                extra.remove(same[0])
                yield from differences(item, same[0], f"{path}/{_name(item)}")
            else:
                yield path, item, ABSENT
        yield from ((path, ABSENT, item) for item in extra)
    else:
        yield path, recorded, got


def _without(items: list[Any], others: list[Any]) -> list[Any]:
    rest = Counter(map(_text, items)) - Counter(map(_text, others))
    return [json.loads(text) for text in rest.elements()]


def _name(item: Any) -> Any:
    if not isinstance(item, dict):
        return None
    return next((item[field] for field in NAMES if field in item), None)
