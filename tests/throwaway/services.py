from collections.abc import Iterator
from typing import Final

from meshmgmt.core.errors import FieldError
from meshmgmt.core.resources import Resource, Write
from meshmgmt.core.textrules import name_errors, unknown_id_errors
from tests.throwaway.models import Thing


class Things(Resource[Thing]):
    """Things."""

    model = Thing
    kind = "thing"

    def errors(self, write: Write[Thing]) -> Iterator[FieldError]:
        yield from name_errors("name", write.values["name"])
        known = write.known("groups")
        yield from unknown_id_errors(
            "groups", write.values["groups"], known, kind="group"
        )


things: Final = Things()
