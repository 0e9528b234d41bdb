"""The committed OpenAPI document, and answers of the demo company held to it."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import jsonschema_rs
import pytest
from django.urls import URLPattern, URLResolver, get_resolver
from drf_spectacular import validation

from meshmgmt.api.views import ApiView, ResourceViewSet
from tests.api_client import Answer, Api
from tests.commands import printed
from tests.contract.conftest import Mesh
from tests.openapi import DOCUMENT, schema

# The mark has pytest-django make the database; the data is that of `mesh`.
pytestmark = pytest.mark.django_db

SCHEMA: Final = schema()
Operation = tuple[str, str]
OPERATIONS: Final[list[Operation]] = [
    (method.upper(), path)
    for path, operations in SCHEMA["paths"].items()
    for method in operations
]


@pytest.mark.sqlite
def test_the_committed_document_is_that_of_the_code():
    made = printed("spectacular", "--fail-on-warn")
    current = made == DOCUMENT.read_text(encoding="utf-8")
    assert current, "openapi.yaml is out of date: make openapi"


def test_the_committed_document_is_a_valid_one():
    """`spectacular --validate` says the same in ten seconds."""
    assert SCHEMA["openapi"].startswith("3.1")
    form = Path(validation.__file__).with_name("openapi_3_1_schema.json")
    jsonschema_rs.validator_for(json.loads(form.read_bytes())).validate(SCHEMA)


def views(patterns: list[URLPattern | URLResolver]) -> list[tuple[str, type[ApiView]]]:
    """Return the API's paths with their views, in the document's spelling."""
    found = []
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            if not pattern.app_name:
                found += views(pattern.url_patterns)
            continue
        call: Any = pattern.callback
        view = getattr(call, "cls", None) or getattr(call, "view_class", None)
        path = "/" + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", str(pattern.pattern))
        if isinstance(view, type) and issubclass(view, ApiView):
            found.append((path, view))
    return found


def test_every_path_of_the_api_is_in_the_document():
    served = {path for path, _ in views(get_resolver().url_patterns)}
    hidden = {"/api/schema", "/livez", "/readyz", "/health", "/metrics"}
    assert served - set(SCHEMA["paths"]) <= hidden
    # The page that shows the document is no view of ours.
    assert set(SCHEMA["paths"]) - served <= {"/api/docs"}


def filled(path: str, mesh: Mesh) -> str:
    """Return the path with ids of objects that exist."""
    return re.sub(r"\{(\w+)\}", lambda found: mesh.ids[found[1]], path)


def documented(path: str, answer: Answer) -> str:
    """Return what an answer to GET has that the document does not say of it."""
    described = SCHEMA["paths"][path]["get"]["responses"].get(str(answer.status))
    if described is None or not (answer.status < 400 or answer.status in {403, 404}):
        return f"{path}: {answer.status} {answer.body[:300]!r}"
    form = described.get("content", {}).get("application/json", {}).get("schema")
    if form is None or answer.json is None:
        is_json = answer.headers["Content-Type"].startswith("application/json")
        return f"{path}: JSON where none is documented" if is_json else ""
    root = {**form, "components": SCHEMA["components"]}
    faults = jsonschema_rs.Draft202012Validator(root).iter_errors(answer.json)
    return "".join(f"{path}: {fault}\n" for fault in faults)


def test_real_answers_have_the_documented_form(mesh: Mesh):
    queries = {
        "/api/access/explain": f"?source={mesh.ids['peerId']}&destination=10.11.0.1",
        "/api/dns/explain": f"?peer={mesh.ids['peerId']}&name=wiki.apps",
        "/api/events/audit/proof/inclusion": f"?event={mesh.ids['event_id']}",
        "/api/events/audit/proof/consistency": "?first=1",
    }
    api = Api(mesh.token)
    readable = [path for method, path in OPERATIONS if method == "GET"]
    found = [
        documented(path, api.get(filled(path, mesh) + queries.get(path, "")))
        for path in readable
    ]
    assert len(readable) > 70
    assert [fault for fault in found if fault] == []


def lists() -> Iterable[tuple[str, type[ResourceViewSet]]]:
    """Return the paths of lists that can be read, with their views."""
    for path, view in views(get_resolver().url_patterns):
        if issubclass(view, ResourceViewSet):
            actions = {vars(action)["url_path"] for action in view.get_extra_actions()}
            is_list = path.rpartition("/")[2] not in actions
            if is_list and "get" in SCHEMA["paths"][path]:
                yield path, view


def test_rows_are_what_the_serializer_would_give(mesh: Mesh):
    api, faulty = Api(mesh.token), []
    for path, view in lists():
        answer = api.get(filled(path, mesh))
        assert answer.status == 200, path
        rows = answer.json if isinstance(answer.json, list) else [answer.json]
        assert rows, f"the demo has data for every list, and so for {path}"
        serializer = view.serializer_class(instance=rows, many=True)
        if [dict(row) for row in serializer.data] != rows:
            faulty.append(path)
    assert faulty == []


def queries(parameters: list[dict[str, Any]]) -> list[str]:
    """Return the names of query parameters, those that operations share too."""
    shared = SCHEMA["components"]["parameters"]
    found = [
        shared[each["$ref"].rpartition("/")[2]] if "$ref" in each else each
        for each in parameters
    ]
    return [each["name"] for each in found if each["in"] == "query"]


PAGE: Final = ("GET", "/api/docs")
"""It shows nothing of the account, and answers with HTML."""
READS_AND_WRITES: Final = [each for each in OPERATIONS if each != PAGE]
WRITES: Final = [each for each in READS_AND_WRITES if each[0] != "GET"]


def spellings(name: str) -> list[str]:
    """Return how a name may be meant and is not written."""
    camel = re.sub(r"_(\w)", lambda found: found[1].upper(), name)
    others = {name.upper(), name.title(), camel, name.replace("_", "-"), f"{name}[]"}
    return sorted((others | {name.replace("_", "")}) - {name})


def refused(
    mesh: Mesh, operations: list[Operation], query: str, message: str, field: str = ""
) -> list[tuple[Operation, str, bytes]]:
    """Return the operations that do not refuse this query so, naming this field."""
    api, others = Api(mesh.token), []
    for method, path in operations:
        # Of an invite's token only the hash is kept.
        address = filled(path.replace("{inviteToken}", "x"), mesh)
        answer = api.call(method, f"{address}?{query}", {})
        named = not field or list(answer.fields) == [field]
        if not named or answer.status != 400 or message not in answer.json["message"]:
            others.append(((method, path), query, answer.body[:300]))
    return others


def test_all_operations_are_asked():
    assert len(WRITES) > 60
    assert len(READS_AND_WRITES) > len(WRITES) + 60


@pytest.mark.slow
def test_misspelt_parameters_of_writes_are_refused(mesh: Mesh):
    taken = []
    for method, path in WRITES:
        own = queries(SCHEMA["paths"][path][method.lower()].get("parameters", []))
        for name in {"dry_run", "at", *own}:
            for spelt in spellings(name):
                hint = f"did you mean {name}?"
                taken += refused(mesh, [(method, path)], f"{spelt}=true", hint, spelt)
    assert taken == []


@pytest.mark.parametrize("query", ["at=", "At=2026-01-01T00:00:00Z", "at=&at="])
def test_a_moment_without_value_or_misspelt_is_refused(query: str, mesh: Mesh):
    assert refused(mesh, READS_AND_WRITES, query, "at") == []


@pytest.mark.parametrize("query", ["dry_run=", "dry_run=true&dry_run=true"])
def test_a_plan_without_value_is_refused(query: str, mesh: Mesh):
    message = "dry_run: must be given once, with a value"
    assert refused(mesh, WRITES, query, message) == []
