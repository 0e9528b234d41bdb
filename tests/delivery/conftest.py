"""Fixtures of deliveries."""

import ipaddress
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.conf import settings

from meshmgmt.delivery.models import Subscription
from meshmgmt.delivery.services import subscription_create
from tests.delivery.receivers import Receiver, receiving


class Made(NamedTuple):
    """A new subscription with its secret."""

    subscription: Subscription
    secret: str


Make = Callable[..., Made]


@pytest.fixture
def inside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Let targets be on this machine; return the folder of files."""
    allowed = replace(
        settings.SVC,
        delivery_plain_http=True,
        delivery_allowed_networks=(ipaddress.ip_network("127.0.0.0/8"),),
        delivery_dir=tmp_path,
    )
    monkeypatch.setattr(settings, "SVC", allowed)
    return tmp_path


@pytest.fixture
def receiver(inside: Path) -> Iterator[Receiver]:
    """A receiver of webhooks."""
    with receiving() as started:
        yield started


@pytest.fixture
def subscribe(receiver: Receiver) -> Make:
    """Make subscriptions, to the receiver unless another target is named."""

    def make(stream: str = "audit", **facts: Any) -> Made:
        target = facts.pop("target", {"type": "webhook", "url": receiver.url})
        name = facts.pop("name", f"to {stream}")
        made = subscription_create(name=name, stream=stream, target=target, **facts)
        return Made(*made)

    return make
