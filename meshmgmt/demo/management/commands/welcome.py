"""`manage.py welcome`: where everything is, and with what to get in."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from events.proof import published
from meshmgmt import env
from meshmgmt.accounts.models import Account
from meshmgmt.demo.firstrun import FirstRun, addresses, prepare
from meshmgmt.serving.flags import add_flags, environ_of


class Command(BaseCommand):
    """Prints addresses, admin login, token and setup key; makes what is missing."""

    help = (
        "Print the addresses, the admin login, a token and a setup key. The last three"
        " are made on the first run and kept in the data folder. Takes the flags of the"
        " server that is about to start."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags of `serve`."""
        add_flags(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Make sure that login, token and setup key exist, and print everything.

        Raises CommandError (status 2) for unusable values.
        """
        at = addresses(env.load(environ_of(options)))
        account = Account.objects.get()
        first = prepare(settings.SVC.data_dir, account.peers_domain)
        lines = (
            ("API", at.api),
            ("Documentation", at.documentation),
            ("Admin site", at.admin),
            ("Metrics", at.metrics),
            ("Admin login", _login(first)),
            *(
                [("", f"(also in {first.password_file})")]
                if first.password_file
                else []
            ),
            ("Token", first.token),
            ("", f"(also in {first.token_file})"),
            ("Tree heads", published.own_file()),
            ("", _newest_head()),
            *(
                [("Peers", f"{at.peers}  setup key {first.setup_key}")]
                if at.peers
                else []
            ),
        )
        for name, value in lines:
            self.stdout.write(f"{name:14} {value}".rstrip())


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
