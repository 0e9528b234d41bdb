"""Users that come by a provider: found, made, and kept as its claims say."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from django.conf import settings
from django.db.models import Q

from meshmgmt.accounts import contributions
from meshmgmt.accounts.audit import record_sign_in
from meshmgmt.accounts.models import Account, User
from meshmgmt.accounts.oidc.configured import bearer_claims, is_configured, provider
from meshmgmt.accounts.oidc.identity import (
    Claims,
    Identity,
    claimed_groups,
    completed,
    identity_of,
)
from meshmgmt.accounts.rules import fold_email
from meshmgmt.accounts.tokens import INVALID
from meshmgmt.api.middleware import set_actor
from meshmgmt.core import context
from meshmgmt.core.errors import Forbidden, Unauthenticated
from meshmgmt.core.roles import Role
from meshmgmt.core.transactions import account_write
from observability import idp

Userinfo = Callable[[str], Claims]
"""Tells of a subject what the provider's userinfo endpoint says."""


@dataclass(frozen=True, slots=True)
class SignIn:
    """A user with what the provider said.

    `signed_in`: its claims speak of a sign-in that was not seen before. Joining is one,
    too, with an event of its own.
    """

    user: User
    signed_in: bool = False


def user_of(claims: Claims, userinfo: Userinfo) -> SignIn:
    """Return the user that checked claims speak of, made or updated when needed.

    Costs two queries unless the claims are of a newer sign-in than the last one seen.
    `userinfo` is asked about a newcomer of whom the claims tell no e-mail address.
    Raises Unauthenticated, Forbidden, Unavailable.
    """
    identity = identity_of(claims, role_claim=settings.SVC.oidc_role_claim)
    account = Account.objects.get()
    groups = _groups(claims, account)
    subject = f"{settings.SVC.oidc_issuer}|{identity.subject}"
    user = User.objects.filter(subject=subject).first()
    if user is not None and (not user.is_active or not _is_newer(identity, user)):
        return SignIn(user)
    if user is None and "email" not in claims:
        claims = completed(claims, userinfo(identity.subject))
        identity = identity_of(claims, role_claim=settings.SVC.oidc_role_claim)
    # Unattended: groups that a token takes away may break a promise, and nobody is there
    # to be told.
    with context.scope(unattended=True), account_write():
        user = User.objects.filter(subject=subject).first()
        # Looked up again: another request may have made them before this one had the lock.
        joined = user is None
        first = _is_first_owner(identity)
        if user is None:
            user = _linked(identity, subject) or _created(
                identity, subject, account, is_first_owner=first
            )
        set_actor(user)
        if first:
            _make_owner(user)
        _follow(user, identity)
        if groups is not None:
            contributions.set_jwt_groups.only(user, groups)
        User.objects.filter(
            # Requests with tokens of two sign-ins may come in either order.
            Q(last_login__isnull=True) | Q(last_login__lt=identity.signed_in_at),
            pk=user.pk,
        ).unaudited_update(last_login=identity.signed_in_at)
        user.last_login = identity.signed_in_at
    return SignIn(user, signed_in=identity.tells_sign_in and not joined)


def _is_newer(identity: Identity, user: User) -> bool:
    return user.last_login is None or identity.signed_in_at > user.last_login


def _groups(claims: Claims, account: Account) -> Sequence[str] | None:
    """Return the groups that the claims name, None when they do not count.

    Raises Forbidden when the account lets in certain groups only, and none is named.
    """
    if not account.jwt_groups_enabled or not account.jwt_groups_claim_name:
        return None
    groups = claimed_groups(claims, account.jwt_groups_claim_name)
    # An empty list lets everybody in.
    if account.jwt_allow_groups and set(groups).isdisjoint(account.jwt_allow_groups):
        raise Forbidden("permission denied: none of your groups is let in")
    return groups


def _linked(identity: Identity, subject: str) -> User | None:
    """Return the person who has the identity's e-mail address, linked to it.

    Their one-time password, if they have one, ends: they have come in another way.
    Raises Forbidden unless the provider has verified the address: anybody may claim one.
    """
    if not identity.email:
        return None
    idp.user_looked_up_by_email()
    user = User.objects.people().with_email(identity.email).first()
    if user is None:
        return None
    if not identity.email_verified or user.subject is not None:
        raise Forbidden(
            "permission denied: another user has this e-mail address, and the identity"
            " provider did not confirm that it is yours"
        )
    user.subject = subject
    changed = ["subject"]
    if user.password_is_temporary:
        user.set_unusable_password()
        user.password_is_temporary = False
        changed += ["password", "password_is_temporary"]
    set_actor(user)
    user.save(update_fields=changed)
    return user


def _is_first_owner(identity: Identity) -> bool:
    """Tell whether this person takes over a deployment that nobody owns yet.

    Raises Forbidden for everybody else while SVC_OIDC_OWNER has not signed in: there
    would be users and no owner.
    """
    if User.objects.any_owner():
        return False
    named = settings.SVC.oidc_owner
    if not named:
        return True
    if identity.email_verified and fold_email(identity.email) == fold_email(named):
        return True
    raise Forbidden(
        "permission denied: this deployment has no owner yet; the owner named in its"
        " configuration must sign in first, with an e-mail address that the identity"
        " provider has verified"
    )


def _make_owner(user: User) -> None:
    """Give a person who was known before the owner role; a blocked one stays blocked."""
    if user.role == Role.OWNER or user.is_blocked:
        return
    user.role, user.pending_approval = Role.OWNER, False
    user.save(update_fields=["role", "pending_approval"])


def _created(
    identity: Identity, subject: str, account: Account, *, is_first_owner: bool
) -> User:
    # Anybody may claim an address; one that was denied must not keep its owner out.
    email = "" if identity.email_verified is False else identity.email
    user = User(
        email=email,
        name=identity.name or email,
        role=Role.OWNER if is_first_owner else identity.role or Role.USER,
        issued=User.Issued.JWT,
        subject=subject,
        pending_approval=account.user_approval_required and not is_first_owner,
    )
    user.set_unusable_password()
    set_actor(user)
    user.save(force_insert=True)
    return user


def _follow(user: User, identity: Identity) -> None:
    """Take over role and name; owners keep their role."""
    changed = []
    if identity.role and user.role not in {identity.role, Role.OWNER}:
        user.role = identity.role
        changed.append("role")
    if identity.name not in {"", user.name}:
        user.name = identity.name
        changed.append("name")
    if changed:
        user.save(update_fields=changed)


def user_of_bearer(token: str) -> User:
    """Return the user of a token.

    Raises Unauthenticated, as it does for any without provider, Forbidden, Unavailable.
    """
    if not is_configured():
        raise Unauthenticated(INVALID)
    userinfo = partial(provider().userinfo, token=token)
    found = user_of(bearer_claims(token), userinfo)
    # A blocked user's sign-in was none; the permission check refuses the request.
    if found.signed_in and found.user.is_active:
        record_sign_in(found.user)
    return found.user
