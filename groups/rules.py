"""Rules of groups: pure, in order; facts of the database come in as arguments."""

from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import Final

from meshmgmt.core import textrules
from meshmgmt.core.errors import FieldError

MAX_RESOURCE_ID: Final = 255
RESOURCE_TYPES: Final = ("peer", "host", "subnet", "domain")

ResourceKey = tuple[str, str]
"""Id and type of a resource."""


def name_errors(name: str, *, taken: bool) -> list[FieldError]:
    """Return what is wrong with a group's name; a name in use is a conflict."""
    errors = [*textrules.name_errors("name", name)]
    if taken and not errors:
        return [
            FieldError(
                "name", f"group with name {name!r} already exists", conflict=True
            )
        ]
    return errors


def peer_errors(peer_ids: Sequence[str], *, known: Collection[str]) -> list[FieldError]:
    """Return the first peer that does not exist."""
    errors = textrules.unknown_id_errors("peers", peer_ids, known, kind="peer")
    return [*islice(errors, 1)]


def resource_errors(
    resources: Sequence[ResourceKey], *, known: Mapping[str, str]
) -> list[FieldError]:
    """Return what is wrong with the resources; `known` gives the type of known ids."""
    errors: list[FieldError] = []
    for index, (identifier, kind) in enumerate(resources):
        field = f"resources[{index}]"
        if not identifier:
            errors.append(
                FieldError(f"{field}.id", "id of a resource must not be empty")
            )
        elif len(identifier) > MAX_RESOURCE_ID:
            message = f"id of a resource must have at most {MAX_RESOURCE_ID} characters"
            errors.append(FieldError(f"{field}.id", message))
        if kind not in RESOURCE_TYPES:
            allowed = ", ".join(RESOURCE_TYPES)
            message = f"type of a resource must be one of {allowed}"
            errors.append(FieldError(f"{field}.type", message))
        # An id that nobody knows is taken as it is: the usage names it.
        elif known.get(identifier, kind) != kind:
            message = f"resource {identifier!r} is of type {known[identifier]}"
            errors.append(FieldError(f"{field}.type", message))
    return errors
