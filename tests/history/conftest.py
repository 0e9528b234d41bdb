"""What is taken back is what is planned."""

from tests.plans.conftest import web

__all__ = ["web"]
