"""Admin pages of peers."""

from meshmgmt.inventory.admin import peers  # noqa: F401 - registered
