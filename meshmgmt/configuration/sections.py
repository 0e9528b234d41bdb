"""The sections of the document: what is in them, and what an entry is known by."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple, dataclass
from typing import Any, Final

from dns.api.views import NameserverGroupViewSet, RecordViewSet, ZoneViewSet
from dns.rules.zones import StoredRecord
from groups.api import GroupViewSet
from meshmgmt.access.api.views import (
    NetworkResourceViewSet,
    NetworkRouterViewSet,
    NetworkViewSet,
    PolicyViewSet,
    PostureCheckViewSet,
    RouteViewSet,
)
from meshmgmt.access.services.networks import network_resources
from meshmgmt.accesstests.api import AccessTestViewSet
from meshmgmt.api.views import ResourceViewSet
from meshmgmt.core.names import canonical

Row = dict[str, Any]
Key = tuple[str, ...]
EVERYBODY: Final = "All"
"""The built-in group, which is in every account and in no document."""


@dataclass(frozen=True, slots=True)
class Section:
    """Objects of one kind; `kind` is how `translated` calls those that others name.

    `key` names the fields that entries are known by, in the one form that `canonical`
    gives all spellings; `unlike` those that no two with one key may have the same, so
    that they tell them apart; `derived` those that are no configuration. `parts` are
    sections inside of each entry. Parts whose name no two may have `move` (id, id of the
    whole) to another. Nothing refers to a leaf.
    """

    name: str
    view: type[ResourceViewSet]
    key: Key = ("name",)
    unlike: Key = ()
    kind: str = ""
    derived: frozenset[str] = frozenset()
    parts: tuple["Section", ...] = ()
    canonical: Callable[..., Key] | None = None
    move: Callable[[str, str], None] | None = None
    is_leaf: bool = False

    def opened(self, within: str) -> ResourceViewSet:
        """Return the view, for the parts of the object with the id `within`."""
        ids = {self.view.whole_url_kwarg: within} if within else {}
        return self.view.apart(**ids)

    def rows(self, within: str) -> list[Row]:
        """Return the objects as the API shows them, in creation order."""
        rows = self.opened(within).rows()
        if self.kind == "group":
            return [row for row in rows if row["name"] != EVERYBODY]
        return rows

    def fields(self) -> dict[str, Any]:
        """Return the schemas of the fields that entries have beside their parts."""
        entry: Any = self.view.serializer_class()
        left_out = {"id", *self.derived, *(part.name for part in self.parts)}
        found: Row = {name: {} for name in entry.fields if name not in left_out}
        if "rules" in found:
            rule: Row = {name: {} for name in entry.fields["rules"].child.fields}
            del rule["id"]
            items = {"properties": rule, "additionalProperties": False}
            found["rules"] = {"items": items}
        keys = {name: {"type": ["string", "array", "null"]} for name in self.key}
        return {**found, **keys}

    def own(self, entry: Row) -> Row:
        """Return an entry without its parts."""
        parts = {part.name for part in self.parts}
        return {name: value for name, value in entry.items() if name not in parts}


_GROUP: Final = frozenset(
    {"peers", "peers_count", "resources", "resources_count", "issued"}
)
_STATE: Final = frozenset({"state", "failures", "checked_at", "emptied_by"})
_NETWORK: Final = frozenset({"policies", "routing_peers_count"})

SECTIONS: Final = (
    Section("groups", GroupViewSet, kind="group", derived=_GROUP),
    Section("posture_checks", PostureCheckViewSet, kind="posture check"),
    Section(
        "networks",
        NetworkViewSet,
        derived=_NETWORK,
        parts=(
            Section(
                "resources",
                NetworkResourceViewSet,
                kind="network resource",
                move=network_resources.move,
            ),
            Section("routers", NetworkRouterViewSet, key=("peer", "peer_groups")),
        ),
    ),
    Section("policies", PolicyViewSet),
    Section(
        "routes",
        RouteViewSet,
        key=("network_id",),
        unlike=("network", "domains", "peer", "peer_groups"),
        derived=frozenset({"network_type"}),
    ),
    Section("nameserver_groups", NameserverGroupViewSet),
    Section(
        "zones",
        ZoneViewSet,
        key=("domain",),
        canonical=lambda domain: (canonical(domain),),
        parts=(
            Section(
                "records",
                RecordViewSet,
                key=("name", "type", "content"),
                canonical=lambda *told: astuple(StoredRecord.of(*told)),
                is_leaf=True,
            ),
        ),
        is_leaf=True,
    ),
    Section("access_tests", AccessTestViewSet, derived=_STATE),
)
"""In an order in which what an entry names stands before it."""


def keyed(section: Section, entries: Iterable[Row]) -> dict[Key, Row]:
    """Return entries by key; those with the same are numbered in their order."""
    found: dict[Key, Row] = {}
    for entry in entries:
        key = _known_by(section, entry)
        number = 1
        while (*key, str(number)) in found:
            number += 1
        found[*key, str(number)] = entry
    return found


def texts_of(entry: Row, fields: Iterable[str]) -> Key:
    """Return fields as texts: groups in any order; nothing is the same in any form."""
    values = (entry.get(name) for name in fields)
    sorted_ = (sorted(x, key=str) if isinstance(x, list) else x for x in values)
    return tuple(str(x or "") for x in sorted_)


def _known_by(section: Section, entry: Row) -> Key:
    told = texts_of(entry, section.key)
    if section.canonical is None:
        return told
    try:
        return section.canonical(*told)
    except ValueError:  # what breaks a rule is told when it is written
        return told


def in_order(key: Key) -> tuple[Key, int]:
    """Return what sorts keys: as texts, entries that share one by their number."""
    return key[:-1], int(key[-1])


def schema() -> dict[str, Any]:
    """Return the JSON schema of the document; the API's rules check what is inside."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Configuration of the account",
        "type": "object",
        "additionalProperties": False,
        "required": ["version"],
        "properties": {
            "version": {"const": VERSION},
            "settings": {"type": "object"},
            "dns_settings": {
                "type": "object",
                "properties": {"disabled_management_groups": {}},
                "additionalProperties": False,
            },
            **_arrays(SECTIONS),
        },
    }


def _arrays(sections: Iterable[Section]) -> dict[str, Any]:
    return {
        section.name: {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                # A router has one of the two that it is known by: a peer, or groups.
                "required": [] if section.name == "routers" else list(section.key),
                "properties": {**section.fields(), **_arrays(section.parts)},
            },
        }
        for section in sections
    }


VERSION: Final = 1
Names = Mapping[tuple[str, str], str]
