"""The cast of the tests: people and service users, each with a token on demand."""

from meshmgmt.accounts.models import User
from meshmgmt.accounts.services.tokens import access_tokens
from meshmgmt.accounts.services.users import HashedPassword, user_create
from meshmgmt.core.ids import new_id
from tests.api_client import Api


def person(
    role: str = "owner",
    *,
    email: str | None = None,
    name: str | None = None,
    password: str | None = None,
) -> User:
    """Create a person with this role; name and e-mail are made up when not given."""
    return user_create(
        email=f"{role}-{new_id()}@mesh.dev" if email is None else email,
        role=role,
        name=f"a {role}" if name is None else name,
        password=None if password is None else HashedPassword(password),
    )


def robot(role: str = "admin", name: str = "robot") -> User:
    """Create a service user with this role."""
    return user_create(name=name, role=role, is_service_user=True)


def token_of(user: User, *, scope: str = "", days: int = 1) -> str:
    """Return a new token of `user`."""
    terms = {"name": "test", "expires_in": days, "scope": scope}
    return access_tokens.create(terms, user.pk).plain


def api_of(user: User, *, scope: str = "") -> Api:
    """Return a client of the API that acts as `user`."""
    return Api(token_of(user, scope=scope))


def api_as(role: str = "owner") -> Api:
    """Return a client of the API that acts as a new person with this role."""
    return api_of(person(role))
