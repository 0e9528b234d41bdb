"""`manage.py users`: look after users when the API or the admin site cannot."""

import getpass
import sys
from argparse import ArgumentParser
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError

from meshmgmt.accounts.management.people import clear_errors, find_user, listed
from meshmgmt.accounts.models import User
from meshmgmt.accounts.services import users as services
from meshmgmt.api.renderers import to_json
from meshmgmt.core import clock
from meshmgmt.core.printable import printable
from meshmgmt.core.roles import Role

COLUMNS: Final = (
    ("ID", "id", ""),
    ("E-MAIL", "email", "(service user)"),
    ("NAME", "name", ""),
    ("ROLE", "role", ""),
    ("STATE", "state", ""),
    ("LAST SIGN-IN", "last_login", "never"),
)


class Command(BaseCommand):
    help = "List users; block, unblock, or give them another role or password."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare one subcommand per deed; all print JSON when asked."""
        deeds = parser.add_subparsers(dest="deed", required=True, metavar="COMMAND")

        def deed(name: str, text: str) -> ArgumentParser:
            sub: ArgumentParser = deeds.add_parser(name, help=text)
            sub.add_argument("--json", action="store_true", help="print JSON")
            return sub

        deed("list", "all users with role and state")
        for name, text in (
            ("block", "forbid a user everything"),
            ("unblock", "let a blocked or pending user in"),
        ):
            deed(name, text).add_argument("user", metavar="EMAIL")
        role = deed("set-role", "give a user another role")
        role.add_argument("user", metavar="EMAIL")
        role.add_argument("role", choices=[role.value for role in Role])
        password = deed("set-password", "set the password for the admin site")
        password.add_argument("user", metavar="EMAIL")
        password.add_argument(
            "--stdin",
            action="store_true",
            help="read the password from the first line of standard input",
        )
        transfer = deed("transfer-owner", "hand the owner role over to another user")
        transfer.add_argument("user", metavar="OWNER", help="becomes an admin")
        transfer.add_argument("to", metavar="NEW_OWNER")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["deed"] == "list":
            rows = [_facts(user) for user in User.objects.order_by("id")]
            text = listed(rows, COLUMNS, as_json=options["json"])
            self.stdout.write(text, ending="")
            return
        user = find_user(options["user"])
        with clear_errors():
            done = getattr(self, f"_{options['deed'].replace('-', '_')}")(user, options)
        if options["json"]:
            # The service wrote to an object of its own.
            user.refresh_from_db()
            self.stdout.write(to_json(_facts(user)).decode(), ending="")
        else:
            self.stdout.write(printable(done))

    def _block(self, user: User, options: dict[str, Any]) -> str:
        services.user_set_blocked(user_id=user.pk, blocked=True)
        return f"{user} is blocked"

    def _unblock(self, user: User, options: dict[str, Any]) -> str:
        if user.pending_approval:
            services.user_approve(user_id=user.pk)
            return f"{user} is approved"
        services.user_set_blocked(user_id=user.pk, blocked=False)
        return f"{user} is not blocked"

    def _set_role(self, user: User, options: dict[str, Any]) -> str:
        services.user_set_role(user_id=user.pk, role=options["role"])
        return f"{user} has the role {options['role']}"

    def _set_password(self, user: User, options: dict[str, Any]) -> str:
        password = services.HashedPassword(read_password(from_stdin=options["stdin"]))
        services.user_set_password(user_id=user.pk, password=password)
        return f"the password of {user} is set; their sessions are over"

    def _transfer_owner(self, user: User, options: dict[str, Any]) -> str:
        new = find_user(options["to"])
        services.owner_role_transfer(from_id=user.pk, to_id=new.pk)
        return f"{new} is an owner now, {user} an admin"


def read_password(*, from_stdin: bool) -> str:
    """Return a new password: asked for twice, or read from standard input.

    Raises CommandError when the two differ or nobody can be asked.
    """
    if from_stdin:
        return sys.stdin.readline().rstrip("\n")
    if not sys.stdin.isatty():
        raise CommandError("there is no terminal to ask for the password: use --stdin")
    password = getpass.getpass("New password: ")
    if getpass.getpass("Again: ") != password:
        raise CommandError("the two passwords differ")
    return password


def _facts(user: User) -> dict[str, Any]:
    if user.pending_approval:
        state = "pending"
    else:
        state = "blocked" if user.is_blocked else "active"
    return {
        "id": user.pk,
        "email": user.email,
        "name": user.name,
        "role": user.role,
        "is_service_user": user.is_service_user,
        "state": state,
        "last_login": clock.rfc3339(user.last_login),
        "created_at": clock.rfc3339(user.created_at),
    }
