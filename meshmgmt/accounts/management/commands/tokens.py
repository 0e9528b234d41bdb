"""`manage.py tokens`: which tokens there are, and an end to any of them."""

from argparse import ArgumentParser
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError

from meshmgmt.accounts.management.people import clear_errors, find_user, listed
from meshmgmt.accounts.models import AccessToken
from meshmgmt.accounts.services.tokens import access_tokens
from meshmgmt.accounts.tokens import is_well_formed, token_hash
from meshmgmt.api.renderers import to_json
from meshmgmt.core import clock
from meshmgmt.core.transactions import account_write

COLUMNS: Final = (
    ("ID", "id", ""),
    ("USER", "user", ""),
    ("NAME", "name", ""),
    ("ONLY FOR", "scope", "-"),
    ("EXPIRES", "expires_at", ""),
    ("LAST USED", "last_used", "never"),
    ("STATE", "expired", "valid"),
)


class Command(BaseCommand):
    help = "List access tokens, or revoke them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the two subcommands."""
        deeds = parser.add_subparsers(dest="deed", required=True, metavar="COMMAND")
        listing = deeds.add_parser("list", help="all tokens, never the secret part")
        listing.add_argument("--user", metavar="EMAIL", help="of this user alone")
        listing.add_argument("--json", action="store_true", help="print JSON")
        revoke = deeds.add_parser("revoke", help="make tokens useless at once")
        revoke.add_argument(
            "tokens", nargs="*", metavar="TOKEN", help="id of a token, or a leaked one"
        )
        revoke.add_argument("--user", metavar="EMAIL", help="all tokens of this user")
        revoke.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        user = find_user(options["user"]) if options["user"] else None
        tokens = AccessToken.objects.select_related("user").order_by("id")
        if options["deed"] == "list":
            mine = tokens if user is None else tokens.filter(user=user)
            rows = [_facts(token) for token in mine]
            text = listed(rows, COLUMNS, as_json=options["json"])
            self.stdout.write(text, ending="")
            return
        if bool(options["tokens"]) == (user is not None):
            raise CommandError("name the tokens to revoke, or one --user, not both")
        with clear_errors(), account_write():
            if user is None:
                # By id, for one may be named twice: by its id and as it leaked.
                named = map(_find, options["tokens"])
                found = list({token.pk: token for token in named}.values())
            else:
                found = list(tokens.filter(user=user))
            rows = [_facts(token) for token in found]
            for token in found:
                access_tokens.delete(token.pk)
        if options["json"]:
            self.stdout.write(to_json(rows).decode(), ending="")
        else:
            self.stdout.write(f"revoked: {len(rows)}")


def _find(reference: str) -> AccessToken:
    """Return the token with this id, or this token itself. Raises CommandError."""
    tokens = AccessToken.objects.select_related("user")
    if is_well_formed(reference):
        token = tokens.filter(hash=token_hash(reference)).first()
        shown = f"{reference[:8]}…"
    else:
        token = tokens.filter(pk=reference).first()
        shown = repr(reference)
    if token is None:
        raise CommandError(f"token {shown} was not found")
    return token


def _facts(token: AccessToken) -> dict[str, Any]:
    return {
        "id": token.pk,
        "user_id": token.user_id,
        "user": str(token.user),
        "name": token.name,
        "scope": token.scope,
        "created_by": token.created_by,
        "created_at": clock.rfc3339(token.created_at),
        "expires_at": clock.rfc3339(token.expires_at),
        "last_used": clock.rfc3339(token.last_used),
        "expired": token.expires_at <= clock.now(),
    }
