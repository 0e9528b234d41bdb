"""What groups hold: machines, networks behind routing peers, and the resources in them."""

from typing import Any, Final

from django.conf import settings
from django.db import models

from events.audit.audited import AuditedModel, AuditedQuerySet
from meshmgmt.core import clock, context
from meshmgmt.core.ids import ID_LENGTH
from meshmgmt.core.transactions import account_write
from meshmgmt.inventory.signals import peers_deleting, resources_deleting, tell_deletion


class NetworkQuerySet(AuditedQuerySet["Network"]):
    """Deletes networks after the resources in them."""

    def delete(self) -> tuple[int, dict[str, int]]:
        """Delete the networks and what is in them, in one write."""
        with account_write():
            networks = list(self.order_by("pk"))
            # One by one: each is the reason for what becomes of its own resources.
            for network in networks:
                network.delete()
            return len(networks), {Network._meta.label: len(networks)}

    delete.alters_data = True  # type: ignore[attr-defined]
    delete.queryset_only = True  # type: ignore[attr-defined]


class Network(AuditedModel):
    """A network that routing peers make reachable."""

    name = models.CharField(max_length=255)
    description = models.CharField(max_length=1000, blank=True)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    objects = NetworkQuerySet.as_manager()  # type: ignore[misc]  # narrows the base's

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Delete the network and what is in it, in one write."""
        reason = f"network {self.name!r} was deleted"
        with account_write(), context.scope(reason=reason):
            # Not left to the cascade, which would tell nobody who lists them.
            NetworkResource.objects.filter(network=self).delete()
            return super().delete(*args, **kwargs)


class ResourceType(models.TextChoices):
    HOST = "host"
    SUBNET = "subnet"
    DOMAIN = "domain"


class NetworkResourceQuerySet(AuditedQuerySet["NetworkResource"]):
    """Deletes resources together with what refers to them."""

    def delete(self) -> tuple[int, dict[str, int]]:
        """Take the resources out of their lists, then delete them, in one write."""
        with account_write():
            names = dict(self.order_by().values_list("pk", "name"))
            tell_deletion(resources_deleting, "resource", names)
            return super().delete()

    delete.alters_data = True  # type: ignore[attr-defined]
    delete.queryset_only = True  # type: ignore[attr-defined]


class NetworkResource(AuditedModel):
    """A host, a subnet or a domain inside a network."""

    network = models.ForeignKey(
        Network, on_delete=models.CASCADE, related_name="resources"
    )
    name = models.CharField(max_length=255)
    description = models.CharField(max_length=1000, blank=True)
    type = models.CharField(max_length=6, choices=ResourceType.choices)
    address = models.CharField(max_length=255)
    enabled = models.BooleanField(default=True)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    objects = NetworkResourceQuerySet.as_manager()  # type: ignore[misc]  # narrows the base's

    class Meta(AuditedModel.Meta):
        constraints = [
            models.UniqueConstraint(fields=["name"], name="resource_name_unique")
        ]

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Take the resource out of its lists, then delete it, in one write."""
        with account_write():
            tell_deletion(resources_deleting, "resource", {self.pk: self.name})
            return super().delete(*args, **kwargs)


MACHINE: Final = (
    *("hostname", "os", "kernel_version", "version", "ui_version", "serial_number"),
)
"""Columns of what a machine reports that everybody is shown."""
REPORTED: Final = (
    *("os_version", "go_os", "kernel", "platform", "product_name", "manufacturer"),
    *("environment", "files", "capabilities", "sync_message_version", "ssh_key"),
)
"""Columns of what else it reports, beside its network addresses."""
CONNECTION: Final = (
    *("connected", "last_seen", "last_login", "connection_ip", "country_code"),
    *("city_name", "geoname_id"),
)
SWITCHES: Final = (
    *("ssh_enabled", "login_expiration_enabled", "inactivity_expiration_enabled"),
    *("login_expired", "approval_required", "ephemeral"),
)


class PeerQuerySet(AuditedQuerySet["Peer"]):
    """Deletes peers together with what refers to them."""

    def delete(self) -> tuple[int, dict[str, int]]:
        """Take the peers out of their lists, then delete them, in one write."""
        with account_write():
            names = dict(self.order_by().values_list("pk", "name"))
            tell_deletion(peers_deleting, "peer", names)
            return super().delete()

    delete.alters_data = True  # type: ignore[attr-defined]
    delete.queryset_only = True  # type: ignore[attr-defined]


