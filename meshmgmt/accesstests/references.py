"""What becomes of tests when what they name is deleted: they let go of it, and are off."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from groups import references
from groups.references import Usage
from meshmgmt.accesstests.models import AccessTest
from meshmgmt.accesstests.services import let_go, naming
from meshmgmt.accounts.models import User
from meshmgmt.accounts.signals import user_deleting
from meshmgmt.inventory.signals import peers_deleting, resources_deleting


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


def register() -> None:
    """Register groups, and follow the deletion of all else that tests name."""
    references.register(EndReference("source_ref"), EndReference("destination_ref"))
    for signal, receiver in (
        (peers_deleting, _peers),
        (resources_deleting, _resources),
        (user_deleting, _user),
    ):
        signal.connect(receiver, dispatch_uid=f"accesstests.{receiver.__name__}")


def _peers(ids: Sequence[str], **kwargs: Any) -> None:
    let_go("peer", ids)


def _resources(ids: Sequence[str], **kwargs: Any) -> None:
    let_go("resource", ids)


def _user(user: User, **kwargs: Any) -> None:
    let_go("user", [user.pk])
