"""The filters of an explorer as inputs and chips, made from those of the API."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from events.admin.here import Here
from events.api.audit import CodesField
from events.api.filters import StreamFilterSet
from events.api.queries import EnumField

SPANS: Final = {
    "": "any time",
    "-1h": "the last hour",
    "-24h": "the last 24 hours",
    "-7d": "the last 7 days",
    "-30d": "the last 30 days",
}
DATES: Final = ("start_date", "end_date")
_LABELS: Final = {
    "activity_code": "activity",
    "source_ip": "source address",
    "source_address": "from address",
    "user_email": "user's e-mail",
    "user_name": "user's name",
    "start_date": "from",
    "end_date": "to",
}
_PREFIXES: Final = ("TYPE_", "DIRECTION_")
_MEANINGS: Final = {
    "success": "success (200 to 399)",
    "failed": "failed (any but 200 to 399, connections too)",
    "failures": "failures (any status but 200 to 399)",
}

Suggestions = Mapping[str, Callable[[], dict[str, str]]]


def span_of(here: Here) -> dict[str, Any]:
    """Return the time range: one of `spans`, or `between` two times."""
    start, end = ("".join(here.values(name)[:1]) for name in DATES)
    between = bool(end) or start not in SPANS
    return {"start": start, "end": end, "between": between, "spans": SPANS}


def label_of(name: str) -> str:
    text = _LABELS.get(name, name.removesuffix("_id").replace("_", " "))
    return text.capitalize()


def inputs(
    filters: StreamFilterSet,
    here: Here,
    names: tuple[str, ...],
    suggestions: Suggestions,
    called: Mapping[str, str],
) -> Iterator[dict[str, Any]]:
    """Yield inputs; `called` holds, by filter that takes names, the one of its value.

    The `options` of one are values and what people call them: all there are where it is
    `closed`, else suggestions, of which it `asks` for more as one types. What is `kept` are
    further values, which stay.
    """
    for name in names:
        field = filters.form.fields[name]
        values = here.values(name)
        many = isinstance(field, CodesField)
        words = field.names if isinstance(field, EnumField) else []
        options = {word: shown_word(word) for word in words}
        # The API takes words in any letter case; a <select> does not.
        spelt = {option.lower(): option for option in options}
        value = next(iter(values), "")
        shown = called.get(name) or spelt.get(value.lower(), value)
        yield {
            "name": name,
            "label": label_of(name),
            "help": field.help_text,
            "value": "" if many else shown,
            "options": options or suggestions.get(name, dict)(),
            "closed": isinstance(field, EnumField),
            "asks": name in called,
            "kept": values if many else (),
        }


def shown_word(name: str) -> str:
    """Return a word of the API as pages write it; what it counts where that is unclear."""
    for prefix in _PREFIXES:
        name = name.removeprefix(prefix)
    return _MEANINGS.get(name, name)


def chips(
    filters: StreamFilterSet, here: Here, names: Mapping[str, str]
) -> Iterator[dict[str, str]]:
    """Yield what narrows the list, each with the address without it.

    `names` tells by filter what people call its id.
    """
    for name, value in here.pairs:
        if name not in filters.form.fields:
            continue
        label, shown = label_of(name), shown_word(names.get(name) or value)
        if name in DATES and value in SPANS:
            label, shown = "Time", SPANS[value]
        yield {"label": label, "value": shown, "away": here.without(name, value)}
