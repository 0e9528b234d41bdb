"""Pages of networks, their resources and routers: written by this room's services."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from groups.models import GroupPeer
from groups.selectors import groups_of_resources
from meshmgmt.access.admin.fields import KeyField, groups_field
from meshmgmt.access.models import Router, RouterPeerGroup
from meshmgmt.access.rules.networks import NetworkDraft, ResourceDraft
from meshmgmt.access.rules.routes import RouterDraft
from meshmgmt.access.services.networks import (
    network_create,
    network_delete,
    network_update,
    resource_create,
    resource_delete,
    resource_update,
    router_create,
    router_delete,
    router_update,
)
from meshmgmt.adminsite.bulk import SWITCH
from meshmgmt.adminsite.fields import OrderedListField
from meshmgmt.adminsite.look import enabled
from meshmgmt.adminsite.pages import ServiceAdmin, ServiceForm, number_of
from meshmgmt.inventory.models import Network, NetworkResource


class NetworkForm(ServiceForm):
    name = forms.CharField(required=False, strip=False)

    class Meta:
        model = Network
        fields = ["name", "description"]

    def apply(self, data: dict[str, Any]) -> Network:
        if self.adding:
            return network_create(draft=NetworkDraft(**data))
        return network_update(network_id=self.instance.pk, changes=data)


@admin.register(Network)
class NetworkAdmin(ServiceAdmin):
    form = NetworkForm
    list_display = [
        *("name", "description"),
        number_of("resources", "resources"),
        number_of("routers", "routers"),
    ]
    search_fields = ["name", "description", "=id"]
    ordering = ["id"]
    readonly_fields = ["all_resources", "all_routers", "id", "created_at"]

    @admin.display(description="resources")
    def all_resources(self, network: Network) -> SafeString:
        return _inside("inventory_networkresource", network, network.resources.count())

    @admin.display(description="routers")
    def all_routers(self, network: Network) -> SafeString:
        return _inside("access_router", network, network.routers.count())

    def delete_object(self, instance: Network) -> None:
        network_delete(network_id=instance.pk)


def _inside(model: str, network: Network, count: int) -> SafeString:
    return format_html(
        '<a href="{}?network__id__exact={}">{} of them</a> ·'
        ' <a href="{}?network={}">Add one</a>',
        reverse(f"admin:{model}_changelist"),
        network.pk,
        count,
        reverse(f"admin:{model}_add"),
        network.pk,
    )


class InNetworkForm(ServiceForm):
    """A form of something that lies in a network for good."""

    def network_of(self, data: dict[str, Any]) -> str:
        """Take the network out of `data` and return its id."""
        chosen = str(data.pop("network", ""))
        return chosen if self.adding else str(self.instance.network_id)


class InNetworkAdmin(ServiceAdmin):
    """Pages of something that lies in a network for good."""

    ordering = ["id"]
    part_of = "network"

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the fields; a new object has no id yet."""
        own = ["network", *self.own_fields]
        return own if obj is None else [*own, "id", "created_at"]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return [] if obj is None else ["network", "id", "created_at"]

    own_fields: tuple[str, ...] = ()


class ResourceForm(InNetworkForm):
    network = KeyField(NetworkResource._meta.get_field("network"))
    name = forms.CharField(required=False, strip=False)
    address = forms.CharField(
        required=False, help_text="An address, a network or a domain."
    )
    # The list is of resources by group; its other end knows where groups are found.
    groups = OrderedListField(GroupPeer._meta.get_field("group"))

    class Meta:
        model = NetworkResource
        fields = ["name", "description", "address", "enabled"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.adding:
            pk = self.instance.pk
            groups = groups_of_resources([pk]).get(pk, [])
            self.initial.setdefault("groups", groups)

    def apply(self, data: dict[str, Any]) -> NetworkResource:
        network = self.network_of(data)
        if self.adding:
            return resource_create(network_id=network, draft=ResourceDraft(**data))
        return resource_update(
            network_id=network, resource_id=self.instance.pk, changes=data
        )


@admin.register(NetworkResource)
class NetworkResourceAdmin(InNetworkAdmin):
    form = ResourceForm
    list_display = ["name", "network", "type", "address", enabled]
    list_filter = ["type", "enabled"]
    list_select_related = ["network"]
    search_fields = ["name", "address", "network__name", "=id"]
    own_fields = ("name", "description", "address", "enabled", "groups")
    bulk = SWITCH

    def set_enabled(self, instance: Any, *, enabled: bool) -> None:
        resource_update(
            network_id=instance.network_id,
            resource_id=instance.pk,
            changes={"enabled": enabled},
        )

    def delete_object(self, instance: NetworkResource) -> None:
        resource_delete(network_id=instance.network_id, resource_id=instance.pk)


class RouterForm(InNetworkForm):
    network = KeyField(Router._meta.get_field("network"))
    peer = KeyField(Router._meta.get_field("peer"))
    peer_groups = groups_field(
        RouterPeerGroup, help_text="Instead of a peer: groups whose peers forward."
    )

    class Meta:
        model = Router
        fields = ["metric", "masquerade", "enabled"]

    lists = {"peer_groups": RouterPeerGroup}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial.setdefault("peer", self.instance.peer_id)

    def apply(self, data: dict[str, Any]) -> Router:
        network = self.network_of(data)
        if self.adding:
            return router_create(network_id=network, draft=RouterDraft(**data))
        return router_update(
            network_id=network, router_id=self.instance.pk, changes=data
        )


@admin.register(Router)
class RouterAdmin(InNetworkAdmin):
    form = RouterForm
    list_display = ["network", "peer", "metric", "masquerade", enabled]
    list_filter = ["enabled", "masquerade"]
    list_select_related = ["network", "peer"]
    search_fields = ["network__name", "peer__name", "=id"]
    own_fields = ("peer", "peer_groups", "metric", "masquerade", "enabled")
    bulk = SWITCH

    def set_enabled(self, instance: Any, *, enabled: bool) -> None:
        router_update(
            network_id=instance.network_id,
            router_id=instance.pk,
            changes={"enabled": enabled},
        )

    def delete_object(self, instance: Router) -> None:
        router_delete(network_id=instance.network_id, router_id=instance.pk)
