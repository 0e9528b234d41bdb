"""A caller of the API who may only read, and a peer with a zone."""

import pytest

from meshmgmt.inventory.models import Peer
from tests.api_client import Api
from tests.dns.bodies import record, zone
from tests.factories import group, peer
from tests.people import api_as
from tests.resource_contract import ok


@pytest.fixture
def auditor(db: None) -> Api:
    """A client that may only read."""
    return api_as("auditor")


@pytest.fixture
def laptop(api: Api) -> Peer:
    """A peer that gets the zone svc.test with one record."""
    made = peer("laptop", ip="100.64.0.1", dns_label="laptop-1")
    staff = group("staff", made).pk
    it = ok(api.post("/api/dns/zones", zone(distribution_groups=[staff])))
    ok(api.post(f"/api/dns/zones/{it['id']}/records", record()))
    return made
