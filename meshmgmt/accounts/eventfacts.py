"""What events show of users, and which addresses are the mesh's own."""

import ipaddress
from collections.abc import Collection, Iterator, Sequence

from events.directory import Network, UserFacts, directory
from meshmgmt.accounts.models import Account, User
from meshmgmt.accounts.rules import fold_email
from meshmgmt.core.queries import rows_with


def register() -> None:
    """Let the events' directory ask here."""
    directory.users = users
    directory.find_users = find_users
    directory.overlay = overlay


def users(keys: Collection[str]) -> Iterator[UserFacts]:
    """Yield the users with one of the ids or e-mail addresses."""
    emails = {folded for key in keys if "@" in key and (folded := fold_email(key))}
    rows = User.objects.values_list("pk", "name", "email")
    for key, name, email in rows_with(rows, {"pk": keys, "email_key": emails}):
        yield UserFacts(id=key, name=name, email=email)


def find_users(email: str, name: str) -> set[str]:
    """Return ids of users whose e-mail and name contain the folded texts.

    Compared here and not in the database, whose folding depends on its locale.
    """
    return {
        key
        for key, own_name, own_email in User.objects.values_list("pk", "name", "email")
        if email in own_email.casefold() and name in own_name.casefold()
    }


def overlay() -> Sequence[Network]:
    """Return the networks that peers' addresses come from."""
    ranges = Account.objects.values_list("network_range", "network_range_v6").first()
    return [ipaddress.ip_network(text, strict=False) for text in ranges or () if text]
