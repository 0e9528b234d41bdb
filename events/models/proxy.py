"""Reverse proxy access log entries as they are stored."""

from django.db import models

from events.models.readonly import ReadOnlyModel


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


class ProxyTally(models.Model):
    """How many entries of a day share method and status.

    Kept in step with the entries in their own transactions. Methods outside of
    `vocabulary.METHODS` count as "other": clients may send any word as a method.
    """

    day = models.DateField()
    method = models.CharField(max_length=16)
    status_code = models.SmallIntegerField()
    rows = models.BigIntegerField()

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(
                fields=["day", "method", "status_code"], name="proxy_tally_key"
            )
        ]

    def __str__(self) -> str:
        return f"{self.day}: {self.rows}"
