"""The instruments of the service: one readable list (seed, Metrics).

An instrument is defined by its dotted OpenTelemetry name, kind and unit, as the seed
writes it; how the name is printed is decided in `observability.metrics.exposition`.
"""

from collections.abc import Iterator
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


# Kind, name and labels of each instrument, below them its help.
_SEED: Final = """
counter management.grpc.sync.request.counter
    Requests of peers to synchronise their configuration.
counter management.grpc.login.request.counter
    Login requests of peers.
counter management.grpc.login.request.blocked.counter
    Login requests of peers that were blocked.
gauge management.grpc.connected.streams
    Peers connected at the moment.
histogram management.grpc.login.request.duration.ms
    Duration of a successful peer login, in milliseconds.
histogram management.grpc.sync.request.duration.ms
    Time until a peer has its first configuration, in milliseconds.
histogram management.grpc.updatechannel.queue
    Updates waiting for a peer when one is taken from its queue.
counter management.grpc.login.request.high.latency.counter
    Peer logins that took longer than 7 seconds.

counter management.http.request.counter endpoint method
    HTTP requests by endpoint and method.
counter management.http.response.counter endpoint method code
    HTTP responses by endpoint, method and status code.
histogram management.http.request.duration.ms endpoint method
    Duration of HTTP requests, in milliseconds.
counter management.http.request.counter.total
    HTTP requests in total.
counter management.http.response.code.total code
    HTTP responses in total, by status code.

histogram management.store.global.lock.acquisition.duration.micro
    Time waited for the account write lock, in microseconds.
histogram management.store.global.lock.acquisition.duration.ms
    Time the account write lock was held, in milliseconds.
histogram management.store.persistence.duration.micro
    Duration of a statement that saves or deletes, in microseconds.
histogram management.store.transaction.duration.ms
    Duration of a committed database transaction, in milliseconds.

histogram management.account.update.account.peers.duration.ms
    Time to prepare one change for all peers it touches, in milliseconds.
histogram management.account.get.peer.network.map.duration.ms
    Time to compute what one peer must know, in milliseconds.
histogram management.account.network.map.object.count
    Objects in the network map of one peer.
counter management.account.peer.meta.update.counter
    Changes of what a peer reports about itself.

counter management.idp.authenticate.request.counter
    Requests to authenticate somebody, sign-in by password included.
counter management.idp.get.user.by.email.counter
    Requests to look up a user by e-mail address.
counter management.idp.request.error.counter
    Requests to the identity provider that failed.
counter management.idp.request.status.error.counter
    Refusals of the identity provider: answers other than 2xx.
"""

_OWN: Final = """
counter mesh.log.write.errors.total
    Log records that could not be written to an output.
counter mesh.job.runs.total job result
    Runs of housekeeping jobs, by job and result (ok, failed).
histogram mesh.job.duration.ms job
    Duration of housekeeping jobs, in milliseconds.
counter mesh.relay.probes.total listener result
    Handshakes made to check the relay, by listener name and result.
counter mesh.signin.attempts.total result
    Passwords tried, by result (ok: it was right, failed, limited, busy, error).
counter mesh.requests.limited.total caller
    Requests refused by a rate limit, by what it counts (token, user, address).
counter mesh.delivery.events.total subscription
    Events that a receiver confirmed, by subscription.
counter mesh.delivery.failures.total subscription
    Batches that did not arrive or were refused, by subscription.
counter mesh.delivery.dead.letters.lost.total subscription
    Dead letters dropped for newer ones, by subscription.
counter mesh.flows.refused.total
    Traffic events of peers that were faulty, and so are not kept.
counter mesh.peers.unsendable.total
    Messages to peers that were not sent, because an agent would break on them.
"""

_UNITS: Final = {
    "ms": "milliseconds",
    "micro": "microseconds",
    "queue": "length",
    "count": "objects",
}
"""Of histograms, by the last word of the name; everything else is counted in ones."""

_BOUNDS: Final = {
    "management.store.global.lock.acquisition.duration.micro": MICRO_BOUNDS,
    "management.store.persistence.duration.micro": MICRO_BOUNDS,
    "management.account.update.account.peers.duration.ms": FANOUT_BOUNDS,
    "management.account.get.peer.network.map.duration.ms": MAP_BOUNDS,
    "management.account.network.map.object.count": OBJECT_BOUNDS,
}

_OTEL: Final = {
    "management.http.response.code.total": "management.http.response.counter.code.total"
}


def _parse(table: str) -> Iterator[Instrument]:
    lines = [line for line in table.splitlines() if line]
    for head, text in zip(lines[::2], lines[1::2], strict=True):
        kind, name, *labels = head.split()
        histogram = kind == Kind.HISTOGRAM
        yield Instrument(
            name,
            Kind(kind),
            text.strip(),
            unit=_UNITS[name.rpartition(".")[2]] if histogram else "1",
            labels=tuple(labels),
            bounds=_BOUNDS.get(name, DEFAULT_BOUNDS) if histogram else (),
            otel=_OTEL.get(name, ""),
        )


SEED: Final = tuple(_parse(_SEED))
"""The table of the seed, in its order."""

CATALOGUE: Final = {found.name: found for found in (*SEED, *_parse(_OWN))}
