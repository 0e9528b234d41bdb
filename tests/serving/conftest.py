"""Fixtures of this room."""

from tests.observability.conftest import folder, server

__all__ = ["folder", "server"]
