"""Explorer of the network traffic."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat

from events.admin.chartfilters import SEARCH, one_of, same
from events.admin.readonly import StreamAdmin
from events.models import TrafficEvent
from events.streams.subjects import TRAFFIC_SUBJECT
from events.streams.traffic import CONNECTIONS, DIRECTIONS, KIND_BITS


class TypeFilter(admin.SimpleListFilter):
    """Flows with an event of a type."""

    title = "type"
    parameter_name = "type"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the types."""
        return [(kind, kind) for kind in KIND_BITS]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Keep what has the chosen type."""
        bit = KIND_BITS.get(self.value() or "")
        if bit is None:
            return queryset
        every = 1 << len(KIND_BITS)
        return queryset.filter(kinds__in=[bits for bits in range(every) if bits & bit])


@admin.register(TrafficEvent)
class TrafficEventAdmin(StreamAdmin):
    """Who reached what."""

    subject = TRAFFIC_SUBJECT
    summary_url_name = "network-traffic-summary"
    chart_filters = {
        **SEARCH,
        "protocol__exact": ("protocol", same),
        "direction__exact": ("direction", one_of(DIRECTIONS)),
        "connection_type__exact": ("connection_type", one_of(CONNECTIONS)),
        "type": ("type", same),
    }
    time_field = "time"
    date_hierarchy = "time"
    list_display = (
        "time",
        "source_address",
        "destination_address",
        "protocol",
        "direction",
        "connection_type",
        "received",
        "sent",
        "drops",
    )
    list_filter = ("protocol", "direction", "connection_type", TypeFilter)

    @admin.display(description="received", ordering="rx_bytes")
    def received(self, row: TrafficEvent) -> str:
        """Show received bytes."""
        return filesizeformat(row.rx_bytes)

    @admin.display(description="sent", ordering="tx_bytes")
    def sent(self, row: TrafficEvent) -> str:
        """Show sent bytes."""
        return filesizeformat(row.tx_bytes)
