"""Callers of the API."""

import pytest

from tests.api_client import Api
from tests.people import api_as


@pytest.fixture
def owner(db: None) -> Api:
    """A client that may do everything."""
    return api_as("owner")


@pytest.fixture
def auditor(db: None) -> Api:
    """A client that may only read."""
    return api_as("auditor")
