"""Generated requests over the whole document: no 500, nothing undocumented."""

from typing import Any, Final

import pytest
import schemathesis
from django.db import transaction
from hypothesis import HealthCheck, Phase, settings
from schemathesis import Case
from schemathesis.checks import load_all_checks, not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from meshmgmt.wsgi import application
from tests.contract.conftest import Mesh
from tests.contract.test_document import SCHEMA

pytestmark = pytest.mark.django_db

load_all_checks()
CHECKS: Final = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
FEW: Final = 4
"""Of each operation; the slow test asks more of each, and all faults one can think of."""


def document(*, coverage: bool) -> Any:
    """Return the document; `coverage` adds a case for each fault one can think of."""
    made = schemathesis.openapi.from_dict(SCHEMA)
    made.app = application
    made.config.phases.coverage.enabled = coverage
    return made


quick = document(coverage=False)


def examine(case: "Case[Any]", mesh: Mesh) -> None:
    """Send a request, half of them to objects that exist, and undo what it did."""
    for name, value in (case.path_parameters or {}).items():
        if name in mesh.ids and len(str(value)) % 2:
            case.path_parameters[name] = mesh.ids[name]
    with transaction.atomic():
        response = case.call(
            base_url="http://localhost",
            headers={"Authorization": f"Token {mesh.token}"},
        )
        transaction.set_rollback(True)
    case.validate_response(response, checks=CHECKS)


SETTINGS: Final[dict[str, Any]] = {
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "phases": [Phase.explicit, Phase.generate],
}


@quick.parametrize()  # type: ignore[untyped-decorator]
@settings(max_examples=FEW, **SETTINGS)
def test_generated_requests_get_documented_answers(case: "Case[Any]", mesh: Mesh):
    examine(case, mesh)
