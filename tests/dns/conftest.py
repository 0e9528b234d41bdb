"""Callers of the API and the cast of the DNS tests."""

import pytest

from meshmgmt.accounts.services.tokens import token_create
from meshmgmt.accounts.services.users import user_create
from tests.api_client import Api


def caller(role: str) -> Api:
    """Return a client that acts as a new user with the role."""
    user = user_create(email=f"{role}@people.test", role=role, name=role)
    return Api(token_create(user_id=user.pk, name="tests", expires_in=1).plain)


@pytest.fixture
def owner(db: None) -> Api:
    """A client that may do everything."""
    return caller("owner")


@pytest.fixture
def auditor(db: None) -> Api:
    """A client that may only read."""
    return caller("auditor")
