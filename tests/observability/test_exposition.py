"""The text of a scrape: exact names, every family, both dialects."""

import re

import pytest

from observability.metrics import exposition, instruments
from observability.metrics.catalogue import CATALOGUE, SEED, Kind
from observability.metrics.exposition import Family, Sample, single

# The seed's table, written down by hand: name and type.
SEED_TABLE = """
management.grpc.sync.request.counter Counter
management.grpc.login.request.counter Counter
management.grpc.login.request.blocked.counter Counter
management.grpc.connected.streams Gauge
management.grpc.login.request.duration.ms Histogram
management.grpc.sync.request.duration.ms Histogram
management.grpc.updatechannel.queue Histogram
management.grpc.login.request.high.latency.counter Counter
management.http.request.counter Counter
management.http.response.counter Counter
management.http.request.duration.ms Histogram
management.http.request.counter.total Counter
management.http.response.code.total Counter
management.store.global.lock.acquisition.duration.micro Histogram
management.store.global.lock.acquisition.duration.ms Histogram
management.store.persistence.duration.micro Histogram
management.store.transaction.duration.ms Histogram
management.account.update.account.peers.duration.ms Histogram
management.account.get.peer.network.map.duration.ms Histogram
management.account.network.map.object.count Histogram
management.account.peer.meta.update.counter Counter
management.idp.authenticate.request.counter Counter
management.idp.get.user.by.email.counter Counter
management.idp.request.error.counter Counter
management.idp.request.status.error.counter Counter
"""
SEED_ROWS = [tuple(row.split()) for row in SEED_TABLE.split("\n") if row]

# What the reference's exporter prints (reference-api 14.2), by hand.
OTEL_NAMES = {
    "grpc.sync.request.counter": "grpc_sync_request_counter_total",
    "grpc.connected.streams": "grpc_connected_streams_ratio",
    "grpc.login.request.duration.ms": "grpc_login_request_duration_ms_milliseconds",
    "grpc.updatechannel.queue": "grpc_updatechannel_queue_length",
    "http.request.counter": "http_request_counter_total",
    "http.request.counter.total": "http_request_counter_total",
    "http.response.code.total": "http_response_counter_code_total",
    "store.global.lock.acquisition.duration.micro": (
        "store_global_lock_acquisition_duration_micro_microseconds"
    ),
    "account.network.map.object.count": "account_network_map_object_count_objects",
}
"""Without what all begin with: `management.` and `management_`."""


def scrape_of_this_process() -> str:
    own = exposition.from_library(instruments.REGISTRY.collect())
    return exposition.render(exposition.complete(own)).decode()


def test_the_catalogue_is_the_table_of_the_seed():
    assert [(i.name, i.kind.value.capitalize()) for i in SEED] == SEED_ROWS


def test_every_family_of_the_seed_is_printed_under_its_exact_name():
    lines = scrape_of_this_process().splitlines()
    families = [(name.replace(".", "_"), kind.lower()) for name, kind in SEED_ROWS]
    types = [tuple(line.split()[2:]) for line in lines if line.startswith("# TYPE ")]
    assert [row for row in families if types.count(row) != 1] == []
    helped = {line.split()[2] for line in lines if line.startswith("# HELP ")}
    assert {name for name, _ in families} - helped == set()


def test_families_without_labels_start_at_zero():
    families = exposition.complete([])
    assert [f.name for f in families] == [i.exposed for i in CATALOGUE.values()]
    lines = scrape_of_this_process().splitlines()
    for instrument in SEED:
        if not instrument.labels:
            suffix = "_count" if instrument.kind is Kind.HISTOGRAM else ""
            starts = f"{instrument.exposed}{suffix} "
            assert [line for line in lines if line.startswith(starts)], starts


def test_the_two_request_counters_are_two_families():
    instruments.counter("management.http.request.counter").labels("/x", "GET").inc()
    instruments.counter("management.http.request.counter.total").inc()
    text = scrape_of_this_process()
    assert re.search(
        r'^management_http_request_counter\{endpoint="/x",method="GET"\} \d',
        text,
        re.MULTILINE,
    )
    assert re.search(r"^management_http_request_counter_total \d", text, re.MULTILINE)
    assert "_total_total" not in text
    assert "_created" not in text


def test_the_other_dialect_has_the_names_of_the_reference():
    shown = {n: CATALOGUE[f"management.{n}"].exposed_by_otel for n in OTEL_NAMES}
    assert shown == {name: f"management_{text}" for name, text in OTEL_NAMES.items()}


def test_the_other_dialect_joins_what_gets_one_name():
    name = "management_http_request_counter"
    families = [
        single(name, "counter", "a", 1, (("endpoint", "/x"),)),
        single(f"{name}_total", "counter", "b", 1),
        single("mesh_peers", "gauge", "c", 2),
    ]
    text = exposition.render(exposition.to_otel(families)).decode()
    assert text.count("# TYPE management_http_request_counter_total counter") == 1
    assert 'management_http_request_counter_total{endpoint="/x"} 1.0\n' in text
    assert "management_http_request_counter_total 1.0\n" in text
    assert "mesh_peers 2.0\n" in text


def test_histograms_of_the_other_dialect_keep_their_suffixes():
    name = "management_store_transaction_duration_ms"
    family = Family(name, "histogram", "x", [Sample(f"{name}_sum", (), 1)])
    text = exposition.render(exposition.to_otel([family])).decode()
    assert f"{name}_milliseconds_sum 1.0\n" in text


def test_label_values_and_numbers_are_escaped():
    family = single("x", "gauge", "a\nb\\", float("inf"), (("l", 'q"\\\n'),))
    assert exposition.render([family]).decode() == (
        '# HELP x a\\nb\\\\\n# TYPE x gauge\nx{l="q\\"\\\\\\n"} +Inf\n'
    )


def test_unknown_instruments_and_kinds_are_refused():
    with pytest.raises(KeyError):
        instruments.counter("management.nothing")
    with pytest.raises(TypeError, match="is a gauge, not a counter"):
        instruments.counter("management.grpc.connected.streams")
