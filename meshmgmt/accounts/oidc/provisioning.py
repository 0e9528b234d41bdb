"""Users that come by a provider: found, made, and kept as its claims say."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db.models import Q

from events.activities import Activity
from events.audit.emission import audit_record
from meshmgmt.accounts.audit import user_facts
from meshmgmt.accounts.models import Account, User
from meshmgmt.accounts.oidc.identity import (
    Claims,
    Identity,
    claimed_groups,
    identity_of,
)
from meshmgmt.accounts.registries import set_jwt_groups
from meshmgmt.api.middleware import set_actor
from meshmgmt.core.errors import Forbidden
from meshmgmt.core.roles import Role
from meshmgmt.core.transactions import account_write
from observability import idp


@dataclass(frozen=True, slots=True)
class SignIn:
    """A user with what the provider said; `fresh` is a sign-in not seen before."""

    user: User
    fresh: bool
    joined: bool = False


def user_of(claims: Claims) -> SignIn:
    """Return the user that checked claims speak of, made or updated when needed.

    Costs two queries unless the claims are of a newer sign-in than the last one seen.
    Raises Unauthenticated, Forbidden.
    """
    identity = identity_of(claims, role_claim=settings.SVC.oidc_role_claim)
    account = Account.objects.get()
    groups = _groups(claims, account)
    subject = _stored_subject(identity)
    user = User.objects.filter(subject=subject).first()
    if user is not None and (not user.is_active or not _is_newer(identity, user)):
        return SignIn(user, fresh=False)
    with account_write():
        user = User.objects.filter(subject=subject).first()
        joined = user is None
        if user is None:
            user = _linked(identity, subject) or _created(identity, subject, account)
        _follow(user, identity)
        if groups is not None:
            set_jwt_groups(user, groups)
        User.objects.filter(
            Q(last_login__isnull=True) | Q(last_login__lt=identity.signed_in_at),
            pk=user.pk,
        ).unaudited_update(last_login=identity.signed_in_at)
        user.last_login = identity.signed_in_at
    return SignIn(user, fresh=True, joined=joined)


def _stored_subject(identity: Identity) -> str:
    return f"{settings.SVC.oidc_issuer}|{identity.subject}"


def _is_newer(identity: Identity, user: User) -> bool:
    return user.last_login is None or identity.signed_in_at > user.last_login


def _groups(claims: Claims, account: Account) -> Sequence[str] | None:
    """Return the groups that the claims name, None when they do not count.

    Raises Forbidden when the account lets in certain groups only, and none is named.
    """
    if not account.jwt_groups_enabled or not account.jwt_groups_claim_name:
        return None
    groups = claimed_groups(claims, account.jwt_groups_claim_name)
    if account.jwt_allow_groups and set(groups).isdisjoint(account.jwt_allow_groups):
        raise Forbidden("permission denied: none of your groups is let in")
    return groups


def _linked(identity: Identity, subject: str) -> User | None:
    """Return the person who has the identity's e-mail address, linked to it.

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
    set_actor(user)
    user.save(update_fields=["subject"])
    return user


def _created(identity: Identity, subject: str, account: Account) -> User:
    user = User(
        email=identity.email,
        name=identity.name,
        role=identity.role or Role.USER,
        issued=User.Issued.JWT,
        subject=subject,
        pending_approval=account.user_approval_required,
    )
    user.set_unusable_password()
    set_actor(user)
    user.save(force_insert=True)
    meta = user_facts(user)
    if user.pending_approval:
        meta["pending_approval"] = True
    audit_record(Activity.USER_JOIN, target_id=user.pk, target_type="user", meta=meta)
    return user


def _follow(user: User, identity: Identity) -> None:
    """Take over role and name; owners keep their role, and people made here their name."""
    set_actor(user)
    changed = []
    if identity.role and user.role not in {identity.role, Role.OWNER}:
        user.role = identity.role
        changed.append("role")
    if user.issued == User.Issued.JWT and identity.name not in {"", user.name}:
        user.name = identity.name
        changed.append("name")
    if changed:
        user.save(update_fields=changed)
