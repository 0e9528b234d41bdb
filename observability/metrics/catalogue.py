"""The instruments of the service: one readable list (seed, Metrics).

An instrument is defined by its dotted OpenTelemetry name, kind and unit, as the seed
writes it; how the name is printed is decided in `observability.metrics.exposition`.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

# Bounds of the reference's OpenTelemetry SDK for histograms without their own.
DEFAULT_BOUNDS: Final = (
    0, 5, 10, 25, 50, 75, 100, 250, 500, 750, 1000, 2500, 5000, 7500, 10000,
)  # fmt: skip
# A lock is had in microseconds when nobody else wants it and waited for up to 20 s.
MICRO_BOUNDS: Final = (
    10, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000,
    250_000, 1_000_000, 5_000_000, 20_000_000,
)  # fmt: skip
FANOUT_BOUNDS: Final = (
    0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 30000,
)  # fmt: skip
MAP_BOUNDS: Final = (0.1, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000)
OBJECT_BOUNDS: Final = (50, 100, 200, 500, 1000, 2500, 5000, 10000)


class Kind(StrEnum):
    """What an instrument does with its measurements."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Instrument:
    """One instrument; `unit` in OpenTelemetry's words, `bounds` of its buckets.

    `otel` is the reference's name where the seed calls the instrument otherwise.
    """

    name: str
    kind: Kind
    help: str
    unit: str = "1"
    labels: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()
    otel: str = ""

    @property
    def exposed(self) -> str:
        """The seed's name in the exposition: dots as underscores, nothing appended."""
        return self.name.replace(".", "_")

    @property
    def library_name(self) -> str:
        """The name in prometheus_client, unlike any other when `_total` is taken off.

        The library ends each counter in `_total`, which would merge
        `management_http_request_counter` and `management_http_request_counter_total`.
        """
        return f"{self.exposed}_exact" if self.kind is Kind.COUNTER else self.exposed

    @property
    def exposed_by_otel(self) -> str:
        """The name the reference's exporter makes of it (reference-api 14.2).

        The unit is appended unless it is a word of the name already, counters end in
        `_total`, and gauges without a unit in `_ratio`.
        """
        words = (self.otel or self.name).split(".")
        if self.unit != "1" and self.unit not in words:
            words.append(self.unit)
        if self.kind is Kind.COUNTER:
            words = [word for word in words if word != "total"] + ["total"]
        if self.kind is Kind.GAUGE and self.unit == "1":
            words.append("ratio")
        return "_".join(words)


def _counter(name: str, text: str, labels: tuple[str, ...] = ()) -> Instrument:
    return Instrument(name, Kind.COUNTER, text, labels=labels)


def _histogram(
    name: str,
    text: str,
    unit: str,
    labels: tuple[str, ...] = (),
    bounds: tuple[float, ...] = DEFAULT_BOUNDS,
) -> Instrument:
    return Instrument(name, Kind.HISTOGRAM, text, unit, labels, bounds)


_GRPC = (
    _counter(
        "management.grpc.sync.request.counter",
        "Requests of peers to synchronise their configuration.",
    ),
    _counter("management.grpc.login.request.counter", "Login requests of peers."),
    _counter(
        "management.grpc.login.request.blocked.counter",
        "Login requests of peers that were blocked.",
    ),
    Instrument(
        "management.grpc.connected.streams",
        Kind.GAUGE,
        "Peers connected at the moment.",
    ),
    _histogram(
        "management.grpc.login.request.duration.ms",
        "Duration of a successful peer login, in milliseconds.",
        "milliseconds",
    ),
    _histogram(
        "management.grpc.sync.request.duration.ms",
        "Time until a peer has its first configuration, in milliseconds.",
        "milliseconds",
    ),
    _histogram(
        "management.grpc.updatechannel.queue",
        "Updates waiting for a peer when one is taken from its queue.",
        "length",
    ),
    _counter(
        "management.grpc.login.request.high.latency.counter",
        "Peer logins that took longer than 7 seconds.",
    ),
)

