"""Models of the accounts room."""

from meshmgmt.accounts.models.account import Account
from meshmgmt.accounts.models.signin import WrongPassword
from meshmgmt.accounts.models.tokens import AccessToken
from meshmgmt.accounts.models.users import User

__all__ = ["AccessToken", "Account", "User", "WrongPassword"]
