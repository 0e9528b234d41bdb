"""Addresses and domain names replaced, the same one always by the same stand-in.

For `status` and debug bundles, never for server logs (seed, anonymize). Every address
but loopback and unspecified ones, private ones included, and every label of a domain
name is replaced; prefix lengths and ports stay. In free text a domain name is whatever
has a dot and ends in a word; in documents, fields that hold names count too. Names of hosts
that are known beforehand are replaced wherever they stand alone, for a peer's name is
the label of its domain name. What is percent-encoded, as in the paths of requests, is
decoded first, and stays so.
"""

import ipaddress
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import quote, unquote

# RFC 2544 and RFC 3849: ranges that no real network uses.
_V4: Final = ipaddress.IPv4Address("198.18.0.1")
_V6: Final = ipaddress.IPv6Address("2001:db8::1")

NAME_FIELDS: Final = frozenset(
    {
        *("cname", "content", "dns_domain", "dns_label", "domain", "domains"),
        *("extra_dns_labels", "fqdn", "host", "hostname", "match_domains", "query"),
        *("search_domains", "target", "zone"),
    }
)
# Names of loggers and activities have dots, too, and name no network.
_KEPT_FIELDS: Final = frozenset({"time", "level", "logger", "activity_code"})

_ADDRESS: Final = re.compile(
    r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w]|\.\d)"
    r"|(?<![\w:.])(?:[0-9A-Fa-f]{0,4}:){2,7}(?:(?:\d{1,3}\.){3}\d{1,3}|[0-9A-Fa-f]{0,4})"
    r"(?![\w:])"
)
_DOMAIN: Final = re.compile(
    r"(?P<file>(?<=[\w.-]/)[\w.-]{1,128}\.(?:py|log|json|sock|db|sqlite3|conf|txt)(?![\w.]))"
    r"|(?<![\w-])(?:[\w-]{1,63}\.){1,127}[^\W\d_][\w-]{0,62}(?![\w-])"
)
# A link in a link, such as where a sign-in leads, has its `%` encoded once more.
_ESCAPED: Final = re.compile(r"(?:%(?:25)*[0-9A-Fa-f]{2})+")
_TWICE: Final = re.compile(r"%(?:25)+(?=[0-9A-Fa-f]{2})")
_WORD: Final = re.compile(r"[^\W_](?:[\w-]*\w)?")
# Lines of a Python traceback: where, and which exception. They name no network.
_TRACE: Final = re.compile(
    r"^\s*File \"[^\"]*\", line \d+, in \S+$|^[\w.]*\.?[A-Z]\w*(?=: |$)", re.MULTILINE
)


class Anonymiser:
    """Remembers what stands for what, within one output or bundle."""

    def __init__(self, hosts: Iterable[str] = ()) -> None:
        self._hosts = frozenset(host.casefold() for host in hosts)
        self._addresses: dict[str, str] = {}
        self._labels: dict[str, str] = {}

    def text(self, value: str) -> str:
        """Return free text with addresses and domain names replaced."""
        plain = _decoded(value)
        replaced = _ADDRESS.sub(lambda match: self._address(match[0]), plain)
        return _DOMAIN.sub(
            lambda match: match[0] if match["file"] else self.name(match[0]), replaced
        )

    def name(self, value: str) -> str:
        """Return a domain name with each of its labels replaced; `*` stays."""
        return ".".join(self._label(label) for label in value.split("."))

    def document(self, value: Any, field: str = "") -> Any:
        """Return a JSON document with addresses and names replaced in its values."""
        if isinstance(value, Mapping):
            return {
                self.text(str(key)): (
                    inner if key in _KEPT_FIELDS else self.document(inner, str(key))
                )
                for key, inner in value.items()
            }
        if isinstance(value, list | tuple):
            return [self.document(inner, field) for inner in value]
        return self._value(value, field) if isinstance(value, str) else value

    def _value(self, value: str, field: str) -> str:
        if field == "stack":
            return self._stack(value)
        if field in NAME_FIELDS and re.fullmatch(r"[\w*-]+", value):
            return self.name(value)
        if value.casefold() in self._hosts:
            return self._label(value)
        return self._free(value)

    def line(self, value: str) -> str:
        """Return a line of a log: a JSON record as a document, anything else as text."""
        if value.startswith("{"):
            try:
                return json.dumps(self.document(json.loads(value)), ensure_ascii=False)
            except ValueError:
                pass
        return self._free(value)

    def lines(self, value: str) -> str:
        """Return the lines of a log, or a JSON document, or text."""
        if value.lstrip()[:1] in {"{", "["}:
            try:
                document = json.loads(value)
            except ValueError:
                pass  # one document per line
            else:
                return json.dumps(self.document(document), indent=2, ensure_ascii=False)
        return "\n".join(self.line(row) for row in value.split("\n"))

    def _free(self, value: str) -> str:
        return self._without_hosts(self.text(value))

    def _without_hosts(self, value: str) -> str:
        if not self._hosts:
            return value
        return _WORD.sub(
            lambda m: self._label(m[0]) if m[0].casefold() in self._hosts else m[0],
            value,
        )

    def _stack(self, value: str) -> str:
        parts, end = [], 0
        for match in _TRACE.finditer(value):
            parts += [self._free(value[end : match.start()]), match[0]]
            end = match.end()
        return "".join([*parts, self._free(value[end:])])

    def _address(self, found: str) -> str:
        try:
            address = ipaddress.ip_address(found)
        except ValueError:
            return found
        if address.is_loopback or address.is_unspecified:
            return found
        first = _V4 if isinstance(address, ipaddress.IPv4Address) else _V6
        stand_in = first + len(self._addresses)
        return self._addresses.setdefault(str(address), str(stand_in))

    def _label(self, label: str) -> str:
        if label in {"", "*"}:
            return label
        key = label.casefold()
        return self._labels.setdefault(key, f"anon-{len(self._labels) + 1}")


def _decoded(text: str) -> str:
    """Return a text without percent-encoding but of what would break its line."""
    return _ESCAPED.sub(lambda match: _shown(match[0]), text)


def _shown(escaped: str) -> str:
    plain = unquote(_TWICE.sub("%", escaped))
    return "".join(char if char.isprintable() else quote(char) for char in plain)
