"""Explorer of the network traffic."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from events.admin.chartfilters import SEARCH, one_of, same
from events.admin.readonly import (
    StreamAdmin,
    shown_second,
    shown_size,
    with_detail,
)
from events.models import TrafficEvent
from events.streams.subjects import TRAFFIC_SUBJECT
from events.vocabulary import CONNECTIONS, DIRECTIONS, KIND_BITS


def kinds_with(kind: str) -> list[int]:
    """Return every value of `kinds` that has the bit of an event type."""
    bit, every = KIND_BITS[kind], 1 << len(KIND_BITS)
    return [bits for bits in range(every) if bits & bit]


class TypeFilter(admin.SimpleListFilter):
    """Flows with an event of a type."""

    title = "type"
    parameter_name = "type"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(kind, kind) for kind in KIND_BITS]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() not in KIND_BITS:
            return queryset
        return queryset.filter(kinds__in=kinds_with(str(self.value())))


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
        "second",
        "source",
        "destination",
        "protocol_name",
        "way",
        "received",
        "sent",
        "drops",
    )
    list_filter = ("protocol", "direction", "connection_type", TypeFilter)

    @admin.display(description="Time (UTC)", ordering="time")
    def second(self, row: TrafficEvent) -> str:
        return shown_second(row.time)

    @admin.display(ordering="source_address")
    def source(self, row: TrafficEvent) -> SafeString | str:
        return _shown_end(row.content["source"])

    @admin.display(ordering="destination_address")
    def destination(self, row: TrafficEvent) -> SafeString | str:
        return _shown_end(row.content["destination"])

    @admin.display(description="Protocol", ordering="protocol")
    def protocol_name(self, row: TrafficEvent) -> str:
        return row.get_protocol_display() or str(row.protocol)

    @admin.display(description="Direction", ordering="direction")
    def way(self, row: TrafficEvent) -> SafeString | str:
        direction = DIRECTIONS[row.direction].removeprefix("DIRECTION_").lower()
        return with_detail(direction, CONNECTIONS[row.connection_type])

    @admin.display(description="Received", ordering="rx_bytes")
    def received(self, row: TrafficEvent) -> str:
        return shown_size(row.rx_bytes)

    @admin.display(description="Sent", ordering="tx_bytes")
    def sent(self, row: TrafficEvent) -> str:
        return shown_size(row.tx_bytes)


def _shown_end(end: dict[str, Any]) -> SafeString | str:
    return with_detail(end["name"] or end["id"], end["address"])
