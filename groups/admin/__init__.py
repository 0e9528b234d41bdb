"""Admin pages of groups, and what groups add to those of peers."""

from groups.admin import groups, peers  # noqa: F401 - registered
