"""Models of the accounts room."""

from meshmgmt.accounts.models.account import Account
from meshmgmt.accounts.models.users import AccessToken, User, WrongPassword

__all__ = ["AccessToken", "Account", "User", "WrongPassword"]
