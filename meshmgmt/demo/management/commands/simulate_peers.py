"""`manage.py simulate_peers N`: peers that enrol and stay in sync, without machines."""

import asyncio
import contextlib
from argparse import ArgumentParser
from typing import Any

import grpc
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from meshmgmt.accounts.models import Account
from meshmgmt.control.server.netbirdconfig import peer_url
from meshmgmt.demo.firstrun import prepare
from meshmgmt.demo.simulation import Simulation


class Command(BaseCommand):
    """Runs until Ctrl-C."""

    help = (
        "Enrol N peers that exist on the wire alone, keep them in sync and print what "
        "changes for them. Ctrl-C stops; the peers stay, unless --remove is given. "
        "The next run continues with the same peers."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("number", type=int, metavar="N", help="how many peers")
        parser.add_argument("--url", metavar="URL", help="where peers connect")
        parser.add_argument(
            "--setup-key", metavar="KEY", help="default: the one that `welcome` shows"
        )
        parser.add_argument(
            "--remove", action="store_true", help="delete the peers at the end"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Simulate. Raises CommandError when no peer can be served."""
        if options["number"] < 1:
            raise CommandError("N must be at least 1", returncode=2)
        url = options["url"] or (
            peer_url(settings.SVC) if settings.SVC.grpc_bind else ""
        )
        if not url:
            raise CommandError("SVC_GRPC_BIND is off: give --url", returncode=2)
        simulation = Simulation(
            url,
            options["setup_key"] or _setup_key(),
            settings.SECRET_KEY,
            options["number"],
            self._tell,
        )
        self._tell(f"connecting to {url}")
        try:
            # Raised again by asyncio, after Ctrl-C has let the simulation end.
            with contextlib.suppress(KeyboardInterrupt):
                asyncio.run(simulation.run(remove=options["remove"]))
        except grpc.aio.AioRpcError as error:
            away = error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
            reason = "nobody answers: does the server run?" if away else error.details()
            raise CommandError(f"{url}: {reason}") from error

    def _tell(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


def _setup_key() -> str:
    account = Account.objects.get()
    return prepare(settings.SVC.data_dir, account.peers_domain).setup_key
