"""What accounts have for the other rooms."""

import ipaddress
from collections.abc import Collection, Iterator, Sequence

from django.contrib.auth.signals import user_logged_in
from django.contrib.sessions.backends.db import SessionStore
from django.db.models import Q
from django.http import HttpRequest

from events import directory
from events.directory import Network, UserFacts
from meshmgmt.accounts import audit
from meshmgmt.accounts.models import AccessToken, Account, User
from meshmgmt.accounts.rules import EMAIL_TAKEN, fold_email
from meshmgmt.accounts.services import passwords
from meshmgmt.accounts.services.account import make_account, stored_account_id
from meshmgmt.accounts.setup.owner import start_notice
from meshmgmt.adminsite import home
from meshmgmt.adminsite.filters import SOON, EndFilter
from meshmgmt.adminsite.home import Figure, Place, Tone
from meshmgmt.api.exceptions import register_constraint
from meshmgmt.core import clock, context, modelmodules, rooms
from meshmgmt.core.jobs import HOUR, register_job
from meshmgmt.core.queries import rows_with
from meshmgmt.core.rooms import start_notices
from observability.metrics.counting import by_state
from observability.registries import InventoryRows, register_inventory


def register() -> None:
    audit.register()
    _register_gauges()
    home.contribute_ending("pats", AccessToken, EndFilter, "access token{s}")
    home.contribute(Place.PEOPLE, "users", _pending_users)
    directory.users.add("accounts", known_users)
    directory.find_users.add("accounts", find_users)
    directory.overlay.add("accounts", overlay)
    context.provide_account_id(stored_account_id)
    for label in ("accounts", "events"):
        # Whichever of the two is set up last finds the tables of both.
        rooms.after_migration(label, make_account)
    user_logged_in.connect(audit.record_sign_in, dispatch_uid="accounts.record_sign_in")
    start_notices.add("accounts", start_notice)
    register_job("wrong_passwords", HOUR, passwords.forget_wrong_passwords)
    register_job("ended_sessions", HOUR, SessionStore.clear_expired)
    modelmodules.assign("users", "accounts.user")
    modelmodules.assign("pats", "accounts.accesstoken")
    modelmodules.assign("accounts", "accounts.account")
    register_constraint(
        EMAIL_TAKEN, "accounts_user_email_key", "accounts_user.email_key"
    )


def _register_gauges() -> None:
    text = "Access tokens: valid for longer, expiring within 7 days, or expired."
    register_inventory("mesh_tokens", text, ("state",), _tokens_by_state)
    text = "Users, by state: each is in exactly one."
    register_inventory("mesh_users", text, ("state",), _users_by_state)


def _tokens_by_state() -> InventoryRows:
    now = clock.now()
    return by_state(
        AccessToken.objects,
        valid=Q(expires_at__gt=now + SOON),
        expiring=Q(expires_at__gt=now, expires_at__lte=now + SOON),
        expired=Q(expires_at__lte=now),
    )


def _users_by_state() -> InventoryRows:
    blocked, pending = Q(is_blocked=True), Q(pending_approval=True)
    return by_state(
        User.objects,
        blocked=blocked,
        pending=~blocked & pending,
        active=~blocked & ~pending,
    )


def _pending_users(request: HttpRequest) -> Iterator[Figure]:
    waiting = home.visible(request, User).filter(pending_approval=True)
    url = home.list_url(User, {"pending_approval__exact": "1"})
    yield Figure("to let in", waiting.count(), url, Tone.WARN)


def known_users(keys: Collection[str]) -> Iterator[UserFacts]:
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
