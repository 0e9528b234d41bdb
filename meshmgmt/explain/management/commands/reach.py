"""`manage.py reach SOURCE DESTINATION [--protocol P] [--port N] [--at T] [--json]`."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from meshmgmt.accounts.management.people import clear_errors
from meshmgmt.core.errors import Conflict, NotFound
from meshmgmt.core.history import account_at
from meshmgmt.core.transactions import read_snapshot
from meshmgmt.explain.api.serializers import ReachSerializer
from meshmgmt.explain.reaching import destination_of, reach, render, traffic_of
from meshmgmt.inventory.selectors import peer_known_as
from meshmgmt.mesh.reach import PROTOCOLS

BLOCKED = 1
UNKNOWN = 2


class Command(BaseCommand):
    help = "Tell whether a peer reaches something: status 0 if so, 1 if not, 2 unknown."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("source", help="id, name, DNS label or address of a peer")
        parser.add_argument(
            "destination",
            help="a peer or a resource (id or name), an address or a domain",
        )
        parser.add_argument("--protocol", choices=PROTOCOLS, default=PROTOCOLS[0])
        parser.add_argument("--port", type=int, help="of tcp or udp; default: all")
        parser.add_argument("--json", action="store_true", help="one JSON document")
        parser.add_argument(
            "--at", default="", metavar="TIME", help="as it was then (RFC 3339)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        with clear_errors(), account_at(options["at"]), read_snapshot():
            traffic = traffic_of(options["protocol"], options["port"])
            try:
                source = peer_known_as(options["source"]).pk
                destination = destination_of(options["destination"], by_name=True)
            # A name of several peers is as good as unknown.
            except (NotFound, Conflict) as error:
                raise CommandError(error.message, returncode=UNKNOWN) from error
            answer = reach(source, destination, traffic, past=bool(options["at"]))
        text = json.dumps(ReachSerializer.plain(answer), indent=2) + "\n"
        self.stdout.write(text if options["json"] else render(answer), ending="")
        if not answer.verdict.allowed:
            raise SystemExit(BLOCKED)
