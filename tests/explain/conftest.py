"""A caller of the API who may only read, and a peer with a zone, as in tests of DNS."""

from tests.dns.conftest import auditor, laptop

__all__ = ["auditor", "laptop"]
