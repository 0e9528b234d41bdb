"""The two streams as they are stored: events, tallies by day, and sums by hour, day, week.

Rows of events are written by ingest alone, and only retention removes them.
"""

from typing import Any, NoReturn

import orjson
from django.db import models

from events.vocabulary import CONNECTIONS, DIRECTIONS, PROTOCOL_NAMES
from meshmgmt.core.unseen import Unseen


def _refuse(*args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError("events are written by ingest and removed by retention alone")


class ReadOnlyQuerySet(models.QuerySet[Any]):
    create = bulk_create = update = delete = _refuse


class ReadOnlyModel(models.Model):
    """An event, whose instances are never saved or deleted one by one."""

    body: Any
    """The JSON text that clients get; each stream has it as a column."""

    objects = ReadOnlyQuerySet.as_manager()

    class Meta:
        abstract = True
        managed = True
        default_permissions = ("view",)

    def __str__(self) -> str:
        return str(self.pk)

    @property
    def content(self) -> dict[str, Any]:
        content: dict[str, Any] = orjson.loads(self.body)
        return content

    save = delete = _refuse


class TrafficEvent(ReadOnlyModel):
    """One flow record of a reporting peer.

    `body` is the JSON text clients get, rendered once at arrival; the other columns exist
    to filter, search and add up. On PostgreSQL the table is partitioned by day of `time`.
    """

    id = models.TextField(primary_key=True)
    time = models.DateTimeField("time")
    reporter_id = models.TextField()
    user_id = models.TextField()
    source_id = models.TextField()
    destination_id = models.TextField()
    policy_id = models.TextField()
    source_address = models.TextField()
    destination_address = models.TextField()
    protocol = models.SmallIntegerField(choices=list(PROTOCOL_NAMES.items()))
    direction = models.SmallIntegerField(choices=list(enumerate(DIRECTIONS)))
    connection_type = models.SmallIntegerField(choices=list(enumerate(CONNECTIONS)))
    kinds = models.SmallIntegerField(help_text="bits of the event types, 1 = unknown")
    rx_bytes = models.BigIntegerField("received bytes")
    tx_bytes = models.BigIntegerField("sent bytes")
    flows = models.BigIntegerField()
    drops = models.BigIntegerField()
    search = models.TextField()
    body = models.TextField()
    arrival = models.BigIntegerField(db_column="n", null=True, editable=False)
    """Grows in the order of commits; None for what came before it was counted."""

    class Meta(ReadOnlyModel.Meta):
        ordering = ["-time", "-id"]
        verbose_name = "network traffic event"


class TrafficTally(Unseen):
    """How many traffic events of a day share the values that rarely differ.

    Kept in step with the events in their own transactions, so totals of the common
    filters need not count a million rows.
    """

    day = models.DateField()
    protocol = models.SmallIntegerField()
    direction = models.SmallIntegerField()
    connection_type = models.SmallIntegerField()
    kinds = models.SmallIntegerField()
    rows = models.BigIntegerField()

    class Meta(Unseen.Meta):
        constraints = [
            models.UniqueConstraint(
                fields=["day", "protocol", "direction", "connection_type", "kinds"],
                name="traffic_tally_key",
            )
        ]


class ProxyEntry(ReadOnlyModel):
    """One request (or connection) that a reverse proxy of ours served or refused.

    `body` is the JSON text clients get, rendered once at arrival; the other columns exist
    to filter, sort, search and add up. On PostgreSQL partitioned by day of `timestamp`.
    """

    id = models.TextField(primary_key=True)
    timestamp = models.DateTimeField()
    service_id = models.TextField()
    host = models.TextField()
    path = models.TextField()
    method = models.TextField()
    status_code = models.SmallIntegerField("status")
    duration_ms = models.IntegerField("duration (ms)")
    source_ip = models.TextField("source address")
    user_id = models.TextField()
    auth_method_used = models.TextField()
    reason = models.TextField()
    bytes_upload = models.BigIntegerField()
    bytes_download = models.BigIntegerField()
    country_code = models.TextField()
    search = models.TextField()
    body = models.TextField()
    arrival = models.BigIntegerField(db_column="n", null=True, editable=False)
    """Grows in the order of commits; None for what came before it was counted."""

    class Meta(ReadOnlyModel.Meta):
        ordering = ["-timestamp", "-id"]
        verbose_name = "proxy access log entry"
        verbose_name_plural = "proxy access log entries"


class ProxyTally(Unseen):
    """How many entries of a day share method and status.

    Kept in step with the entries in their own transactions. Methods outside of
    `vocabulary.METHODS` count as "other": clients may send any word as a method.
    """

    day = models.DateField()
    method = models.CharField(max_length=16)
    status_code = models.SmallIntegerField()
    rows = models.BigIntegerField()

    class Meta(Unseen.Meta):
        constraints = [
            models.UniqueConstraint(
                fields=["day", "method", "status_code"], name="proxy_tally_key"
            )
        ]


class RollUp(Unseen):
    """What the events of an hour, six hours, a day or a week that share a value add up to.

    `family` says which value and whether of all events (`events/streams/subjects.py`). The
    sums bear the names of the stream's columns and stay at 2^63 - 1, as summaries do.
    """

    pk = models.CompositePrimaryKey("family", "width", "start", "key")
    family = models.SmallIntegerField()
    width = models.IntegerField(help_text="seconds")
    start = models.BigIntegerField(help_text="seconds since 1970")
    key = models.TextField()
    events = models.BigIntegerField()
    first = models.DateTimeField()
    last = models.DateTimeField()

    class Meta(Unseen.Meta):
        abstract = True


class TrafficRollUp(RollUp):
    """Sums of network traffic events."""

    rx_bytes = models.BigIntegerField()
    tx_bytes = models.BigIntegerField()
    flows = models.BigIntegerField()
    drops = models.BigIntegerField()


class ProxyRollUp(RollUp):
    """Sums of proxy access log entries."""

    bytes_upload = models.BigIntegerField()
    bytes_download = models.BigIntegerField()
    failures = models.BigIntegerField()


class RollUpMark(Unseen):
    """Which of a stream's events are in its roll-ups.

    Those up to an arrival number are in the sums of their hours, and in those of the wider
    spans that end before `until`.
    """

    stream = models.TextField(primary_key=True)
    arrival = models.BigIntegerField()
    until = models.BigIntegerField(default=0, help_text="seconds since 1970")


class RollUpGap(Unseen):
    """A day whose roll-ups are not right, so that its events themselves are asked."""

    stream = models.TextField()
    day = models.DateField()

    class Meta(Unseen.Meta):
        constraints = [
            models.UniqueConstraint(fields=["stream", "day"], name="roll_up_gap_key")
        ]
