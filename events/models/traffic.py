"""Network traffic events as they are stored."""

from django.db import models

from events.models.readonly import ReadOnlyModel
from events.vocabulary import CONNECTIONS, DIRECTIONS, PROTOCOL_NAMES


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


class TrafficTally(models.Model):
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

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(
                fields=["day", "protocol", "direction", "connection_type", "kinds"],
                name="traffic_tally_key",
            )
        ]

    def __str__(self) -> str:
        return f"{self.day}: {self.rows}"
