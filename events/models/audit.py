"""The audit trail, and what proves it: its tree, the keys that sign it, signed heads."""

from collections.abc import Callable, Iterator
from typing import Any, Final, NoReturn

from django.db import models

from events.activities import LABELS
from events.search import search_text
from meshmgmt.core import clock
from meshmgmt.core.registry import Registry
from meshmgmt.core.unseen import Unseen

_NAMES: Final = (
    *("name", "new_name", "setupkey", "user_name", "username", "email", "peer_fqdn"),
    *("peer", "policy_name"),
)
"""Keys of the metadata that name the target, the surest first."""


def trail_text(event: Any) -> str:
    code = str(event.activity_code)
    return search_text(
        (
            code,
            LABELS.get(code, ""),
            event.initiator_id,
            event.initiator_name,
            event.initiator_email,
            event.target_id,
            *(str(value) for value in event.meta.values()),
            *_texts(event.changes),
            event.source_address,
            event.token_id,
            event.request_id,
        )
    )


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts in what JSON can say, keys left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


class TrailTextField(models.TextField):  # type: ignore[type-arg]  # not at run time
    """Fills itself on every way of writing, bulk inserts included."""

    def pre_save(self, model_instance: models.Model, add: bool) -> str:
        text = trail_text(model_instance)
        setattr(model_instance, self.attname, text)
        return text


history_keys: Final = Registry[str, Callable[[Any], str]]()
"""Tells the key of an event; who registers it knows the lists of upper rooms."""


class HistoryKeyField(models.TextField):  # type: ignore[type-arg]  # not at run time
    """Fills itself on every way of writing; compared byte by byte on every database.

    None in rows that a version without it wrote.
    """

    def pre_save(self, model_instance: models.Model, add: bool) -> str:
        [key_of] = history_keys.values()
        key = key_of(model_instance)
        setattr(model_instance, self.attname, key)
        return key

    def db_parameters(self, connection: Any) -> Any:
        return {
            **super().db_parameters(connection),
            "collation": "C" if connection.vendor == "postgresql" else None,
        }


class AppendOnlyQuerySet(models.QuerySet["AuditEvent"]):
    """Rows of the trail are written once; only retention removes them."""

    def update(self, **kwargs: Any) -> NoReturn:
        raise TypeError("audit events are never changed")

    def delete(self) -> NoReturn:
        raise TypeError("audit events are removed by retention alone")

    def prune(self) -> int:
        """Delete the selected rows (retention) and return how many there were."""
        return super().delete()[0]


class AuditEvent(models.Model):
    """One change: who did what to which object, and how it looked before and after.

    Initiator and target are copied by value, so the row outlives both.
    """

    timestamp = models.DateTimeField(default=clock.now)
    activity_code = models.CharField(max_length=80)
    initiator_id = models.CharField(max_length=64, blank=True)
    initiator_name = models.CharField(max_length=255, blank=True)
    initiator_email = models.CharField(max_length=320, blank=True)
    target_id = models.CharField(max_length=64, blank=True)
    target_type = models.CharField(max_length=64, blank=True)
    meta = models.JSONField(default=dict, blank=True)
    changes = models.JSONField(default=dict, blank=True)
    request_id = models.CharField(max_length=32, blank=True)
    source_address = models.CharField(max_length=64, blank=True)
    token_id = models.CharField(max_length=32, blank=True)
    search = TrailTextField(default="", editable=False)
    history_key = HistoryKeyField(null=True, editable=False)

    objects = AppendOnlyQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["timestamp"], name="audit_timestamp"),
            models.Index(fields=["activity_code", "id"], name="audit_activity"),
            models.Index(fields=["initiator_id", "id"], name="audit_initiator"),
            models.Index(fields=["target_id", "id"], name="audit_target"),
            models.Index(fields=["history_key", "id"], name="audit_history"),
        ]
        default_permissions = ("view",)
        verbose_name = "audit event"

    def __str__(self) -> str:
        return f"{self.id}: {self.activity}"

    @property
    def activity(self) -> str:
        """What people call it; the code, where only a later version knows it."""
        return LABELS.get(self.activity_code, self.activity_code)

    @property
    def initiator(self) -> str:
        """What who did it was called then, else their id."""
        return self.initiator_name or self.initiator_email or self.initiator_id

    @property
    def target_name(self) -> str:
        """What the target was called then, else its id."""
        names = (self.meta.get(key) for key in _NAMES)
        return next((str(name) for name in names if name), self.target_id)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError("audit events are removed by retention alone")


class AuditTile(Unseen):
    """Up to 256 hashes of one level of the tree, side by side (`events/proof/merkle.py`).

    At level 0 also the ids of the events, in 8 bytes each: retention removes events, but
    neither their hashes nor their ids.
    """

    level = models.SmallIntegerField()
    number = models.BigIntegerField()
    hashes = models.BinaryField()
    event_ids = models.BinaryField(default=bytes)
    first_event_id = models.BigIntegerField(null=True, db_index=True)

    class Meta(Unseen.Meta):
        constraints = [
            models.UniqueConstraint(fields=["level", "number"], name="audit_tile_place")
        ]


class AuditKey(Unseen):
    """An Ed25519 key pair; its private half is sealed under the secret key."""

    id = models.CharField(max_length=16, primary_key=True)
    public_key = models.BinaryField()
    sealed = models.BinaryField()
    valid_from = models.DateTimeField(default=clock.now)
    valid_until = models.DateTimeField(null=True)


class AuditHead(Unseen):
    """The root of the tree at one size and time, signed."""

    tree_size = models.BigIntegerField()
    root_hash = models.BinaryField()
    timestamp = models.DateTimeField()
    key = models.ForeignKey(AuditKey, on_delete=models.PROTECT)
    signature = models.BinaryField()
