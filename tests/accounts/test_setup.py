"""Databases that are set up step by step."""

from pathlib import Path

import pytest
from django.core.management import call_command

from events.models import AuditEvent
from tests.databases import KIND, elsewhere

pytestmark = pytest.mark.django_db


@pytest.mark.slow
def test_apps_may_be_migrated_one_by_one(tmp_path: Path):
    """The account and the group of all peers wait until their events can be kept."""
    with elsewhere(KIND, folder=tmp_path):
        call_command("migrate", "accounts", verbosity=0)
        call_command("migrate", verbosity=0)
        codes = AuditEvent.objects.order_by("activity_code")
        assert list(codes.values_list("activity_code", flat=True)) == [
            *("account.create", "group.add")
        ]
