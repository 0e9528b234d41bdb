"""`manage.py createsuperuser`: an owner who can sign in to the admin site."""

import os
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from meshmgmt.accounts.management.commands.users import read_password
from meshmgmt.accounts.management.people import clear_errors
from meshmgmt.accounts.services.users import HashedPassword, user_create
from meshmgmt.core.roles import Role
from meshmgmt.env import PROGRAM


class Command(BaseCommand):
    help = "Create a user with the role owner and a password for the admin site."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--email", help="or DJANGO_SUPERUSER_EMAIL")
        parser.add_argument(
            "--name",
            "--username",
            dest="name",
            help="name to show; or DJANGO_SUPERUSER_NAME, DJANGO_SUPERUSER_USERNAME",
        )
        parser.add_argument(
            "--noinput",
            "--no-input",
            action="store_false",
            dest="interactive",
            help="ask nothing; the password comes from DJANGO_SUPERUSER_PASSWORD",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        email = options["email"] or os.environ.get("DJANGO_SUPERUSER_EMAIL", "")
        name = (
            options["name"]
            or os.environ.get("DJANGO_SUPERUSER_NAME")
            or os.environ.get("DJANGO_SUPERUSER_USERNAME", "")
        )
        if options["interactive"]:
            # A service unit has no terminal: asking would end in a stack trace.
            if not sys.stdin.isatty():
                raise CommandError("there is no terminal to ask at: use --noinput")
            email = email or input("E-mail address: ")
            password: str | None = read_password(from_stdin=False)
        elif not email:
            raise CommandError("--noinput needs --email or DJANGO_SUPERUSER_EMAIL")
        else:
            password = os.environ.get("DJANGO_SUPERUSER_PASSWORD")
        with clear_errors():
            hashed = None if password is None else HashedPassword(password)
            user = user_create(email=email, name=name, role=Role.OWNER, password=hashed)
        if options["verbosity"] >= 1:
            self.stdout.write(f"owner {user} created")
        if password is None:
            self.stderr.write(
                f"no password is set: `{PROGRAM} users set-password` sets one"
            )
