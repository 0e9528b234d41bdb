"""Access tests, and how far the changes of the account have been looked at for them."""

from typing import Final

from django.db import models

from dns.content import RECORD_TYPES
from events.audit.audited import AuditedModel
from meshmgmt.accesstests.rules import EXPECTATIONS, KINDS
from meshmgmt.core import clock
from meshmgmt.core.unseen import Unseen
from meshmgmt.mesh.reach import PROTOCOLS

PASSING: Final = "passing"
FAILING: Final = "failing"
EMPTY: Final = "empty"
STATE: Final = ("state", "failures", "checked_at")
"""Columns that tell how a test went."""

End = tuple[str, str]


def _choices(names: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(name, name) for name in names]


class AccessTest(AuditedModel):
    """What must, or must never, be reached or resolved.

    `source_ref` and `destination_ref` are ids, for some kinds of destination what it is
    itself; empty once the object is deleted. `state`, `failures` and `checked_at` tell
    how the test went when it was last looked at; nothing is looked at while it is off.
    """

    name = models.CharField(max_length=255)
    description = models.CharField(max_length=1000, blank=True)
    enabled = models.BooleanField(default=True)
    enforce = models.BooleanField(default=False)
    kind = models.CharField(max_length=6, choices=_choices(KINDS), default=KINDS[0])
    source_kind = models.CharField(max_length=8)
    source_ref = models.CharField(max_length=255, blank=True)
    destination_kind = models.CharField(max_length=8)
    destination_ref = models.CharField(max_length=255, blank=True)
    protocol = models.CharField(
        max_length=4, choices=_choices(PROTOCOLS), default=PROTOCOLS[0]
    )
    port = models.PositiveIntegerField(null=True, blank=True)
    expect = models.CharField(max_length=5, choices=_choices(EXPECTATIONS))
    record_type = models.CharField(
        max_length=5, choices=_choices(RECORD_TYPES), default=RECORD_TYPES[0]
    )
    contents = models.JSONField(default=list, blank=True)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    state = models.CharField(max_length=7, default=EMPTY, editable=False)
    failures = models.JSONField(default=list, editable=False)
    checked_at = models.DateTimeField(null=True, editable=False)

    class Meta(AuditedModel.Meta):
        constraints = [
            models.UniqueConstraint(fields=["name"], name="access_test_name_unique")
        ]

    @property
    def ends(self) -> tuple[End, End]:
        """Kind and id, or value, of its source and its destination."""
        source = self.source_kind, self.source_ref
        return source, (self.destination_kind, self.destination_ref)


class Looked(Unseen):
    """Up to which serial of the maps the states of tests are right; at most one row."""

    serial = models.BigIntegerField()
