"""What a reporter can get wrong in an event."""

from meshmgmt.core.errors import ServiceError
from meshmgmt.core.fielderrors import FieldError

BAD_TYPE = 400
BROKEN_RULE = 422


class EventFault(ValueError):
    """The first fault of one event; `field` is a path inside it such as `source.id`.

    `status` is 400 for a wrong JSON type and 422 for a broken rule.
    """

    def __init__(self, field: str, message: str, status: int = BROKEN_RULE) -> None:
        super().__init__(message)
        self.field = field
        self.message = message
        self.status = status


class IdTaken(EventFault):
    """An id that is stored already with another time."""

    def __init__(self, identifier: str) -> None:
        super().__init__("id", "is stored already with another time")
        self.identifier = identifier


class BatchRefused(ServiceError):
    """A batch of which nothing is stored; names the index and field of the fault."""

    def __init__(self, index: int, fault: EventFault) -> None:
        place = f"[{index}].{fault.field}" if fault.field else f"[{index}]"
        message = fault.message
        super().__init__(f"{place}: {message}", [FieldError(place, message)])
        self.index = index
        self.status = fault.status
