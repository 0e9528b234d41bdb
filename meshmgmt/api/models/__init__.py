"""Models of the API's common parts."""

from meshmgmt.api.models.answers import KeptAnswer

__all__ = ["KeptAnswer"]
