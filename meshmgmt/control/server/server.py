"""The gRPC server of one process: its services, its port, its life."""

import asyncio
import contextlib
import logging
import os
import ssl
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import grpc
from django.conf import settings
from grpc_health.v1.health_pb2 import HealthCheckResponse

from meshmgmt.control import changes
from meshmgmt.control.protocol import (
    flow_pb2,
    flow_pb2_grpc,
    management_pb2,
    management_pb2_grpc,
    proxy_pb2,
    proxy_pb2_grpc,
    signalexchange_pb2,
    signalexchange_pb2_grpc,
)
from meshmgmt.control.server import figures
from meshmgmt.control.server.bus import Bus
from meshmgmt.control.server.envelope import Envelopes
from meshmgmt.control.server.guests import add_standard_services
from meshmgmt.control.server.hub import Hub
from meshmgmt.control.server.jobs import Jobs
from meshmgmt.control.server.management import ManagementService
from meshmgmt.control.server.reporting import FlowService, ProxyService
from meshmgmt.control.server.signalling import SignalExchange
from meshmgmt.control.server.status import Decoding, tell_failure
from meshmgmt.control.server.streams import Ending, Streams
from meshmgmt.control.server.tasks import Tasks, begun, first_of
from meshmgmt.control.server.threads import Threads
from meshmgmt.control.services import presence, sso
from meshmgmt.env import Config

THREADS: Final = 4
"""Most wait for the database, where writers are let in one at a time."""
GRACE_SECONDS: Final = 5.0
POLL_SECONDS: Final = 0.1
"""How often the serial is asked for; a notice of PostgreSQL comes before."""

LISTENING_POLL_SECONDS: Final = 5.0
PRESENCE_SECONDS: Final = 0.5
"""Together, for after a restart thousands connect within seconds."""
JUDGE_SECONDS: Final = 10.0
"""Logins end by the clock, which changes no serial."""
PROVIDER_SECONDS: Final = 10.0
WAITING_SHOWN: Final = 1000
"""The file is read for each page that shows a peer."""

SERVICES: Final = tuple(
    module.DESCRIPTOR.services_by_name[name].full_name
    for module, name in (
        (management_pb2, "ManagementService"),
        (signalexchange_pb2, "SignalExchange"),
        (flow_pb2, "FlowService"),
        (proxy_pb2, "ProxyService"),
    )
)

# Agents ping every 30 s while nothing else is sent, which gRPC's defaults call abuse;
# and a peer that vanished is found by pings of our own.
OPTIONS: Final = (
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 5_000),
    ("grpc.http2.max_ping_strikes", 0),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    # Everybody comes back at once after a restart: nobody is sent away unheard.
    ("grpc.server.max_pending_requests", 20_000),
    ("grpc.server.max_pending_requests_hard_limit", 40_000),
    # An agent has a handful at its connection, a proxy opens another connection.
    ("grpc.max_concurrent_streams", 100),
    ("grpc.max_receive_message_length", 4 * 2**20),
)

_LOG: Final = logging.getLogger(__name__)


class CannotListen(Exception):
    """The address is taken or none of this machine, or the certificate cannot be used."""


