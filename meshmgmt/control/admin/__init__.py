"""Admin pages of proxy tokens, and what the protocol adds to those of a peer."""

from meshmgmt.control.admin import proxytokens  # noqa: F401 - registered
