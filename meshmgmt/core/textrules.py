"""Rules on names and descriptions, as pure functions from values to field errors."""

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any, Final

from meshmgmt.core.errors import FieldError

MAX_NAME: Final = 255
MAX_DESCRIPTION: Final = 1000
_SHOWN: Final = 64


def name_errors(
    field: str, text: str, *, what: str = "name", maximum: int = MAX_NAME
) -> Iterator[FieldError]:
    """Yield an error for a name that is empty, blank or too long."""
    if not text.strip():
        yield FieldError(field, f"the {what} must not be empty or blank")
    else:
        yield from length_errors(field, text, what=what, maximum=maximum)


def length_errors(
    field: str, text: str, *, what: str, maximum: int = MAX_NAME
) -> Iterator[FieldError]:
    if len(text) > maximum:
        yield FieldError(field, f"the {what} has more than {maximum} characters")


def description_errors(text: str, field: str = "description") -> Iterator[FieldError]:
    yield from length_errors(field, text, what="description", maximum=MAX_DESCRIPTION)


def told_errors(values: Mapping[str, Any], *, what: str) -> Iterator[FieldError]:
    """Yield errors for the name and the description of something called `what`."""
    yield from name_errors("name", values["name"], what=f"{what} name")
    yield from description_errors(values["description"])


def unknown_id_errors(
    field: str, ids: Sequence[str], known: Container[str], *, kind: str
) -> Iterator[FieldError]:
    """Yield an error for each id in a list that names no object of the kind."""
    for index, identifier in enumerate(ids):
        if identifier not in known:
            yield FieldError(f"{field}[{index}]", not_found(kind, identifier))


def not_found(kind: str, identifier: str) -> str:
    """Return the sentence for an id that names no object."""
    return f"{kind} {identifier[:_SHOWN]!r} was not found"


def range_errors(
    field: str, number: int, low: int, high: int, *, what: str
) -> Iterator[FieldError]:
    """Yield an error for a number outside `low` to `high`, both included."""
    if not low <= number <= high:
        yield FieldError(
            field, f"the {what} must be from {low} to {high}, not {number}"
        )


def choice_errors(
    path: str, value: str, choices: Sequence[str]
) -> Iterator[FieldError]:
    """Yield an error for a value that is none of the choices."""
    if value not in choices:
        what = path.rpartition(".")[2]
        known = ", ".join(choices)
        yield FieldError(path, f"{value[:40]!r} is no {what}: use one of {known}")
