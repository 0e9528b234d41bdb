"""Writes of access tests, and what becomes of them when what they name is deleted."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings
from django.db.models import Q

from groups import references
from groups.models import Group
from groups.references import Reference, Usage
from meshmgmt.accesstests.models import AccessTest
from meshmgmt.accesstests.rules import access_test_errors
from meshmgmt.accounts.models import User
from meshmgmt.accounts.signals import user_deleting
from meshmgmt.core.errors import Conflict, FieldError
from meshmgmt.core.queries import batches
from meshmgmt.core.resources import Resource, Values, Write
from meshmgmt.core.transactions import account_write
from meshmgmt.inventory.models import NetworkResource, Peer
from meshmgmt.inventory.signals import peers_deleting, resources_deleting

ENDS: Final = ("source", "destination")
MODELS: Final = {
    "peer": Peer, "group": Group, "user": User, "resource": NetworkResource
}  # fmt: skip


class AccessTests(Resource[AccessTest]):
    """Access tests; a new one may fail."""

    model = AccessTest
    kind = "access test"

    def errors(self, write: Write[AccessTest]) -> list[FieldError]:
        def known(kind: str, ref: str) -> bool:
            if not ref:
                return not write.values["enabled"]  # what it named was deleted
            return MODELS[kind]._default_manager.filter(pk=ref).exists()

        faults = list(access_test_errors(write.values, known))
        if write.is_taken("name"):
            text = "an access test with this name exists already"
            faults.append(FieldError("name", text, conflict=True))
        return faults

    def complete(self, instance: AccessTest) -> None:
        instance.port = instance.port or None

    def create(self, data: Values, within: str = "") -> AccessTest:
        with account_write():
            most = settings.SVC.access_tests
            if AccessTest.objects.count() >= most:
                text = f"there are {most} access tests already (SVC_ACCESS_TESTS)"
                raise Conflict(text)
            return super().create(data)


access_tests: Final = AccessTests()


def naming(kind: str, ids: Sequence[str]) -> list[AccessTest]:
    """Return the tests that name one of these objects."""
    ends = Q(source_kind=kind, source_ref__in=ids)
    ends |= Q(destination_kind=kind, destination_ref__in=ids)
    return list(AccessTest.objects.filter(ends).order_by("id"))


def let_go(kind: str, ids: Sequence[str]) -> None:
    """Take objects that are about to be deleted out of tests, which are switched off."""
    for part in batches(ids):
        for test in naming(kind, part):
            for end, (its_kind, ref) in zip(ENDS, test.ends, strict=True):
                if its_kind == kind and ref in part:
                    setattr(test, f"{end}_ref", "")
            test.enabled = False
            test.save()


def register_references() -> None:
    """Have tests let go of what is deleted, of which they name; they are off then."""
    references.register(EndReference("source_ref"), EndReference("destination_ref"))
    for signal, receiver in (
        (peers_deleting, _peers),
        (resources_deleting, _resources),
        (user_deleting, _user),
    ):
        signal.connect(receiver, dispatch_uid=f"accesstests.{receiver.__name__}")


@dataclass(frozen=True, slots=True)
class EndReference(Reference):
    """A group at one end of a test, or at both."""

    column: str
    model = AccessTest
    kind = "access_test"

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
