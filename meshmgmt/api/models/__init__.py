"""Models of the API's common parts."""

from meshmgmt.api.models.answers import KeptAnswer
from meshmgmt.api.models.limits import UsedPermits

__all__ = ["KeptAnswer", "UsedPermits"]