class Peer(AuditedModel):
    """A machine that runs the client, with its address and its WireGuard key.

    `user` is the person who enrolled it; peers enrolled by a setup key, imported ones and
    those made in the admin may have none. `extra_dns_labels` is a list of labels,
    `local_flags` maps names of `STORED_FLAGS` to booleans (absent: false). Addresses are
    canonical text.

    Machine facts are what the client reports of itself: `go_os` is the name of its Go
    platform (`linux`, `darwin`, `windows`, ...), `network_addresses` is
    `[{"net_ip": "10.0.0.5/24", "mac": "..."}]`, `files` is
    `[{"path", "exist", "process_is_running"}]`, `environment` is `{"cloud", "platform"}`,
    `capabilities` are numbers of the protocol's enum. Neither these nor connection state,
    sign-in time and place are audited.

    `stream_started` is the start of the stream that `connected` speaks of, in Unix
    nanoseconds; an older stream cannot change it. `stream_process` is who holds it.
    """

    name = models.CharField(max_length=255)
    wg_public_key = models.CharField("WireGuard public key", max_length=44, unique=True)
    ip = models.CharField("IPv4 address", max_length=15, unique=True)
    ipv6 = models.CharField(  # NULL keeps "none" out of the unique index
        "IPv6 address", max_length=39, unique=True, null=True, blank=True
    )
    dns_label = models.CharField("DNS label", max_length=63, unique=True)
    extra_dns_labels = models.JSONField("extra DNS labels", default=list, blank=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        # Peers go first, by `user_deleting`: a cascade would tell nobody who lists them.
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="peers",
    )
    # No foreign key: setup keys are of a room above, and what is deleted is told still.
    setup_key_id = models.CharField(max_length=ID_LENGTH, blank=True, editable=False)
    setup_key_name = models.CharField(max_length=255, blank=True, editable=False)
    hostname = models.CharField(max_length=255, blank=True)
    os = models.CharField("operating system", max_length=255, blank=True)
    os_version = models.CharField("version of it", max_length=255, blank=True)
    go_os = models.CharField("platform", max_length=64, blank=True)
    kernel = models.CharField(max_length=255, blank=True)
    kernel_version = models.CharField(max_length=255, blank=True)
    platform = models.CharField("processor", max_length=255, blank=True)
    version = models.CharField("client version", max_length=64, blank=True)
    ui_version = models.CharField("UI version", max_length=64, blank=True)
    serial_number = models.CharField(max_length=255, blank=True)
    product_name = models.CharField(max_length=255, blank=True)
    manufacturer = models.CharField(max_length=255, blank=True)
    environment = models.JSONField(default=dict, blank=True)
    network_addresses = models.JSONField(default=list, blank=True)
    files = models.JSONField(default=list, blank=True)
    capabilities = models.JSONField(default=list, blank=True)
    sync_message_version = models.PositiveIntegerField(default=0)
    ssh_key = models.TextField("SSH public key", blank=True, editable=False)
    ssh_enabled = models.BooleanField("SSH server enabled", default=False)
    login_expiration_enabled = models.BooleanField(default=False)
    inactivity_expiration_enabled = models.BooleanField(default=False)
    login_expired = models.BooleanField(default=False)
    approval_required = models.BooleanField(default=False)
    disapproval_reason = models.CharField(max_length=255, blank=True)
    ephemeral = models.BooleanField(default=False)
    allow_extra_dns_labels = models.BooleanField(
        "may have extra DNS labels", default=False, editable=False
    )
    local_flags = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(default=clock.now, editable=False)
    connected = models.BooleanField(default=False)
    stream_started = models.BigIntegerField(default=0, editable=False)
    stream_process = models.CharField(
        max_length=ID_LENGTH, blank=True, editable=False, db_index=True
    )
    last_seen = models.DateTimeField(null=True, blank=True)
    last_login = models.DateTimeField(null=True, blank=True)
    connection_ip = models.CharField("connects from", max_length=39, blank=True)
    country_code = models.CharField(max_length=2, blank=True)
    city_name = models.CharField(max_length=128, blank=True)
    geoname_id = models.PositiveIntegerField("GeoNames id", default=0)

    objects = PeerQuerySet.as_manager()  # type: ignore[misc]  # narrows the base's

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Take the peer out of its lists, then delete it, in one write."""
        with account_write():
            tell_deletion(peers_deleting, "peer", {self.pk: self.name})
            return super().delete(*args, **kwargs)
