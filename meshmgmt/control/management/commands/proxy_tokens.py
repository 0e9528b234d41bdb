"""`manage.py proxy_tokens`: what reverse proxies send their access logs with."""

from argparse import ArgumentParser
from typing import Any, Final

from django.core.management.base import BaseCommand

from meshmgmt.accounts.management.people import clear_errors, listed
from meshmgmt.control.models import ProxyToken
from meshmgmt.control.services.proxies import proxy_tokens
from meshmgmt.core import clock
from meshmgmt.core.transactions import account_write

COLUMNS: Final = (
    ("ID", "id", ""),
    ("NAME", "name", ""),
    ("EXPIRES", "expires_at", "never"),
    ("LAST USED", "last_used", "never"),
)


class Command(BaseCommand):
    """Makes, lists and revokes tokens of reverse proxies."""

    help = "Create, list or revoke the tokens of reverse proxies."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the three subcommands."""
        deeds = parser.add_subparsers(dest="deed", required=True, metavar="COMMAND")
        create = deeds.add_parser("create", help="make a token and print it, alone")
        create.add_argument("name", help="which proxy it is for")
        create.add_argument(
            "--days", type=int, default=0, help="its life; 0, the default: for ever"
        )
        listing = deeds.add_parser("list", help="all tokens, never the secret part")
        listing.add_argument("--json", action="store_true", help="print JSON")
        revoke = deeds.add_parser("revoke", help="make tokens useless at once")
        revoke.add_argument("tokens", nargs="+", metavar="ID")

    def handle(self, *args: Any, **options: Any) -> None:
        """Create, list or revoke."""
        with clear_errors():
            if options["deed"] == "create":
                terms = {"name": options["name"], "expires_in": options["days"]}
                self.stdout.write(proxy_tokens.create(terms).plain)
            elif options["deed"] == "revoke":
                with account_write():
                    for token_id in options["tokens"]:
                        proxy_tokens.delete(token_id)
                self.stdout.write(f"revoked: {len(options['tokens'])}")
            else:
                rows = [_facts(token) for token in ProxyToken.objects.all()]
                text = listed(rows, COLUMNS, as_json=options["json"])
                self.stdout.write(text, ending="")


def _facts(token: ProxyToken) -> dict[str, Any]:
    return {
        "id": token.pk,
        "name": token.name,
        "created_at": clock.rfc3339(token.created_at),
        "expires_at": clock.rfc3339(token.expires_at),
        "last_used": clock.rfc3339(token.last_used),
    }
