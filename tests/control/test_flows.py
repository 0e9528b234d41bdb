"""Traffic that peers report over their streams."""

import datetime as dt
import ipaddress
import uuid
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st

from events.models import TrafficEvent
from meshmgmt.control.protocol import flow_pb2 as pb
from meshmgmt.control.services.flows import (
    MAX_COUNTER,
    check_flow_token,
    flow_token,
    make_token,
    peer_of_token,
    store_flows,
    traffic_event,
)
from meshmgmt.control.services.refusals import Code
from meshmgmt.core import clock
from meshmgmt.inventory.models import Peer
from meshmgmt.inventory.services.peers import peer_delete
from observability.metrics import instruments
from tests.control.machines import refusal_of
from tests.factories import account_settings, peer, resource
from tests.people import api_as, person

pytestmark = pytest.mark.django_db


def stamp(moment: dt.datetime) -> Timestamp:
    made = Timestamp()
    made.FromDatetime(moment)
    return made


def flow(source: str = "100.64.0.1", dest: str = "100.64.0.2", **facts: Any) -> Any:
    """Return what clients report of a window; `fields` are those of the flow."""
    end = clock.now() - dt.timedelta(seconds=1)
    fields = {
        "flow_id": uuid.uuid4().bytes,
        "direction": pb.Direction.EGRESS,
        "protocol": 6,
        "source_ip": ipaddress.ip_address(source).packed,
        "dest_ip": ipaddress.ip_address(dest).packed,
        "port_info": {"source_port": 44070, "dest_port": 7000},
        "rx_packets": 12,
        "tx_packets": 12,
        "rx_bytes": 4832,
        "tx_bytes": 1656,
        "num_of_starts": 2,
        "num_of_ends": 2,
        **facts.pop("fields", {}),
    }
    values = {
        "event_id": uuid.uuid4().bytes,
        "timestamp": stamp(end),
        "window_start": stamp(end - dt.timedelta(seconds=2)),
        "window_end": stamp(end),
        "flow_fields": fields,
        **facts,
    }
    return pb.FlowEvent(**values)


def shown() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (
        api_as("owner").get("/api/events/network-traffic").json["data"]
    )
    return found


def authorization(peer_id: str) -> str:
    payload, signature = flow_token(peer_id)
    return f"Bearer {signature}.{payload}"


def test_report_is_read_by_the_api_with_names_and_users():
    owner = person("user", email="ann@mesh.dev")
    one = peer("laptop", user=owner, ip="100.64.0.1")
    two = peer("database", ip="100.64.0.2")
    event = flow(fields={"rule_id": b"policy-1"})
    assert store_flows(one.pk, [event]) == [event.event_id]

    (stored,) = shown()
    ids = event.event_id, event.flow_fields.flow_id
    shown_ids = (stored["id"], stored["flow_id"])
    assert shown_ids == tuple(str(uuid.UUID(bytes=each)) for each in ids)
    said: dict[str, Any] = {"reporter_id": one.pk, "direction": "EGRESS", "events": []}
    said |= {"rx_bytes": 4832, "tx_packets": 12, "num_of_starts": 2, "num_of_drops": 0}
    assert stored | said == stored
    source, to = stored["source"], stored["destination"]
    laptop = (one.pk, "laptop", "100.64.0.1:44070")
    assert (source["id"], source["name"], source["address"]) == laptop
    assert (to["id"], to["address"]) == (two.pk, "100.64.0.2:7000")
    assert stored["user"]["email"] == "ann@mesh.dev"
    assert stored["policy"]["id"] == "policy-1"


def test_same_event_sent_again_is_acknowledged_and_stored_once():
    one = peer()
    event = flow()
    assert store_flows(one.pk, [event, event]) == [event.event_id] * 2
    assert store_flows(one.pk, [event]) == [event.event_id]
    assert TrafficEvent.objects.count() == 1


def test_both_ends_of_a_flow_are_kept():
    one, two = peer(), peer()
    store_flows(one.pk, [flow()])
    store_flows(two.pk, [flow(fields={"direction": pb.Direction.INGRESS})])
    assert {event["reporter_id"] for event in shown()} == {one.pk, two.pk}


def test_reporter_is_who_sends_whatever_the_event_says():
    one, other = peer(), peer()
    store_flows(one.pk, [flow(public_key=other.wg_public_key.encode())])
    assert [event["reporter_id"] for event in shown()] == [one.pk]


def test_old_clients_report_each_start_end_and_drop():
    one = peer()
    now = clock.now()
    fields = {"type": pb.Type.TYPE_DROP, "num_of_starts": 0, "num_of_ends": 0}
    event = flow(timestamp=stamp(now), fields=fields)
    for name in ("window_start", "window_end"):
        event.ClearField(name)
    store_flows(one.pk, [event])
    (stored,) = shown()
    assert [inner["type"] for inner in stored["events"]] == ["TYPE_DROP"]


def test_traffic_to_a_resource_names_it():
    one = peer(ip="100.64.0.1")
    lan = resource("printer", address="192.168.1.9/32")
    fields = {"dest_resource_id": f"{lan.pk}:{one.pk}".encode()}
    store_flows(one.pk, [flow(dest="192.168.1.9", fields=fields)])
    to = shown()[0]["destination"]
    assert (to["id"], to["name"], to["type"]) == (lan.pk, "printer", "HOST_RESOURCE")


