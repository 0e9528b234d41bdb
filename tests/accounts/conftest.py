"""The OpenID Connect provider of a deployment, and the account that its people enter."""

from collections.abc import Iterator
from typing import Any

import pytest

from meshmgmt.accounts.models import Account
from tests.factories import account_settings
from tests.oidc_provider import RunningProvider, configure, running_provider
from tests.people import person


@pytest.fixture(scope="session")
def running() -> Iterator[RunningProvider]:
    """One provider for all tests here; its state is set by each."""
    with running_provider() as provider:
        yield provider


@pytest.fixture
def provider(running: RunningProvider, settings: Any) -> RunningProvider:
    """The provider, configured as the one of this deployment."""
    configure(
        settings, running.issuer, oidc_client_secret="any", oidc_role_claim="roles"
    )
    return running


@pytest.fixture
def account() -> Account:
    """The account, with an owner; people of the provider need no approval."""
    person("owner")
    return account_settings(user_approval_required=False)


@pytest.fixture
def idp(provider: RunningProvider, account: Account) -> RunningProvider:
    """The provider, where the deployment has its owner already."""
    return provider
