"""The model declares what is stored of a resource; bodies have just its fields.

A further one costs a line in the model, and one in the request's body.
"""

import os
import sys
from typing import Any

import pytest

from dns.api.views import NameserverGroupViewSet, RecordViewSet, ZoneViewSet
from meshmgmt.access.api.views import (
    NetworkResourceViewSet,
    NetworkRouterViewSet,
    NetworkViewSet,
    PolicyViewSet,
    PostureCheckViewSet,
    RouteViewSet,
)
from meshmgmt.api.views import ResourceViewSet
from meshmgmt.core.resources import columns, lists
from tests.programs import ran

MADE = {
    NetworkViewSet: {"routers", "resources", "policies", "routing_peers_count"},
    NetworkResourceViewSet: {"type"},
    RouteViewSet: {"network_type"},
    ZoneViewSet: {"records"},
}
"""What answers alone have."""

ELSEWHERE = {NetworkResourceViewSet: {"groups"}, PolicyViewSet: {"rules"}}
"""What is kept in tables of another model."""


@pytest.mark.parametrize(
    "view",
    [
        ZoneViewSet,
        RecordViewSet,
        NameserverGroupViewSet,
        NetworkViewSet,
        NetworkResourceViewSet,
        NetworkRouterViewSet,
        RouteViewSet,
        PolicyViewSet,
        PostureCheckViewSet,
    ],
)
def test_bodies_have_the_fields_of_the_model(view: type[ResourceViewSet]):
    model: Any = view.resource.model
    made = MADE.get(view, set())
    stored = {*columns(model), *lists(model), *ELSEWHERE.get(view, ())}
    assert fields_of(view.serializer_class) == {"id"} | stored | made
    for body in (view.request_serializer_class, view.update_serializer_class):
        assert body is None or fields_of(body) == stored - made


def fields_of(serializer_class: Any) -> set[str]:
    return set(serializer_class().fields)


@pytest.mark.slow
@pytest.mark.timeout(600)  # it makes a database of its own
@pytest.mark.django_db
def test_a_field_is_declared_twice_and_is_everywhere():
    """A room of its own would be in the tables and lists of all other tests."""
    words = ["-q", "-n", "0", "--ds=tests.throwaway.settings", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *words, "tests/throwaway/cases.py"]
    environ = {x: y for x, y in os.environ.items() if not x.startswith("PYTEST_")}
    done = ran(*command, env=environ)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