@pytest.mark.parametrize("named", [b"nobody-knows-it", b"0" * 20, b"\0", b"\xff" * 20])
def test_unknown_resource_is_left_to_its_address(named: bytes):
    one = peer()
    fields = {"dest_resource_id": named}
    store_flows(one.pk, [flow(dest="192.168.1.9", fields=fields)])
    to = shown()[0]["destination"]
    assert (to["id"], to["type"]) == ("", "UNKNOWN")


def test_absurd_numbers_are_bounded():
    one = peer()
    fields = {"rx_bytes": 10**19, "tx_bytes": 2**64 - 1, "num_of_drops": 2**63}
    store_flows(one.pk, [flow(fields=fields), flow(fields=fields)])
    for event in shown():
        assert {event[name] for name in fields} == {MAX_COUNTER}


FAULTY = {
    "no id": flow(event_id=b""),
    "short id": flow(event_id=b"x"),
    "no address": flow(fields={"source_ip": b""}),
    "wrong address": flow(fields={"dest_ip": b"12345"}),
    "port": flow(fields={"port_info": {"dest_port": 70_000}}),
    "protocol": flow(fields={"protocol": 4_000_000_000}),
    "far future": flow(window_end=Timestamp(seconds=253_402_300_799)),
    "no time": flow(window_end=Timestamp(seconds=-62_135_596_801)),
    "far past": flow(window_end=Timestamp(seconds=1), window_start=Timestamp()),
}


@pytest.mark.parametrize("faulty", FAULTY.values(), ids=FAULTY)
def test_faulty_event_is_counted_acknowledged_and_costs_no_other(faulty: Any):
    one = peer()
    counter = instruments.counter("mesh.flows.refused.total")
    before = counter._value.get()
    good = [flow(), flow()]
    batch = [good[0], faulty, good[1]]
    assert store_flows(one.pk, batch) == [event.event_id for event in batch]
    assert counter._value.get() == before + 1
    kept = {event["id"] for event in shown()}
    assert kept == {str(uuid.UUID(bytes=event.event_id)) for event in good}


def test_id_used_again_for_another_time_is_refused_alone():
    one = peer()
    first = flow()
    store_flows(one.pk, [first])
    clash = flow(event_id=first.event_id, window_end=stamp(clock.now()))
    store_flows(one.pk, [clash, flow()])
    assert TrafficEvent.objects.count() == 2


def test_account_may_keep_no_traffic():
    account_settings(network_traffic_logs_enabled=False)
    one = peer()
    event = flow()
    assert store_flows(one.pk, [event]) == [event.event_id]
    assert TrafficEvent.objects.count() == 0


def test_token_names_its_peer():
    one = peer()
    assert check_flow_token(authorization(one.pk)) == one.pk


def test_token_ends():
    said = authorization(peer().pk)
    with clock.set_to(clock.now() + dt.timedelta(hours=25)):
        assert refusal_of(check_flow_token, said).code == Code.UNAUTHENTICATED


def test_deleted_peer_reports_nothing():
    one = peer()
    said = authorization(one.pk)
    peer_delete(peer_id=one.pk)
    for call in (check_flow_token, lambda _: store_flows(one.pk, [flow()])):
        assert refusal_of(call, said).code == Code.UNAUTHENTICATED
    assert not Peer.objects.exists()
    assert TrafficEvent.objects.count() == 0


@given(st.text(alphabet="0123456789abcdefghijklmnopqrstuv", min_size=20, max_size=20))
def test_only_the_maker_of_a_token_can_make_it(peer_id: str):
    payload, signature = make_token(peer_id, 1000, "secret")
    assert peer_of_token(f"Bearer {signature}.{payload}", 999, "secret") == peer_id
    assert peer_of_token(f"Bearer {signature}.{payload}", 1000, "secret") is None
    assert peer_of_token(f"Bearer {signature}.{payload}", 999, "other") is None
    _, wrong = make_token(peer_id, 1001, "secret")
    assert peer_of_token(f"Bearer {wrong}.{payload}", 999, "secret") is None


@given(st.text() | st.from_regex(r"Bearer [\w.=-]{0,60}"))
def test_other_texts_are_no_tokens(text: str):
    assert peer_of_token(text, 0, "secret") is None


events = st.builds(
    pb.FlowEvent,
    event_id=st.binary(max_size=17),
    window_end=st.none() | st.builds(Timestamp, seconds=st.integers(-(2**62), 2**62)),
    timestamp=st.none() | st.builds(Timestamp, nanos=st.integers(-(2**31), 2**31 - 1)),
    flow_fields=st.builds(
        pb.FlowFields,
        type=st.integers(0, 9),
        direction=st.integers(0, 9),
        source_ip=st.binary(max_size=17),
        dest_ip=st.sampled_from([b"\1\2\3\4", b"\0" * 16]),
        rule_id=st.binary(max_size=200),
        dest_resource_id=st.binary(max_size=200),
        rx_bytes=st.integers(0, 2**64 - 1),
    ),
)


@given(events)
def test_any_event_is_converted_or_refused(event: pb.FlowEvent):
    try:
        made = traffic_event("me", event, ())
    except ValueError:
        return
    assert made["reporter_id"] == "me"
    assert made["rx_bytes"] <= MAX_COUNTER
