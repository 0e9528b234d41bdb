"""Pages of routes."""

from django import forms
from django.contrib import admin

from meshmgmt.access.admin.fields import KeyField, groups_field
from meshmgmt.access.models import (
    Route,
    RouteAccessControlGroup,
    RouteGroup,
    RoutePeerGroup,
)
from meshmgmt.access.services.routes import routes
from meshmgmt.adminsite.bulk import SWITCH
from meshmgmt.adminsite.fields import LinesField
from meshmgmt.adminsite.look import enabled
from meshmgmt.adminsite.pages import ServiceAdmin, ServiceForm, number_of


class RouteForm(ServiceForm):
    resource = routes

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
