"""Explorer of the network traffic."""

from typing import Any, Final

from django.contrib import admin
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from events.admin.cells import NOTHING, Fact, joined, named, only, plain, shown_size
from events.admin.explorer import Explorer
from events.admin.here import Here, link_to
from events.admin.inputs import shown_word
from events.admin.names import Kinds
from events.admin.objectpages import ObjectPage, ObjectPages
from events.admin.pageparts import TIME, Column, View
from events.api.filters import TrafficFilterSet
from events.api.streams import TrafficEventsView
from events.models import TrafficEvent
from events.vocabulary import CONNECTIONS, DIRECTIONS, PROTOCOL_NAMES
from meshmgmt.core import clock
from meshmgmt.core.addresses import port_of

_END: Final = Kinds("peer or resource", ("peer", "networkresource"))


def protocols() -> dict[str, str]:
    return {str(number): name for number, name in PROTOCOL_NAMES.items()}


@admin.register(TrafficEvent)
class TrafficEventAdmin(Explorer):
    """Who reached what."""

    filterset_class = TrafficFilterSet
    api_view = TrafficEventsView
    summary_url_name = "network-traffic-summary"
    columns = (
        TIME,
        Column("source", "Source"),
        Column("destination", "Destination"),
        Column("protocol", "Protocol"),
        Column("direction", "Direction"),
        Column("received", "Received"),
        Column("sent", "Sent"),
        Column("drops", "Drops"),
        Column("policy", "Policy"),
    )
    filters = ("type", "source", "destination", "protocol", "direction", "search")
    more_filters = ("user_id", "policy_id", "connection_type", "reporter_id")
    suggestions = {"protocol": protocols}
    named = {
        "source": _END,
        "destination": _END,
        "user_id": Kinds("user", ("user",)),
        "policy_id": Kinds("policy", ("policy",)),
        "reporter_id": Kinds("peer", ("peer",)),
        "protocol": Kinds("protocol"),
    }

    def views(self) -> list[View]:
        today = {"start_date": clock.now().date().isoformat()}
        dropped = today | {"type": "TYPE_DROP", "metric": "drops"}
        return [
            View("Dropped today, top peers", dropped | {"group_by": "source"}),
            View("Dropped today, by policy", dropped | {"group_by": "policy"}),
            View("Most traffic today, by user", today | {"group_by": "user"}),
            View("Last hour", {"start_date": "-1h"}),
        ]

    def cells(self, row: TrafficEvent, here: Here) -> list[SafeString]:
        content = row.content
        direction = DIRECTIONS[row.direction]
        connection = CONNECTIONS[row.connection_type]
        protocol = PROTOCOL_NAMES.get(row.protocol, "")
        return [
            _end(here, row, content, "source"),
            _end(here, row, content, "destination"),
            only(here, "protocol", row.protocol, protocol or str(row.protocol)),
            only(
                here, "direction", direction, shown_word(direction).lower(), connection
            ),
            plain(shown_size(row.rx_bytes)),
            plain(shown_size(row.tx_bytes)),
            _drops(here, row, content),
            only(here, "policy_id", row.policy_id, content["policy"]["name"]),
        ]

    def names(self, row: TrafficEvent) -> dict[str, str]:
        content = row.content
        ends = {side: content[side]["name"] for side in ("source", "destination")}
        return {
            **ends,
            **{f"{side}_id": name for side, name in ends.items()},
            "user_id": content["user"]["name"] or content["user"]["email"],
            "policy_id": content["policy"]["name"],
            "protocol": PROTOCOL_NAMES.get(row.protocol, ""),
        }

    def facts(self, row: TrafficEvent, pages: ObjectPages) -> list[Fact]:
        content = row.content
        user, policy = content["user"], content["policy"]
        ends = content["source"], content["destination"]
        ids = {row.reporter_id, user["id"], policy["id"], *(end["id"] for end in ends)}
        known = pages.of_ids(ids)
        counted = "{num_of_starts} starts, {num_of_ends} ends, {num_of_drops} drops"
        icmp = "type {type}, code {code}".format(**content["icmp"])
        amount = "{} in {} packets"
        return [
            Fact("Window", f"{content['window_start']} to {content['window_end']}"),
            Fact("Source", _end_fact(known, ends[0])),
            Fact("Destination", _end_fact(known, ends[1])),
            Fact("User", joined(named(known, user["id"], user["name"]), user["email"])),
            Fact("Policy", named(known, policy["id"], policy["name"])),
            Fact("Reported by", named(known, row.reporter_id)),
            Fact("Protocol", PROTOCOL_NAMES.get(row.protocol, str(row.protocol))),
            Fact("ICMP", icmp if row.protocol == 1 else ""),
            Fact("Direction", shown_word(content["direction"])),
            Fact("Connection", content["connection_type"]),
            Fact(
                "Received",
                amount.format(shown_size(row.rx_bytes), content["rx_packets"]),
            ),
            Fact(
                "Sent", amount.format(shown_size(row.tx_bytes), content["tx_packets"])
            ),
            Fact("Counted", counted.format(**content)),
            Fact("Dropped", _why(row, content, "Why was this dropped?")),
            Fact("Events", _inner(content["events"])),
            Fact("Arrived", content["receive_timestamp"]),
            Fact("Flow", plain(content["flow_id"])),
        ]

    def ways(self, row: TrafficEvent) -> dict[str, tuple[str, str]]:
        source = row.source_id or row.source_address
        destination = row.destination_id or row.destination_address
        return {
            "all from this source": ("source", source),
            "all to this destination": ("destination", destination),
            "all of this user": ("user_id", row.user_id),
            "all of this policy": ("policy_id", row.policy_id),
        }


def _end(
    here: Here, row: TrafficEvent, content: dict[str, Any], side: str
) -> SafeString:
    end = content[side]
    # What summaries group by, and the filter takes.
    key = getattr(row, f"{side}_id") or getattr(row, f"{side}_address")
    return only(here, side, key, end["name"] or key, end["address"])


def _drops(here: Here, row: TrafficEvent, content: dict[str, Any]) -> SafeString:
    if not row.drops:
        return NOTHING
    count = only(here, "type", "TYPE_DROP", row.drops)
    return format_html("{} {}", count, _why(row, content, "why?"))


def _why(row: TrafficEvent, content: dict[str, Any], text: str) -> SafeString | str:
    """A link that asks for a dropped flow, as of then; "" where no peer began it."""
    if not row.drops or content["source"]["type"] != "PEER":
        return ""
    protocol = PROTOCOL_NAMES.get(row.protocol, "all").lower()
    has_ports = protocol in ("tcp", "udp")
    question = {
        "source": row.source_address or row.source_id,
        "destination": row.destination_address or row.destination_id,
        "protocol": protocol,
        "port": port_of(content["destination"]["address"]) if has_ports else "",
        "at": content["window_start"] or content["window_end"],
    }
    link = f"{reverse('admin-reach')}{link_to(question)}"
    return format_html('<a href="{}">{}</a>', link, text)


def _end_fact(known: dict[str, ObjectPage], end: dict[str, Any]) -> SafeString:
    place = end["geo_location"]
    return joined(
        named(known, end["id"], end["name"]),
        plain(end["address"]),
        shown_word(end["type"]),
        plain(end["dns_label"]),
        plain(end["os"]),
        plain(place["city_name"]),
        plain(place["country_code"]),
    )


def _inner(events: list[dict[str, str]]) -> SafeString:
    lines = ((shown_word(event["type"]), event["timestamp"]) for event in events)
    return format_html_join("", "<div>{} {}</div>", lines)
