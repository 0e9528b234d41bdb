"""Callers of the API, and a peer with a zone, as in the tests of DNS."""

from tests.dns.conftest import auditor, laptop, owner

__all__ = ["auditor", "laptop", "owner"]
