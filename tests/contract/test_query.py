"""Query parameters on every operation of the document: misspelt, empty, repeated."""

import re
from typing import Any, Final

import pytest

from tests.api_client import Answer, Api
from tests.contract.conftest import Mesh
from tests.contract.test_document import SCHEMA

pytestmark = pytest.mark.django_db

PAGE: Final = "/api/docs"
"""It shows nothing of the account, and answers with HTML."""
Operation = tuple[str, str]


def queries(parameters: list[dict[str, Any]]) -> list[str]:
    """Return the names of query parameters, those that operations share too."""
    shared = SCHEMA["components"]["parameters"]
    found = [
        shared[each["$ref"].rpartition("/")[2]] if "$ref" in each else each
        for each in parameters
    ]
    return [each["name"] for each in found if each["in"] == "query"]


OPERATIONS: Final[dict[Operation, list[str]]] = {
    (method.upper(), path): queries(operation.get("parameters", []))
    for path, operations in SCHEMA["paths"].items()
    for method, operation in operations.items()
    if path != PAGE
}
WRITES: Final = [each for each in OPERATIONS if each[0] != "GET"]


def spellings(name: str) -> list[str]:
    """Return how a name may be meant and is not written."""
    camel = re.sub(r"_(\w)", lambda found: found[1].upper(), name)
    others = {name.upper(), name.title(), camel, name.replace("_", "-"), f"{name}[]"}
    return sorted((others | {name.replace("_", "")}) - {name})


def asked(mesh: Mesh, operation: Operation, query: str) -> Answer:
    method, path = operation
    address = re.sub(r"\{(\w+)\}", lambda found: mesh.ids.get(found[1], "x"), path)
    return Api(mesh.token).call(method, f"{address}?{query}", {})


def test_all_operations_are_asked() -> None:
    assert len(WRITES) > 60
    assert len(OPERATIONS) > len(WRITES) + 60


@pytest.mark.parametrize("operation", WRITES, ids=" ".join)
def test_misspelt_parameters_of_writes_are_refused(
    operation: Operation, mesh: Mesh
) -> None:
    for name in {"dry_run", "at", *OPERATIONS[operation]}:
        for spelt in spellings(name):
            answer = asked(mesh, operation, f"{spelt}=true")
            assert answer.status == 400, (spelt, answer.body)
            assert answer.json["message"].endswith(f"did you mean {name}?")
            assert list(answer.fields) == [spelt]


@pytest.mark.parametrize("operation", OPERATIONS, ids=" ".join)
@pytest.mark.parametrize("query", ["at=", "At=2026-01-01T00:00:00Z", "at=&at="])
def test_a_moment_without_value_or_misspelt_is_refused(
    operation: Operation, query: str, mesh: Mesh
) -> None:
    answer = asked(mesh, operation, query)
    assert answer.status == 400, answer.body
    assert "at" in answer.json["message"]


@pytest.mark.parametrize("operation", WRITES, ids=" ".join)
def test_a_plan_without_value_is_refused(operation: Operation, mesh: Mesh) -> None:
    for query in ("dry_run=", "dry_run=true&dry_run=true"):
        answer = asked(mesh, operation, query)
        assert answer.status == 400
        assert answer.json["message"] == "dry_run: must be given once, with a value"
