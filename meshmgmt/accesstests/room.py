"""What access tests have for the other rooms; they stand by at every write."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from events.audit import specs
from groups import references
from groups.references import Usage
from meshmgmt.accesstests import selectors, standing
from meshmgmt.accesstests.admin import failing_tests
from meshmgmt.accesstests.models import STATE, AccessTest
from meshmgmt.accesstests.services import let_go, naming
from meshmgmt.accounts.models import User
from meshmgmt.accounts.signals import user_deleting
from meshmgmt.adminsite import home
from meshmgmt.adminsite.home import Place
from meshmgmt.api.exceptions import register_constraint
from meshmgmt.core import modelmodules
from meshmgmt.core.jobs import register_job
from meshmgmt.explain.answers import contribute_findings
from meshmgmt.inventory.signals import peers_deleting, resources_deleting
from observability.registries import register_inventory


def register() -> None:
    specs.register(
        specs.written(
            AccessTest,
            "access_test",
            # How a test goes is told by events of their own.
            unaudited=frozenset(STATE),
            meta=lambda test: {"name": test.name},
        )
    )
    standing.register()
    _register_references()
    home.contribute(Place.ACCESS, "policies", failing_tests)
    contribute_findings(selectors.findings)
    modelmodules.assign("policies", "accesstests")
    register_constraint(
        "an access test with this name exists already",
        "access_test_name_unique",
        "accesstests_accesstest.name",
    )
    register_job(
        "look_after_access_tests", standing.EVERY_SECONDS, standing.look_after_reports
    )
    register_inventory(
        "mesh_access_tests",
        "Enabled access tests, by how they go and whether writes keep them.",
        ("state", "enforced"),
        selectors.counts,
    )


def _register_references() -> None:
    """Have tests let go of what is deleted, of which they name; they are off then."""
    references.register(EndReference("source_ref"), EndReference("destination_ref"))
    for signal, receiver in (
        (peers_deleting, _peers),
        (resources_deleting, _resources),
        (user_deleting, _user),
    ):
        signal.connect(receiver, dispatch_uid=f"accesstests.{receiver.__name__}")


@dataclass(frozen=True, slots=True)
class EndReference:
    """A group at one end of a test, or at both."""

    model = AccessTest
    kind = "access_test"
    column: str

    def rows(self, group_id: str) -> QuerySet[AccessTest]:
        """Return the tests with the id at this end."""
        return AccessTest.objects.filter(**{self.column: group_id})

    def usages(self, group_id: str) -> list[Usage]:
        """Return the tests with the group at this end."""
        end = self.column.removesuffix("_ref")
        return [
            Usage(self.kind, test.pk, test.name, end, disabled_by_deletion=test.enabled)
            for test in naming("group", [group_id])
            if getattr(test, self.column) == group_id
        ]

    def unlink(self, group_id: str) -> None:
        """Take the group out of all tests."""
        let_go("group", [group_id])


def _peers(ids: Sequence[str], **kwargs: Any) -> None:
    let_go("peer", ids)


def _resources(ids: Sequence[str], **kwargs: Any) -> None:
    let_go("resource", ids)


def _user(user: User, **kwargs: Any) -> None:
    let_go("user", [user.pk])
