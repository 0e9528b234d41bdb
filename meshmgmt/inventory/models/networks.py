"""Networks behind routing peers, and the resources in them."""

from typing import Any

from django.db import models

from events.audit.audited import AuditedModel, AuditedQuerySet
from meshmgmt.core import clock, context
from meshmgmt.core.transactions import account_write
from meshmgmt.inventory.signals import resources_deleting, tell_deletion


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

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return self.name

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

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["name"], name="resource_name_unique")
        ]

    def __str__(self) -> str:
        return self.name

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Take the resource out of its lists, then delete it, in one write."""
        with account_write():
            tell_deletion(resources_deleting, "resource", {self.pk: self.name})
            return super().delete(*args, **kwargs)
