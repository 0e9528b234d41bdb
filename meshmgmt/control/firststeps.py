"""The first steps on an empty mesh, on the admin site's first page."""

from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from meshmgmt.access.models import Invite, Policy, SetupKey
from meshmgmt.accounts.models import Account, User
from meshmgmt.api.home import Line
from meshmgmt.core.roles import Operation, allowed
from meshmgmt.inventory.models import Peer

DISMISSED: Final = "first_steps"
"""The session's word for "do not show them", and the parameter that says so."""
_FEW: Final = 5
"""With so many peers a mesh is not empty, whatever else is missing."""


def first_steps(request: HttpRequest) -> Iterator[Line]:
    """Yield what is to be done, in order, until all of it is or somebody waves it off."""
    if DISMISSED in request.GET:
        request.session[DISMISSED] = True
    role = getattr(request.user, "role", "")
    may = allowed(role, "setup_keys", Operation.CREATE)
    if not may or not settings.SVC.grpc_bind or request.session.get(DISMISSED):
        return
    if Peer.objects.values("pk")[: _FEW + 1].count() > _FEW:
        return
    steps = list(_steps(request))
    if all(line.detail == "done" for line in steps):
        return
    yield from steps
    yield Line("Do not show this any more", url=f"?{DISMISSED}=off")


def _steps(request: HttpRequest) -> Iterator[Line]:
    account = Account.objects.get()
    named = account.dns_domain not in ("", settings.SVC.dns_domain)
    settings_page = reverse("admin:accounts_account_change", args=[account.pk])
    joined = Peer.objects.exists()
    policy = Policy.objects.exclude(name="Default").exists()
    invited = Invite.objects.exists() or User.objects.people().count() > 1
    yield _step(
        "1. Choose the domain that peers are named in",
        settings_page,
        done=named,
        detail=account.peers_domain,
    )
    add = reverse("admin:access_setupkey_add")
    yield _step("2. Make a setup key", add, done=SetupKey.objects.exists())
    code = f"netbird up --management-url {peers_url(request)} --setup-key KEY"
    yield Line(
        "3. Run this on a machine, with the key", "done" if joined else "", code=code
    )
    peers = reverse("admin:inventory_peer_changelist")
    watch = "it shows here by itself"
    yield _step("4. See the first peer come online", peers, done=joined, detail=watch)
    add = reverse("admin:access_policy_add")
    yield _step("5. Say who may reach whom: a policy", add, done=policy)
    add = reverse("admin:access_invite_add")
    yield _step("6. Invite somebody", add, done=invited)


def _step(text: str, url: str, *, done: bool, detail: str = "") -> Line:
    return Line(text, "done" if done else detail, url)


def peers_url(request: HttpRequest) -> str:
    """Return where peers connect: beside the API where a proxy has TLS, else the port."""
    if request.is_secure():
        return f"https://{request.get_host()}"
    host = urlsplit(f"//{request.get_host()}").hostname or ""
    port = settings.SVC.grpc_bind.rpartition(":")[2]
    scheme = "https" if settings.SVC.grpc_certificate else "http"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
