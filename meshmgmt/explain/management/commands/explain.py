"""`manage.py explain PEER NAME [TYPE] [--json] [--live]`."""

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from dns.content import RECORD_TYPES
from meshmgmt.accounts.management.people import clear_errors
from meshmgmt.core.history import account_at
from meshmgmt.core.printable import printable
from meshmgmt.core.transactions import read_snapshot
from meshmgmt.explain.answers import name_explanation
from meshmgmt.explain.api.serializers import ExplanationSerializer
from meshmgmt.explain.live import LiveAnswer, ask_all
from meshmgmt.explain.resolution.render import render
from meshmgmt.inventory.selectors import peer_known_as


class Command(BaseCommand):
    help = "Show how a peer resolves a name: each step, what matched and what lost."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("peer", help="id, name, DNS label or address of a peer")
        parser.add_argument("name", help="the name as typed on the peer")
        parser.add_argument(
            "type",
            nargs="?",
            default="A",
            help=f"{', '.join(RECORD_TYPES)} (default A)",
        )
        parser.add_argument("--json", action="store_true", help="one JSON document")
        parser.add_argument(
            "--live",
            action="store_true",
            help="also ask the servers, from this host, 2 seconds each",
        )

        parser.add_argument(
            "--at", default="", metavar="TIME", help="as it was then (RFC 3339)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["live"] and options["at"]:
            raise CommandError("--live asks servers as they are now, not --at a moment")
        with clear_errors(), account_at(options["at"]), read_snapshot():
            explanation = name_explanation(
                peer_known_as(options["peer"]).pk, options["name"], options["type"]
            )
        answers = (
            ask_all(explanation.outcome, explanation.type) if options["live"] else None
        )
        if options["json"]:
            document = ExplanationSerializer.plain(explanation)
            if answers is not None:
                document["live"] = [_json(answer) for answer in answers]
            self.stdout.write(json.dumps(document, indent=2))
            return
        self.stdout.write(render(explanation), ending="")
        if answers is not None:
            self.stdout.write("\n".join(printable(line) for line in _lines(answers)))


def _json(answer: LiveAnswer) -> dict[str, Any]:
    facts = asdict(answer)
    server = answer.server
    return {**facts, "server": {"ip": server.ip, "port": server.port}}


def _lines(answers: list[LiveAnswer]) -> list[str]:
    if not answers:
        return ["live: the outcome asks no server that is known here"]
    lines = ["live, asked from this host:"]
    for answer in answers:
        host = f"{answer.server.ip} port {answer.server.port}"
        took = f"{answer.milliseconds:.0f} ms, {answer.transport}"
        lines.append(f"   {host}: {answer.error or answer.code} ({took})")
        lines += [f"      {record}" for record in answer.records]
    return lines
