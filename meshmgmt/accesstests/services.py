"""Writes of access tests."""

from collections.abc import Sequence
from typing import Final

from django.conf import settings
from django.db.models import Q

from groups.models import Group
from meshmgmt.accesstests.models import AccessTest
from meshmgmt.accesstests.rules import access_test_errors
from meshmgmt.accounts.models import User
from meshmgmt.core.errors import Conflict
from meshmgmt.core.fielderrors import FieldError
from meshmgmt.core.queries import batches
from meshmgmt.core.resources import Resource, Values, Write
from meshmgmt.core.transactions import account_write
from meshmgmt.inventory.models import NetworkResource, Peer

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