class PeerServer:
    """Serves peers until told to stop.

    Of several processes on a port each has a `number`; None: there is one alone.
    """

    def __init__(self, config: Config, number: int | None = None) -> None:
        self.config = config
        self.number = number
        self.serves_since = time.monotonic()
        self.keys_told = ""
        """Where maps say that the keys of the identity provider are."""
        self.envelopes = Envelopes(settings.SECRET_KEY)
        self.threads = Threads(THREADS, "peers")
        # Apart: with a thousand calls that wait this process would pass for a dead one.
        self.upkeep = Threads(1, "upkeep")
        self.streams = Streams()
        self.bus = Bus()
        self.hub = Hub(config, self.envelopes, self.streams, self.threads)
        self.jobs = Jobs(self.envelopes, self.threads)
        self.hub.on_serial = self.jobs.want
        self.signals = SignalExchange(self.bus, self.threads)
        self.bus.on_change = self.hub.want
        self.bus.on_signal = self.signals.arrived
        self.bus.on_stream = self.streams.replace
        self.server = self._server()
        self.health = add_standard_services(self.server, SERVICES)

    def _server(self) -> grpc.aio.Server:
        shared = ("grpc.so_reuseport", int(self.number is not None))
        server = grpc.aio.server(interceptors=[Decoding()], options=[*OPTIONS, shared])
        management_pb2_grpc.add_ManagementServiceServicer_to_server(
            ManagementService(
                self.envelopes, self.threads, self.hub, self.jobs, self.bus
            ),
            server,
        )
        signalexchange_pb2_grpc.add_SignalExchangeServicer_to_server(
            self.signals, server
        )
        flow_pb2_grpc.add_FlowServiceServicer_to_server(
            FlowService(self.threads), server
        )
        proxy_pb2_grpc.add_ProxyServiceServicer_to_server(
            ProxyService(self.threads), server
        )
        return server

    async def run(self, stopping: asyncio.Event, leave_now: asyncio.Event) -> None:
        """Serve until `stopping`, then drain; `leave_now` ends the drain early.

        Raises CannotListen.
        """
        self._listen()
        await self._once(self._ask_for_keys)
        # Those of a process of this number that was killed.
        figures.forget(self.config.runtime_dir, self.number)
        work = begun(self.hub.run(), self.jobs.run(), self._poll())
        if self.bus.exists:
            work += begun(self.bus.run())
        try:
            # Nobody waits for the first reading of the account with a call under way.
            await first_of(stopping.wait(), self._warm_up(), *work)
            if not stopping.is_set():
                await self._serve(stopping, work)
                await self._drain(leave_now)
        finally:
            await self._stop(work)

    async def _warm_up(self) -> None:
        while True:
            try:
                await self.hub.fresh()
            except Exception as error:
                _LOG.info("peers have to wait: %s", error)
            else:
                return

    async def _serve(self, stopping: asyncio.Event, work: Tasks) -> None:
        await self.server.start()
        self.health.say(HealthCheckResponse.SERVING)
        _LOG.info("peers are served at %s", self.config.grpc_bind)
        # From here on others are told of this process, so that none is told too early.
        work += begun(
            self._every(PRESENCE_SECONDS, self._write_presence),
            self._every(presence.BEAT_SECONDS, self._beat),
            self._every(figures.EVERY_SECONDS, self._show),
            self._every(JUDGE_SECONDS, self._look_after),
            self._every(PROVIDER_SECONDS, self._look_for_keys),
        )
        await first_of(stopping.wait(), *work)

    def _listen(self) -> None:
        at = self.config.grpc_bind
        try:
            if self.config.grpc_certificate and self.config.grpc_key:
                self.server.add_secure_port(at, credentials(self.config))
            else:
                self.server.add_insecure_port(at)
        except ssl.SSLError as error:
            raise CannotListen(
                "SVC_GRPC_CERTIFICATE and SVC_GRPC_KEY are no certificate with its key:"
                f" {error.reason or error}"
            ) from error
        except RuntimeError as error:
            raise CannotListen(
                f"{at} cannot be used: choose another HOST:PORT, or off, "
                "with SVC_GRPC_BIND"
            ) from error

    async def _drain(self, leave_now: asyncio.Event) -> None:
        self.health.say(HealthCheckResponse.NOT_SERVING)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.config.drain_seconds):
                await leave_now.wait()

    async def _stop(self, work: Tasks) -> None:
        for stream in self.streams:
            stream.end(Ending.STOPPING)
        self.jobs.end()
        await self.server.stop(GRACE_SECONDS)
        for task in work:
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)
        figures.forget(self.config.runtime_dir, self.number)
        try:
            await self._write_presence()
            # Last: only now have all streams ended.
            await self.upkeep.run(presence.leave, self.bus.id)
        except Exception as error:
            tell_failure(_LOG, "the peers' connections cannot be written", error)
        _LOG.info("peers are served no more")

    # ---- what is done again and again

    async def _poll(self) -> None:
        while True:
            self.hub.want()
            heard = self.bus.listening
            await asyncio.sleep(LISTENING_POLL_SECONDS if heard else POLL_SECONDS)

    async def _every(self, seconds: float, work: Callable[[], Awaitable[None]]) -> None:
        """Do some work over and over; a failure is logged and waits for the next round."""
        while True:
            await self._once(work)
            await asyncio.sleep(seconds)

    async def _once(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except Exception as error:
            name = getattr(work, "__name__", str(work)).strip("_")
            tell_failure(_LOG, f"{name} failed", error)

    async def _write_presence(self) -> None:
        # Taken at once: streams come and go while these are written.
        changes, self.streams.changes = self.streams.changes, []
        try:
            if changes:
                await self.upkeep.run(presence.write_presence, self.bus.id, changes)
        except BaseException:
            self.streams.changes = changes + self.streams.changes
            raise

    async def _beat(self) -> None:
        now = time.monotonic()
        if not await self.upkeep.run(
            presence.beat, self.bus.id, now - self.serves_since
        ):
            self.serves_since = now
            self.streams.tell_all()

    async def _show(self) -> None:
        figures.write(
            self.config.runtime_dir,
            figures.Figures(
                pid=os.getpid(),
                time=time.time(),
                bind=self.config.grpc_bind,
                connected=len(self.streams),
                signal_streams=len(self.signals),
                oldest_wait_seconds=round(self.streams.oldest_wait(), 3),
                serial=self.hub.serial,
                process=self.bus.id,
                waiting=self.streams.waiting(WAITING_SHOWN),
            ),
            self.number,
        )

    async def _ask_for_keys(self) -> None:
        """Have the first maps say where they are."""
        self.keys_told = await asyncio.to_thread(sso.asked_keys_location)

    async def _look_for_keys(self) -> None:
        # By none of the threads that others wait for: a provider may be silent for seconds.
        location = await asyncio.to_thread(sso.asked_keys_location)
        if location != self.keys_told:
            await self.upkeep.run(changes.begin)
            self.keys_told = location

    async def _look_after(self) -> None:
        self.hub.remind()
        await self.hub.judge()


def credentials(config: Config) -> grpc.ServerCredentials:
    """Return TLS that follows the files: a renewed certificate needs no restart.

    Raises ssl.SSLError for what is no certificate with its key: gRPC would say that of
    the port, or nothing.
    """
    assert config.grpc_certificate
    assert config.grpc_key
    files = (config.grpc_key, config.grpc_certificate)
    # With an empty password, or it would ask the terminal for that of the key.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(config.grpc_certificate, config.grpc_key, password="")
    renewed = renewal(files)  # first: what is replaced while it is read is read again
    return grpc.dynamic_ssl_server_credentials(_tls(files), renewed)


def renewal(files: tuple[Path, Path]) -> Callable[[], Any]:
    """Return what reads key and chain when they are others than before, else None."""
    seen = _stamps(files)

    def renewed() -> Any:
        nonlocal seen
        now = _stamps(files)
        if now == seen:
            return None
        read = _tls(files)
        seen = now  # not before: who may not be read yet is tried again
        return read

    return renewed


def _tls(files: tuple[Path, Path]) -> Any:
    key, chain = (file.read_bytes() for file in files)
    return grpc.ssl_server_certificate_configuration([(key, chain)])


def _stamps(files: tuple[Path, Path]) -> list[int]:
    return [file.stat().st_mtime_ns for file in files]
