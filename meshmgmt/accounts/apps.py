"""Django application of the account, its users and their tokens."""

from meshmgmt.core import rooms


class AccountsConfig(rooms.Room):
    name = "meshmgmt.accounts"
