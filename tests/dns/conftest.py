"""A zone, and a peer with one."""

import pytest

from meshmgmt.inventory.models import Peer
from tests.api_client import Api
from tests.dns.bodies import record, zone
from tests.factories import group, peer
from tests.resource_contract import ok


@pytest.fixture
def path(api: Api) -> str:
    """Path of the zone svc.test."""
    return f"/api/dns/zones/{ok(api.post('/api/dns/zones', zone()))['id']}"


@pytest.fixture
def laptop(api: Api) -> Peer:
    """A peer that gets the zone svc.test with one record."""
    made = peer("laptop", ip="100.64.0.1", dns_label="laptop-1")
    staff = group("staff", made).pk
    it = ok(api.post("/api/dns/zones", zone(distribution_groups=[staff])))
    ok(api.post(f"/api/dns/zones/{it['id']}/records", record()))
    return made
