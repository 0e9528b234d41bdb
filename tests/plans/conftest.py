"""What plans are tried on."""

import pytest

from groups.models import Group
from tests.factories import group, peer, rule


@pytest.fixture
def web(db: None) -> Group:
    """A group whose members reach those of another."""
    made = group("web", peer("alpha"), peer("beta"))
    rule([made], [group("db", peer("gamma"))])
    return made
