"""Generated requests with every fault one can think of: no 500, nothing undocumented."""

from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import settings

from tests.contract.conftest import Mesh
from tests.contract.test_fuzzing import SETTINGS, document, examine

if TYPE_CHECKING:
    from schemathesis import Case

# PostgreSQL is the stricter one, and refuses what SQLite takes.
pytestmark = [pytest.mark.django_db, pytest.mark.slow, pytest.mark.postgresql]

MANY: Final = 12

thorough = document(coverage=True)


@thorough.parametrize()  # type: ignore[untyped-decorator]
@settings(max_examples=MANY, **SETTINGS)
def test_many_generated_requests_get_documented_answers(case: "Case[Any]", mesh: Mesh):
    examine(case, mesh)
