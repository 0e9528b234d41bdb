"""Writes of access tests. Every function runs in one account write."""

from collections.abc import Collection, Mapping
from dataclasses import fields, replace
from typing import Any, Final

from django.conf import settings
from django.db.models import Q

from groups.models import Group
from meshmgmt.accesstests.models import AccessTest
from meshmgmt.accesstests.rules import VALUES, AccessTestDraft, End, draft_errors
from meshmgmt.accounts.models import User
from meshmgmt.core.errors import Conflict, raise_field_errors
from meshmgmt.core.fielderrors import FieldError
from meshmgmt.core.queries import found
from meshmgmt.core.transactions import account_write
from meshmgmt.inventory.models import NetworkResource, Peer

KIND: Final = "access test"
_ENDS: Final = ("source", "destination")
PLAIN: Final = tuple(
    each.name for each in fields(AccessTestDraft) if each.name not in _ENDS
)
"""Facts of a test that are columns of the same name."""
MODELS: Final = {
    "peer": Peer, "group": Group, "user": User, "resource": NetworkResource
}  # fmt: skip


def access_test_create(*, draft: AccessTestDraft) -> AccessTest:
    """Create a test, which may fail. Raises InvalidArgument, Conflict."""
    with account_write():
        most = settings.SVC.access_tests
        if AccessTest.objects.count() >= most:
            raise Conflict(f"there are {most} access tests already (SVC_ACCESS_TESTS)")
        test = AccessTest()
        _fill(test, draft)
        test.save(force_insert=True)
        return test


def access_test_update(*, test_id: str, changes: Mapping[str, Any]) -> AccessTest:
    """Change what is given, keep the rest. Raises NotFound, InvalidArgument, Conflict."""
    with account_write():
        test = found(AccessTest, test_id, kind=KIND)
        _fill(test, replace(stored_draft(test), **changes))
        test.save()
        return test


def access_test_delete(*, test_id: str) -> None:
    """Delete a test. Raises NotFound."""
    with account_write():
        found(AccessTest, test_id, kind=KIND).delete()


def stored_draft(test: AccessTest) -> AccessTestDraft:
    """Return a test as a client would send it."""
    return AccessTestDraft(
        source=End(test.source_kind, test.source_ref),
        destination=End(test.destination_kind, test.destination_ref),
        **{name: getattr(test, name) for name in PLAIN},
    )


def naming(kind: str, ids: Collection[str]) -> list[AccessTest]:
    """Return the tests that name one of these objects."""
    ends = Q(source_kind=kind, source_ref__in=ids)
    ends |= Q(destination_kind=kind, destination_ref__in=ids)
    return list(AccessTest.objects.filter(ends).order_by("id"))


def let_go(kind: str, ids: Collection[str]) -> None:
    """Take objects that are about to be deleted out of tests, which are switched off."""
    for test in naming(kind, ids):
        for end in _ENDS:
            if (
                getattr(test, f"{end}_kind") == kind
                and getattr(test, f"{end}_ref") in ids
            ):
                setattr(test, f"{end}_ref", "")
        test.enabled = False
        test.save()


def _fill(test: AccessTest, draft: AccessTestDraft) -> None:
    def known(end: End) -> bool:
        if not end.ref:
            return not draft.enabled  # what it named was deleted
        return MODELS[end.kind]._default_manager.filter(pk=end.ref).exists()

    faults = list(draft_errors(draft, known))
    if AccessTest.objects.filter(name=draft.name).exclude(pk=test.pk).exists():
        text = "an access test with this name exists already"
        faults.append(FieldError("name", text, conflict=True))
    raise_field_errors(faults)
    for name in PLAIN:
        setattr(test, name, getattr(draft, name))
    test.contents = list(draft.contents)
    for end in _ENDS:
        setattr(test, f"{end}_kind", getattr(draft, end).kind)
        setattr(test, f"{end}_ref", getattr(draft, end).ref)


def end_json(kind: str, ref: str) -> dict[str, str]:
    """Return one end of a test as the API shows it."""
    return {"kind": kind, "value" if kind in VALUES else "id": ref}
