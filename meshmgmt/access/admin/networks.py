"""Pages of routes, and of networks with their resources and routers."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from groups.models import GroupPeer
from groups.selectors import groups_of_resources
from meshmgmt.access.admin.fields import KeyField, groups_field
from meshmgmt.access.models import (
    Route,
    RouteAccessControlGroup,
    RouteGroup,
    RoutePeerGroup,
    Router,
    RouterPeerGroup,
)
from meshmgmt.access.services import networks as services
from meshmgmt.adminsite import home
from meshmgmt.adminsite.bulk import SWITCH
from meshmgmt.adminsite.fields import LinesField, OrderedListField
from meshmgmt.adminsite.look import enabled
from meshmgmt.adminsite.pages import ServiceAdmin, ServiceForm, number_of
from meshmgmt.inventory.models import Network, NetworkResource


class RouteForm(ServiceForm):
    resource = services.routes

    network_id = forms.CharField(
        label="Network identifier",
        required=False,
        help_text="Routes of one identifier and destination back each other up.",
    )
    network = forms.CharField(required=False, help_text="Such as 10.1.0.0/16.")
    domains = LinesField(help_text="Instead of a network: one domain per line.")
    peer = KeyField(Route._meta.get_field("peer"))
    groups = groups_field(RouteGroup, help_text="Peers in these groups get the route.")
    peer_groups = groups_field(
        RoutePeerGroup, help_text="Instead of a peer: groups whose peers forward."
    )
    access_control_groups = groups_field(RouteAccessControlGroup)


@admin.register(Route)
class RouteAdmin(ServiceAdmin):
    form = RouteForm
    list_display = [
        *("network_id", "destination", enabled, "peer", "metric", "masquerade"),
        *(number_of("group_links", "groups"), "created_at"),
    ]
    list_filter = ["enabled", "masquerade", "keep_route"]
    list_select_related = ["peer"]
    search_fields = ["network_id", "network", "description", "peer__name", "=id"]
    readonly_fields = ["id", "created_at"]
    bulk = SWITCH

    @admin.display(description="destination")
    def destination(self, route: Route) -> str:
        return route.network or ", ".join(route.domains)


class NetworkForm(ServiceForm):
    resource = services.networks


@admin.register(Network)
class NetworkAdmin(ServiceAdmin):
    form = NetworkForm
    list_display = [
        *("name", "description"),
        number_of("resources", "resources"),
        number_of("routers", "routers"),
    ]
    search_fields = ["name", "description", "=id"]
    readonly_fields = ["all_resources", "all_routers", "id", "created_at"]

    def get_object(self, request: HttpRequest, *args: Any) -> Network | None:
        """Return the network, told who looks at it."""
        network: Any = super().get_object(request, *args)
        if network is not None:
            network.viewer = request.user
        return network  # type: ignore[no-any-return]

    @admin.display(description="resources")
    def all_resources(self, network: Network) -> SafeString:
        return _inside(NetworkResource, network, network.resources.count())

    @admin.display(description="routers")
    def all_routers(self, network: Network) -> SafeString:
        return _inside(Router, network, network.routers.count())


def _inside(model: type[Model], network: Any, count: int) -> SafeString:
    listed = f"{home.page_url(model, 'changelist')}?network__id__exact={network.pk}"
    link = format_html('<a href="{}">{} of them</a>', listed, count)
    meta = model._meta
    if not network.viewer.has_perm(f"{meta.app_label}.add_{meta.model_name}"):
        return link
    add = f"{home.page_url(model, 'add')}?network={network.pk}"
    return format_html('{} · <a href="{}">Add one</a>', link, add)


class InNetworkAdmin(ServiceAdmin):
    """Pages of something that lies in a network for good."""

    part_of = "network"
    readonly_fields = ["id", "created_at"]
    fixed = ["network"]


class ResourceForm(ServiceForm):
    resource = services.network_resources

    network = KeyField(NetworkResource._meta.get_field("network"))
    address = forms.CharField(
        required=False, help_text="An address, a network or a domain."
    )
    # The list is of resources by group; its other end knows where groups are found.
    groups = OrderedListField(GroupPeer._meta.get_field("group"))

    class Meta:
        exclude = ("type",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.adding:
            pk = self.instance.pk
            groups = groups_of_resources([pk]).get(pk, [])
            self.initial.setdefault("groups", groups)


@admin.register(NetworkResource)
class NetworkResourceAdmin(InNetworkAdmin):
    form = ResourceForm
    list_display = ["name", "network", "type", "address", enabled]
    list_filter = ["type", "enabled"]
    list_select_related = ["network"]
    search_fields = ["name", "address", "network__name", "=id"]
    bulk = SWITCH


class RouterForm(ServiceForm):
    resource = services.routers

    network = KeyField(Router._meta.get_field("network"))
    peer = KeyField(Router._meta.get_field("peer"))
    peer_groups = groups_field(
        RouterPeerGroup, help_text="Instead of a peer: groups whose peers forward."
    )


@admin.register(Router)
class RouterAdmin(InNetworkAdmin):
    form = RouterForm
    list_display = ["network", "peer", "metric", "masquerade", enabled]
    list_filter = ["enabled", "masquerade"]
    list_select_related = ["network", "peer"]
    search_fields = ["network__name", "peer__name", "=id"]
    bulk = SWITCH
