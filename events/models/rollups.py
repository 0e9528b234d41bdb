"""Sums of the streams by hour, day and week, and how far they reach."""

from django.db import models


class RollUp(models.Model):
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

    class Meta:
        abstract = True
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.family}, {self.start}, {self.key}: {self.events}"


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


class RollUpMark(models.Model):
    """Which of a stream's events are in its roll-ups.

    Those up to an arrival number are in the sums of their hours, and in those of the wider
    spans that end before `until`.
    """

    stream = models.TextField(primary_key=True)
    arrival = models.BigIntegerField()
    until = models.BigIntegerField(default=0, help_text="seconds since 1970")

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.stream}: {self.arrival}"


class RollUpGap(models.Model):
    """A day whose roll-ups are not right, so that its events themselves are asked."""

    stream = models.TextField()
    day = models.DateField()

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["stream", "day"], name="roll_up_gap_key")
        ]

    def __str__(self) -> str:
        return f"{self.stream}: {self.day}"