_HTTP = (
    _counter(
        "management.http.request.counter",
        "HTTP requests by endpoint and method.",
        ("endpoint", "method"),
    ),
    _counter(
        "management.http.response.counter",
        "HTTP responses by endpoint, method and status code.",
        ("endpoint", "method", "code"),
    ),
    _histogram(
        "management.http.request.duration.ms",
        "Duration of HTTP requests, in milliseconds.",
        "milliseconds",
        ("endpoint", "method"),
    ),
    _counter("management.http.request.counter.total", "HTTP requests in total."),
    Instrument(
        "management.http.response.code.total",
        Kind.COUNTER,
        "HTTP responses in total, by status code.",
        labels=("code",),
        otel="management.http.response.counter.code.total",
    ),
)

_STORE = (
    _histogram(
        "management.store.global.lock.acquisition.duration.micro",
        "Time waited for the account write lock, in microseconds.",
        "microseconds",
        bounds=MICRO_BOUNDS,
    ),
    _histogram(
        "management.store.global.lock.acquisition.duration.ms",
        "Time the account write lock was held, in milliseconds.",
        "milliseconds",
    ),
    _histogram(
        "management.store.persistence.duration.micro",
        "Duration of a statement that saves or deletes, in microseconds.",
        "microseconds",
        bounds=MICRO_BOUNDS,
    ),
    _histogram(
        "management.store.transaction.duration.ms",
        "Duration of a committed database transaction, in milliseconds.",
        "milliseconds",
    ),
)

_ACCOUNT = (
    _histogram(
        "management.account.update.account.peers.duration.ms",
        "Time to prepare one change for all peers it touches, in milliseconds.",
        "milliseconds",
        bounds=FANOUT_BOUNDS,
    ),
    _histogram(
        "management.account.get.peer.network.map.duration.ms",
        "Time to compute what one peer must know, in milliseconds.",
        "milliseconds",
        bounds=MAP_BOUNDS,
    ),
    _histogram(
        "management.account.network.map.object.count",
        "Objects in the network map of one peer.",
        "objects",
        bounds=OBJECT_BOUNDS,
    ),
    _counter(
        "management.account.peer.meta.update.counter",
        "Changes of what a peer reports about itself.",
    ),
)

_IDP = (
    _counter(
        "management.idp.authenticate.request.counter",
        "Requests to authenticate somebody, sign-in by password included.",
    ),
    _counter(
        "management.idp.get.user.by.email.counter",
        "Requests to look up a user by e-mail address.",
    ),
    _counter(
        "management.idp.request.error.counter",
        "Requests to the identity provider that failed.",
    ),
    _counter(
        "management.idp.request.status.error.counter",
        "Refusals of the identity provider: answers other than 2xx.",
    ),
)

SEED: Final[tuple[Instrument, ...]] = (*_GRPC, *_HTTP, *_STORE, *_ACCOUNT, *_IDP)
"""The table of the seed, in its order."""

_OWN = (
    _counter(
        "mesh.log.write.errors.total",
        "Log records that could not be written to an output.",
    ),
    _counter(
        "mesh.job.runs.total",
        "Runs of housekeeping jobs, by job and result (ok, failed).",
        ("job", "result"),
    ),
    _histogram(
        "mesh.job.duration.ms",
        "Duration of housekeeping jobs, in milliseconds.",
        "milliseconds",
        ("job",),
    ),
    _counter(
        "mesh.relay.probes.total",
        "Handshakes made to check the relay, by listener name and result.",
        ("listener", "result"),
    ),
    _counter(
        "mesh.signin.attempts.total",
        "Passwords tried, by result (ok, failed, limited, busy).",
        ("result",),
    ),
    _counter(
        "mesh.requests.limited.total",
        "Requests refused by a rate limit, by what it counts (token, user, address).",
        ("caller",),
    ),
    _counter(
        "mesh.delivery.events.total",
        "Events that a receiver confirmed, by subscription.",
        ("subscription",),
    ),
    _counter(
        "mesh.delivery.failures.total",
        "Batches that did not arrive or were refused, by subscription.",
        ("subscription",),
    ),
    _counter(
        "mesh.delivery.dead.letters.lost.total",
        "Dead letters dropped for newer ones, by subscription.",
        ("subscription",),
    ),
    _counter(
        "mesh.flows.refused.total",
        "Traffic events of peers that were faulty, and so are not kept.",
    ),
    _counter(
        "mesh.peers.unsendable.total",
        "Messages to peers that were not sent, because an agent would break on them.",
    ),
)

CATALOGUE: Final[dict[str, Instrument]] = {
    instrument.name: instrument for instrument in (*SEED, *_OWN)
}
