"""`manage.py netmap PEER [--json]`."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from meshmgmt.accounts.management.people import clear_errors
from meshmgmt.control.checks import Unsendable
from meshmgmt.control.maps import MapStore
from meshmgmt.control.rendering import render
from meshmgmt.control.services import sso
from meshmgmt.core.history import account_at
from meshmgmt.inventory.selectors import peer_known_as


class Command(BaseCommand):
    """Shows what a peer is told of the mesh."""

    help = (
        "Show what a peer is told of the mesh: the peers it sees, firewall rules,"
        " routes, DNS and SSH logins; and why, where it is told of nobody."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("peer", help="id, name, DNS label or address of a peer")
        parser.add_argument(
            "--json",
            action="store_true",
            help="the whole message, with the names of the protocol, as JSON",
        )

        parser.add_argument(
            "--at", default="", metavar="TIME", help="as it was then (RFC 3339)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        store = MapStore(serving=False)
        sso.asked_keys_location()  # or the map would hold the guess
        with clear_errors(), account_at(options["at"]):
            peer_id = peer_known_as(options["peer"]).pk
            store.refresh()
            try:
                if options["json"]:
                    self.stdout.write(json.dumps(store.as_dict(peer_id), indent=2))
                else:
                    self.stdout.write(render(store, peer_id), ending="")
            except Unsendable as error:
                raise CommandError(f"the peer is told nothing: {error}") from error
