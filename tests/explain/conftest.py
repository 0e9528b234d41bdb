"""A peer with a zone, as in tests of DNS."""

from tests.dns.conftest import laptop

__all__ = ["laptop"]
