"""A field is declared in the draft of its object, which model and bodies agree with."""

from dataclasses import fields
from typing import Any

import pytest
from django.db import models

from dns.api import serializers as dns_bodies
from dns.models import NameserverGroup, Record, Zone
from dns.rules.nameservers import NAMESERVER_GROUP_COLUMNS, NameserverGroupDraft
from dns.rules.records import RECORD_COLUMNS, RecordDraft
from dns.rules.zones import ZONE_COLUMNS, ZoneDraft
from meshmgmt.access.api.serializers import networks as network_bodies
from meshmgmt.access.api.serializers import routes as route_bodies
from meshmgmt.access.models import Route, Router
from meshmgmt.access.rules.networks import (
    NETWORK_COLUMNS,
    RESOURCE_COLUMNS,
    NetworkDraft,
    ResourceDraft,
)
from meshmgmt.access.rules.routes import (
    ROUTE_COLUMNS,
    ROUTER_COLUMNS,
    RouteDraft,
    RouterDraft,
)
from meshmgmt.inventory.models import Network, NetworkResource

OURS = {"id", "created_at"}
"""Columns that no client sends."""

CANONICAL = {"canonical_domain", "canonical_name", "canonical_content"}


@pytest.mark.parametrize(
    ("model", "draft", "columns", "others"),
    [
        (Zone, ZoneDraft, ZONE_COLUMNS, CANONICAL),
        (Record, RecordDraft, RECORD_COLUMNS, CANONICAL | {"zone"}),
        (NameserverGroup, NameserverGroupDraft, NAMESERVER_GROUP_COLUMNS, set()),
        (Network, NetworkDraft, NETWORK_COLUMNS, set()),
        (NetworkResource, ResourceDraft, RESOURCE_COLUMNS, {"network", "type"}),
        (Route, RouteDraft, ROUTE_COLUMNS, {"peer", "network", "domains"}),
        (Router, RouterDraft, ROUTER_COLUMNS, {"peer", "network"}),
    ],
)
def test_every_column_is_one_of_the_draft_or_kept_otherwise(
    model: type[models.Model], draft: Any, columns: tuple[str, ...], others: set[str]
) -> None:
    stored = {field.name for field in model._meta.concrete_fields}
    assert set(columns) == stored - OURS - others
    assert set(columns) <= {field.name for field in fields(draft)}


@pytest.mark.parametrize(
    ("draft", "bodies"),
    [
        (
            ZoneDraft,
            [
                dns_bodies.ZoneRequestSerializer,
                dns_bodies.ZoneUpdateSerializer,
                dns_bodies.ZoneSerializer,
            ],
        ),
        (
            RecordDraft,
            [
                dns_bodies.RecordRequestSerializer,
                dns_bodies.RecordUpdateSerializer,
                dns_bodies.RecordSerializer,
            ],
        ),
        (
            NameserverGroupDraft,
            [
                dns_bodies.NameserverGroupRequestSerializer,
                dns_bodies.NameserverGroupSerializer,
            ],
        ),
        (NetworkDraft, [network_bodies.NetworkRequestSerializer]),
        (ResourceDraft, [network_bodies.NetworkResourceRequestSerializer]),
        (RouterDraft, [network_bodies.NetworkRouterRequestSerializer]),
        (RouteDraft, [route_bodies.RouteRequestSerializer]),
    ],
)
def test_bodies_have_the_fields_of_the_draft(draft: Any, bodies: list[Any]) -> None:
    declared = {field.name for field in fields(draft)}
    for body in bodies:
        assert set(body().fields) - {"id", "records"} == declared
