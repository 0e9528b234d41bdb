"""Two accounts held against each other, object by object and field by field: pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import orjson

from meshmgmt.movingin.rows import GROUP_LISTS, Ids, Row
from meshmgmt.movingin.source import Foreign

SECRETS: Final = frozenset({"key", "password"})
TIMES: Final = frozenset(
    {
        *("created_at", "updated_at", "expires", "expiration_date"),
        *("last_login", "last_seen", "last_used"),
    }
)
COUNTERS: Final = frozenset({"used_times", "usage_limit"})
"""Uses of setup keys: a copy has those that were left, which are compared."""
OF_THE_MOMENT: Final = frozenset(
    {
        *("connected", "accessible_peers_count"),
        *("is_current", "idp_id", "permissions", "status"),
        *("state", "failures", "checked_at", "emptied_by"),
    }
)
"""What depends on who asks, or is connected where: no configuration. The status of users is
compared by what it is made of."""
_LEFT_OUT: Final = SECRETS | TIMES | COUNTERS | OF_THE_MOMENT
_OURS: Final = frozenset({"part_of", "part_of_name"})
_UNORDERED: Final = frozenset(
    {*GROUP_LISTS, "peers", "resources", "records", "routers", "policies"}
)
_SHORT: Final = frozenset({*GROUP_LISTS, "peers", "source_posture_checks"})
"""Lists whose objects stand for ids."""
_WORDS: Final = frozenset({"name", "description", "email", "domain", "content"})
"""Texts that are no ids, though they may look like one."""
_NOTHING: Final[tuple[Any, ...]] = ("", None, "<nil>", [], {})


@dataclass(frozen=True, slots=True)
class Difference:
    """One field of one object; without `field` one side has no such object at all."""

    kind: str
    name: str
    old_id: str
    new_id: str
    field: str = ""
    there: Any = None
    here: Any = None


@dataclass(slots=True)
class Comparison:
    """What differs. `skipped` names objects that are never copied, with the reason."""

    compared: dict[str, int] = field(default_factory=dict)
    differences: list[Difference] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    @property
    def equal(self) -> bool:
        """Tell whether nothing differs."""
        return not self.differences

    def as_json(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return {"equal": self.equal, **asdict(self)}


def compare(
    there: Foreign, here: Foreign, ids: Ids, *, settings: Sequence[str]
) -> Comparison:
    """Return how our account differs from the other; `settings` are those we have.

    `ids` are ours by kind and id there.
    """
    found = Comparison()
    texts = {old: new for (_, old), new in ids.items()}
    for kind, rows in there.rows.items():
        if kind in there.missing:  # what only we have is no difference
            continue
        ours = {str(row["id"]): row for row in here.rows.get(kind, ())}
        copies = {_counterpart(kind, row, ids) for row in rows}
        for row in rows:
            if kind != "setting" or row["id"] in settings:
                # Two people there with one address are one here.
                mine = ours.get(_counterpart(kind, row, ids))
                _compare(kind, row, mine, texts, found)
        for row in (row for pk, row in ours.items() if pk not in copies):
            if kind != "setting" and not _is_skipped(kind, row):
                name = _name(row)
                gone = Difference(kind, name, "", str(row["id"]), here=name)
                found.differences.append(gone)
    return found


def _counterpart(kind: str, row: Row, ids: Ids) -> str:
    """Return the id that a row has here, "" when it has none."""
    old = str(row["id"])
    return old if kind in {"setting", "DNS settings"} else ids.get((kind, old), "")


def _compare(
    kind: str, row: Row, ours: Row | None, texts: Mapping[str, str], found: Comparison
) -> None:
    old, name = str(row["id"]), _name(row)
    if ours is None and _is_skipped(kind, row):
        found.skipped.append(f"{kind} {old} {name}: it is {row['state']}")
        return
    found.compared[kind] = found.compared.get(kind, 0) + 1
    if ours is None:
        found.differences.append(Difference(kind, name, old, "", there=name))
        return
    new = str(ours["id"])
    for place, left, right in _fields(_shown(kind, row, texts), _shown(kind, ours, {})):
        found.differences.append(
            Difference(kind, name, old, new, field=place, there=left, here=right)
        )


def _is_skipped(kind: str, row: Row) -> bool:
    """Tell whether such an object is of no use to anybody: a key that is over."""
    return kind == "setup key" and row.get("state") != "valid"


def _name(row: Row) -> str:
    return str(row.get("name") or row.get("email") or row.get("network_id") or "")


def _shown(kind: str, row: Row, texts: Mapping[str, str]) -> Row:
    """Return what counts of a row, with our ids."""
    # The reference shows a network of no meaning for a route of domains.
    left_out = _LEFT_OUT | _OURS | ({"network"} if row.get("domains") else set())
    fields = {name: value for name, value in row.items() if name not in left_out}
    if kind == "setting":
        fields.pop("id")
    if kind == "setup key" and row.get("usage_limit"):
        fields["uses_left"] = row["usage_limit"] - row["used_times"]
    return {name: _value(name, value, texts) for name, value in fields.items()}


def _value(name: str, value: Any, texts: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return value if name in _WORDS else texts.get(value, value)
    if isinstance(value, dict):
        return {
            texts.get(key, key): _value(key, part, texts)
            for key, part in value.items()
            # A rule is known by its policy and its place; here it has another id.
            if key not in _LEFT_OUT and not (name == "rules" and key == "id")
        }
    if isinstance(value, list):
        return _list(name, value, texts)
    return value


def _list(name: str, values: list[Any], texts: Mapping[str, str]) -> list[Any]:
    if name in _SHORT:
        values = [one["id"] if isinstance(one, dict) else one for one in values]
    shown = [_value(name, one, texts) for one in values]
    if name in _UNORDERED:
        # As texts: objects have no order, and no set takes them.
        texts_of = {orjson.dumps(one, option=orjson.OPT_SORT_KEYS) for one in shown}
        return [orjson.loads(text) for text in sorted(texts_of)]
    return shown


def _fields(there: Any, here: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield (place, there, here) of whatever differs."""
    if isinstance(there, dict) and isinstance(here, dict):
        for name in dict.fromkeys([*there, *here]):
            inner = f"{place}.{name}" if place else name
            yield from _fields(there.get(name), here.get(name), inner)
    elif isinstance(there, list) and isinstance(here, list) and len(there) == len(here):
        for index, pair in enumerate(zip(there, here, strict=True)):
            yield from _fields(*pair, f"{place}[{index}]")
    elif _plain(there) != _plain(here):
        yield place, there, here


def _plain(value: Any) -> Any:
    """Return a value; what is absent, empty or off is one, for answers leave it out."""
    return None if value in _NOTHING or value is False or value == 0 else value
