"""From the account to the document."""

from collections.abc import Mapping
from typing import Any

import yaml

from dns.selectors import disabled_management_groups
from groups.models import Group
from groups.selectors import resource_types
from meshmgmt.access.models import PostureCheck
from meshmgmt.accounts.models import User
from meshmgmt.accounts.selectors import account_rows
from meshmgmt.configuration.sections import (
    SECTIONS,
    VERSION,
    Key,
    Names,
    Row,
    Section,
    in_order,
    keyed,
)
from meshmgmt.core.history import account_at
from meshmgmt.core.transactions import read_snapshot
from meshmgmt.inventory.models import NetworkResource, Peer
from meshmgmt.movingin.rows import GROUP_LISTS, RESOURCES, translated

Stored = dict[Key, tuple[str, Row, Row]]
"""Entries by key: the object's id, the entry, and the row it was made from."""


def configuration() -> Row:
    """Return the whole configuration: names for ids, sorted, without secrets.

    To be called in a `read_snapshot()`.
    """
    return _configuration(referable(), identified=False)


def configuration_at(moment: str, called: Names | None = None) -> Row:
    """Return the configuration of a moment (RFC 3339, "" for now), objects with their `id`.

    What is in `called` goes by that name. Raises what `core.history.account_at` raises.
    """
    # Names of another moment win: what was renamed between the two is the same object.
    with account_at(moment), read_snapshot():
        return _configuration({**referable(), **(called or {})}, identified=True)


def names_at(moment: str) -> Names:
    """Return what objects were called at a moment. Raises as `configuration_at` does."""
    with account_at(moment), read_snapshot():
        return referable()


def _configuration(names: Names, *, identified: bool) -> Row:
    return {
        "version": VERSION,
        "settings": settings(names),
        **{
            section.name: _entries(section, names, identified=identified)
            for section in SECTIONS
        },
        "dns_settings": dns_settings(names),
    }


def as_yaml(document: Row) -> str:
    """Return the one text that a document has, ready for a diff."""
    return yaml.dump(
        document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=92
    )


class _Dumper(yaml.SafeDumper):
    """Writes what is there twice twice, without aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_str(self, data: str) -> yaml.ScalarNode:
        """Quote what NEL (U+0085) is in: else it is read as the end of a line."""
        style = '"' if "\x85" in data else None
        return self.represent_scalar(self.DEFAULT_SCALAR_TAG, data, style)


_Dumper.add_representer(str, _Dumper.represent_str)


def settings(names: Names) -> Row:
    """Return the settings of the account in one level."""
    shown = dict(account_rows()[0]["settings"])
    extra = shown.pop("extra")
    return _named({**shown, **extra}, names)


def dns_settings(names: Names) -> Row:
    """Return the DNS settings."""
    return _named({"disabled_management_groups": disabled_management_groups()}, names)


def stored(section: Section, names: Names, within: str) -> Stored:
    """Return what the account has of a section, `within` the object with this id."""
    rows = section.rows(within)
    rules = [rule for row in rows for rule in row.get("rules", ())]
    ends = [rule[name] for rule in rules for name in RESOURCES if rule.get(name)]
    types = resource_types(end["id"] for end in ends)
    entries = [_entry(section, row, names, types) for row in rows]
    by_key = keyed(section, entries)
    return {
        key: (row["id"], entry, row)
        for (key, entry), row in zip(by_key.items(), rows, strict=True)
    }


def _entries(
    section: Section, names: Names, within: str = "", *, identified: bool
) -> list[Row]:
    found = stored(section, names, within)
    return [
        {
            **({"id": identifier} if identified else {}),
            **entry,
            **{
                part.name: _entries(part, names, identifier, identified=identified)
                for part in section.parts
            },
        }
        for identifier, entry, _ in (found[key] for key in sorted(found, key=in_order))
    ]


def _entry(section: Section, row: Row, names: Names, types: Mapping[str, str]) -> Row:
    left_out = {"id", *section.derived, *(part.name for part in section.parts)}
    kept = {name: value for name, value in row.items() if name not in left_out}
    if "rules" in kept:
        kept["rules"] = [_rule(rule, types) for rule in kept["rules"]]
    return _named(kept, names)


def _rule(rule: Row, types: Mapping[str, str]) -> Row:
    """Return a rule without its id, with peers called so, and nothing else."""
    kept = {name: value for name, value in rule.items() if name != "id"}
    for name in RESOURCES:
        if end := kept.get(name):
            # Clients may send any type, but a name may be a peer's and a resource's.
            own = types.get(end["id"], end["type"])
            if "peer" in (own, end["type"]):
                kept[name] = {**end, "type": own}
    return kept


def _named(row: Row, names: Names) -> Row:
    return {
        name: _sorted(name, value) for name, value in translated(row, names).items()
    }


def _sorted(name: str, value: Any) -> Any:
    """Return lists of groups in the order of names; other orders mean something."""
    if name == "rules":
        return [{k: _sorted(k, v) for k, v in rule.items()} for rule in value]
    if name in GROUP_LISTS and isinstance(value, list):
        return sorted(value)
    return _with_keys_in_order(value)


def _with_keys_in_order(value: Any) -> Any:
    """PostgreSQL forgets in which order the keys of JSON came."""
    if isinstance(value, dict):
        return {key: _with_keys_in_order(value[key]) for key in sorted(value)}
    return [_with_keys_in_order(v) for v in value] if isinstance(value, list) else value


def referable() -> Names:
    """Return the names of everything that can be referred to, by kind and id."""
    kinds = {
        "group": (Group, ["name"]),
        "posture check": (PostureCheck, ["name"]),
        "network resource": (NetworkResource, ["name"]),
        "peer": (Peer, ["dns_label"]),  # unlike names, one of a kind
        "user": (User, ["email", "name"]),  # service users have no e-mail address
    }
    # An empty name would be that of an object that was deleted.
    return {
        (kind, pk): next(filter(None, called), pk)
        for kind, (model, columns) in kinds.items()
        for pk, *called in model._default_manager.values_list("pk", *columns)
    }
