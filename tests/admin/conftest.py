"""Who looks at the admin site."""

import pytest

from meshmgmt.accounts.models import User
from tests.people import person


@pytest.fixture
def owner(db: None) -> User:
    """A person who may do everything, with a name to look for."""
    return person("owner", name="Ada")
