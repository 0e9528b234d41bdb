"""`GET /api/accounts`."""

import pytest
from django.conf import settings

from meshmgmt.accounts.models import Account
from tests.api_client import Api
from tests.factories import account_settings
from tests.people import api_as

pytestmark = pytest.mark.django_db


def test_the_account_is_a_list_of_one() -> None:
    (answer,) = api_as("owner").get("/api/accounts").json
    account = Account.objects.get()
    assert answer["id"] == account.pk
    assert answer["created_by"] == "system"
    assert answer["settings"]["dns_domain"] == settings.SVC.dns_domain
    assert answer["settings"]["peer_login_expiration"] == 86400
    assert answer["settings"]["extra"]["user_approval_required"] is True
    assert answer["settings"]["jwt_allow_groups"] == []


def test_a_changed_setting_is_read_back() -> None:
    account_settings(
        network_traffic_logs_groups=["g"], peer_inactivity_expiration_enabled=True
    )
    (answer,) = api_as("auditor").get("/api/accounts").json
    assert answer["settings"]["extra"]["network_traffic_logs_groups"] == ["g"]
    assert answer["settings"]["peer_inactivity_expiration_enabled"] is True


def test_account_is_found_by_its_id(api: Api) -> None:
    (account,) = api.get("/api/accounts").json
    assert api.get(f"/api/accounts/{account['id']}").json == account
