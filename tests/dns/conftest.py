"""Callers of the API."""

import pytest
from django.test import Client

from meshmgmt.accounts.models import User
from meshmgmt.inventory.models import Peer
from tests.admin.signed_in import client_of
from tests.api_client import Api
from tests.dns.bodies import created, record, zone
from tests.factories import group, peer
from tests.people import api_as, person


@pytest.fixture
def owner(db: None) -> Api:
    """A client that may do everything."""
    return api_as("owner")


@pytest.fixture
def auditor(db: None) -> Api:
    """A client that may only read."""
    return api_as("auditor")


@pytest.fixture
def laptop(owner: Api) -> Peer:
    """A peer that gets the zone svc.test with one record."""
    made = peer("laptop", ip="100.64.0.1", dns_label="laptop-1")
    staff = group("staff", made).pk
    it = created(owner.post("/api/dns/zones", zone(distribution_groups=[staff])))
    created(owner.post(f"/api/dns/zones/{it['id']}/records", record()))
    return made


@pytest.fixture
def ann(db: None) -> User:
    """An owner."""
    return person("owner", email="ann@mesh.dev", name="Ann")


@pytest.fixture
def browser(ann: User) -> Client:
    """The owner's browser."""
    return client_of(ann)
