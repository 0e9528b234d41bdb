"""`manage.py welcome`: where everything is, and with what to get in."""

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from events.proof import published
from meshmgmt import env
from meshmgmt.accounts.models import Account
from meshmgmt.accounts.setup.owner import setup_is_open
from meshmgmt.demo.firstrun import Addresses, FirstRun, addresses, prepare
from meshmgmt.serving.flags import add_flags, environ_of


class Command(BaseCommand):
    """Prints addresses, admin login, token and setup key; makes what is missing."""

    help = (
        "Print the addresses, the admin login, a token and a setup key. The last three"
        " are made on the first run and kept in the data folder. Takes the flags of the"
        " server that is about to start."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags of `serve`, and one more."""
        add_flags(parser)
        parser.add_argument(
            "--link",
            action="store_true",
            help="make no owner: print the link of the page that does, while there is none",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Print everything; make login, token and setup key, unless by `--link`.

        Raises CommandError (status 2) for unusable values.
        """
        at = addresses(env.load(environ_of(options)))
        lines = [
            ("API", at.api),
            ("Documentation", at.documentation),
            ("Admin site", at.admin),
            ("Metrics", at.metrics),
            ("Tree heads", published.own_file()),
            ("", _newest_head()),
        ]
        if options["link"] and setup_is_open():
            lines.append(("First owner", f"is made at {at.setup}"))
        else:
            lines += _ways_in(at)
        for name, value in lines:
            self.stdout.write(f"{name:14} {value}".rstrip())


def _ways_in(at: Addresses) -> Iterator[tuple[str, str]]:
    first = prepare(settings.SVC.data_dir, Account.objects.get().peers_domain)
    yield "Admin login", _login(first)
    if first.password_file:
        yield "", f"(also in {first.password_file})"
    yield "Token", first.token
    yield "", f"(also in {first.token_file})"
    if at.peers:
        yield "Peers", f"{at.peers}  setup key {first.setup_key}"


def _newest_head() -> str:
    try:
        head = published.newest(published.own_file())
    except (published.Contradiction, OSError):  # no reason not to start
        return f"(damaged: see `{env.PROGRAM} audit verify`)"
    return f"({published.described(head)})" if head else "(none published yet)"


def _login(first: FirstRun) -> str:
    if first.password_file is None:
        return f"{first.email} with the password you have chosen"
    password = first.password_file.read_text(encoding="utf-8").strip()
    return f"{first.email} with the password {password}"
