"""A fault of one field of a request."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FieldError:
    """What is wrong with the field at `field` (a path such as `nameservers[1].port`)."""

    field: str
    message: str
    conflict: bool = False
