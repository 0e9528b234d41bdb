"""`manage.py create_token`: the first token, and any later one."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from meshmgmt.accounts.management.people import clear_errors, known_user
from meshmgmt.accounts.models import User
from meshmgmt.accounts.services.tokens import access_tokens
from meshmgmt.accounts.services.users import user_create
from meshmgmt.core.roles import Role
from meshmgmt.core.transactions import account_write
from meshmgmt.env import PROGRAM


class Command(BaseCommand):
    help = (
        "Create an access token and print it alone on standard output. A user who does"
        " not exist yet is created: with --role, or as owner when there is none."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--user", required=True, metavar="EMAIL")
        parser.add_argument("--role", choices=[role.value for role in Role])
        parser.add_argument("--name", default="cli", help="name of the token")
        parser.add_argument("--days", type=int, default=30, help="life, 1 to 365 days")
        parser.add_argument(
            "--only", choices=["ingest"], help="good for the ingest endpoints alone"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Create the token, and the user when absent, in one transaction."""
        with clear_errors(), account_write():
            known = known_user(options["user"])
            role = options["role"]
            user = (
                self._checked(known, role)
                if known
                else self._new_user(options["user"], role)
            )
            terms = {
                "name": options["name"],
                "expires_in": options["days"],
                "scope": options["only"] or "",
            }
            made = access_tokens.create(terms, user.pk)
        if not known:
            self.stderr.write(f"created user {user.email} with role {user.role}")
        self.stdout.write(made.plain)

    def _checked(self, user: User, role: str | None) -> User:
        if role is not None and user.role != role:
            raise CommandError(
                f"{user} exists with role {user.role}:"
                f" leave --role out, or use `{PROGRAM} users set-role` first"
            )
        if not user.is_active:
            raise CommandError(
                f"{user} is blocked or pending approval: a token would be of no use"
            )
        if not User.objects.any_owner():
            self.stderr.write(
                f"there is no owner: `{PROGRAM} users set-role {user} owner` makes one"
            )
        return user

    def _new_user(self, email: str, role: str | None) -> User:
        if not User.objects.any_owner():
            if role not in {None, Role.OWNER}:
                raise CommandError(
                    "there is no owner yet: leave --role out, and the user becomes owner"
                )
            role = Role.OWNER
        if role is None:
            raise CommandError(
                f"there is no user {email!r}: name a --role to create one"
            )
        return user_create(email=email, role=role)
