"""The committed OpenAPI document, and answers of the demo company held to it."""

import re
from io import StringIO
from typing import Final

import jsonschema_rs
import pytest
from django.core.management import call_command
from django.urls import URLPattern, URLResolver, get_resolver

from meshmgmt.api.views import ApiView, ResourceViewSet
from tests.api_client import Api
from tests.contract.conftest import Mesh
from tests.openapi import DOCUMENT, schema

# The mark has pytest-django make the database; the data is that of `mesh`.
pytestmark = pytest.mark.django_db

SCHEMA: Final = schema()
READABLE: Final = [path for path, found in SCHEMA["paths"].items() if "get" in found]


@pytest.mark.sqlite
def test_the_committed_document_is_that_of_the_code() -> None:
    printed = StringIO()
    call_command("spectacular", "--validate", "--fail-on-warn", stdout=printed)
    assert printed.getvalue() == DOCUMENT.read_text(encoding="utf-8"), (
        "openapi.yaml is out of date: make openapi"
    )


def views(patterns: list[URLPattern | URLResolver]) -> list[tuple[str, type[ApiView]]]:
    """Return the API's paths with their views, in the document's spelling."""
    found = []
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            if not pattern.app_name:
                found += views(pattern.url_patterns)
            continue
        view = getattr(pattern.callback, "cls", None) or getattr(
            pattern.callback, "view_class", None
        )
        path = "/" + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", str(pattern.pattern))
        if isinstance(view, type) and issubclass(view, ApiView):
            found.append((path, view))
    return found


def test_every_path_of_the_api_is_in_the_document() -> None:
    served = {path for path, _ in views(get_resolver().url_patterns)}
    hidden = {"/api/schema", "/livez", "/readyz", "/health", "/metrics"}
    assert served - set(SCHEMA["paths"]) <= hidden
    # The page that shows the document is no view of ours.
    assert set(SCHEMA["paths"]) - served <= {"/api/docs"}


def filled(path: str, mesh: Mesh) -> str:
    """Return the path with ids of objects that exist."""
    return re.sub(r"\{(\w+)\}", lambda found: mesh.ids[found[1]], path)


@pytest.mark.parametrize("path", READABLE)
def test_real_answers_have_the_documented_form(path: str, mesh: Mesh) -> None:
    queries = {
        "/api/access/explain": f"?source={mesh.ids['peerId']}&destination=10.11.0.1",
        "/api/dns/explain": f"?peer={mesh.ids['peerId']}&name=wiki.apps",
        "/api/events/audit/proof/inclusion": f"?event={mesh.ids['event_id']}",
        "/api/events/audit/proof/consistency": "?first=1",
    }
    answer = Api(mesh.token).get(filled(path, mesh) + queries.get(path, ""))
    described = SCHEMA["paths"][path]["get"]["responses"].get(str(answer.status))
    assert described is not None, (answer.status, answer.body[:300])
    assert answer.status < 400 or answer.status in {403, 404}, answer.body[:300]
    schema = described.get("content", {}).get("application/json", {}).get("schema")
    if schema is None or answer.json is None:
        assert not answer.headers["Content-Type"].startswith("application/json")
        return
    root = {**schema, "components": SCHEMA["components"]}
    jsonschema_rs.Draft202012Validator(root).validate(answer.json)


LISTS: Final = [
    (path, view)
    for path, view in views(get_resolver().url_patterns)
    if issubclass(view, ResourceViewSet)
    and path.rpartition("/")[2]
    not in {vars(a)["url_path"] for a in view.get_extra_actions()}
]


@pytest.mark.parametrize(
    ("path", "view"), LISTS, ids=[f"{path} {view.__name__}" for path, view in LISTS]
)
def test_rows_are_what_the_serializer_would_give(
    path: str, view: type[ResourceViewSet], mesh: Mesh
) -> None:
    if "get" not in SCHEMA["paths"][path]:
        pytest.skip("nothing to read here")
    answer = Api(mesh.token).get(filled(path, mesh))
    assert answer.status == 200
    rows = answer.json if isinstance(answer.json, list) else [answer.json]
    assert rows, "the demo has data for every list"
    serializer = view.serializer_class(instance=rows, many=True)
    assert [dict(row) for row in serializer.data] == rows
