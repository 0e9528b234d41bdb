"""Admin pages of users, access tokens and the account."""

from meshmgmt.accounts.admin import account, tokens, users  # noqa: F401 - registered
