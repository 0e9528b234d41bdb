"""The demo company as the data of all contract tests, and what it is called by."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, transaction
from pytest_django.plugin import DjangoDbBlocker

from dns.models import NameserverGroup, Record, Zone
from events.models import AuditEvent
from events.proof import heads
from groups.models import ALL, Group
from meshmgmt.access.models import Invite, Policy, PostureCheck, Route, Router, SetupKey
from meshmgmt.accounts.models import AccessToken, User
from meshmgmt.accounts.oidc.configured import provider_id
from meshmgmt.control.models import PeerJob
from meshmgmt.core.context import account_id
from meshmgmt.delivery.services import subscription_create
from meshmgmt.demo.seeding import seed
from meshmgmt.inventory.models import NetworkResource, Peer
from tests.accesstests.world import promise
from tests.people import token_of


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Pass over the module whose tests, all slow, take seconds to be made."""
    if "not slow" in config.option.markexpr:
        return collection_path.name == "test_thorough_fuzzing.py" or None
    return None


@dataclass(frozen=True)
class Mesh:
    """A token of the owner, and one existing id for each path parameter."""

    token: str
    ids: dict[str, str]


@pytest.fixture(scope="module")
def kept_connection() -> Iterator[None]:
    """Keep requests through WSGI from closing the connection with our transaction."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)


@pytest.fixture(scope="module")
def mesh(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, kept_connection: None
) -> Iterator[Mesh]:
    """Seed once per module; whatever its tests do is rolled back with it."""
    with django_db_blocker.unblock(), transaction.atomic():
        seed("demo", 1)
        heads.keep_up()
        owner = User.objects.owners().people()[0]
        yield Mesh(token_of(owner), _ids(owner))
        transaction.set_rollback(True)


def _ids(owner: User) -> dict[str, str]:
    zone = Zone.objects.all()[0]
    router = Router.objects.all()[0]
    group = Group.objects.exclude(name=ALL)[0]
    return {
        "accountId": account_id(),
        "country": "DE",
        "idpId": provider_id("https://idp.test"),
        "groupId": group.pk,
        "peerId": Peer.objects.all()[0].pk,
        "nsgroupId": NameserverGroup.objects.all()[0].pk,
        "zoneId": zone.pk,
        "recordId": Record.objects.filter(zone=zone)[0].pk,
        "userId": owner.pk,
        "tokenId": AccessToken.objects.filter(user=owner)[0].pk,
        "inviteId": Invite.objects.all()[0].pk,
        "event_id": str(AuditEvent.objects.all()[0].pk),
        "policyId": Policy.objects.all()[0].pk,
        "postureCheckId": PostureCheck.objects.all()[0].pk,
        "routeId": Route.objects.all()[0].pk,
        "networkId": router.network_id,
        "routerId": router.pk,
        "resourceId": NetworkResource.objects.filter(network=router.network_id)[0].pk,
        "keyId": SetupKey.objects.all()[0].pk,
        "setupKeyId": SetupKey.objects.all()[0].pk,
        "subscriptionId": _subscription_id(),
        "jobId": _job_id(owner),
        "accessTestId": _access_test_id(),
    }


def _access_test_id() -> str:
    source, target = Group.objects.exclude(name=ALL)[:2]
    return promise("contract", source, target, "never").pk


def _job_id(owner: User) -> str:
    bundle = {"log_file_count": 10, "anonymize": True}
    bundle |= {"bundle_for": False, "bundle_for_time": 0}
    facts = {"peer": Peer.objects.all()[0], "triggered_by": owner.pk}
    return PeerJob.objects.create(parameters=bundle, **facts).pk


def _subscription_id() -> str:
    target = {"type": "webhook", "url": "https://siem.test/hook"}
    made, _ = subscription_create(name="contract", stream="audit", target=target)
    return made.pk
