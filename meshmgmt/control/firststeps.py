"""The first steps on an empty mesh, on the admin site's first page."""

from collections.abc import Iterator
from typing import Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from meshmgmt.access.admin.enrolment import enrol_command
from meshmgmt.access.models import Invite, Policy, SetupKey
from meshmgmt.accounts.models import Account, User
from meshmgmt.accounts.models.account import default_dns_domain
from meshmgmt.accounts.services.account import account_update
from meshmgmt.adminsite.home import Line
from meshmgmt.api.permissions import check_page, may
from meshmgmt.core.roles import Operation
from meshmgmt.inventory.models import Peer

_FEW: Final = 5
"""With so many peers a mesh is not empty, whatever else is missing."""


def dismiss(request: HttpRequest) -> HttpResponse:
    """Show the steps to nobody any more, if that is posted."""
    check_page(request, "settings", Operation.UPDATE)
    if request.method == "POST":
        account_update(settings={"first_steps_dismissed": True})
        messages.success(request, "The first steps are not shown any more.")
    return redirect("admin:index")


def first_steps(request: HttpRequest) -> Iterator[Line]:
    """Yield what is to be done, in order, until all of it is or somebody waves it off."""
    if not may(request, "setup_keys", Operation.CREATE):
        return
    if not enrol_command(request, "KEY"):
        return
    if Peer.objects.values("pk")[: _FEW + 1].count() > _FEW:
        return
    account = Account.objects.get()
    if account.first_steps_dismissed:
        return
    steps = list(_steps(request, account))
    if all(line.detail == "done" for line in steps):
        return
    yield from steps
    if may(request, "settings", Operation.UPDATE):
        yield Line("Do not show this any more", post=reverse("admin-first-steps"))


def _steps(request: HttpRequest, account: Account) -> Iterator[Line]:
    named = account.dns_domain not in ("", default_dns_domain())
    settings_page = reverse("admin:accounts_account_change", args=[account.pk])
    joined = Peer.objects.exists()
    policy = Policy.objects.exclude(name="Default").exists()
    invited = Invite.objects.exists() or User.objects.people().count() > 1
    text = "1. Choose the domain that peers are named in"
    yield _step(text, settings_page, done=named, detail=account.peers_domain)
    add = reverse("admin:access_setupkey_add")
    yield _step("2. Make a setup key", add, done=SetupKey.objects.exists())
    text, code = "3. Run this on a machine, with the key", enrol_command(request, "KEY")
    yield Line(text, "done" if joined else "", code=code)
    peers = reverse("admin:inventory_peer_changelist")
    online = "done" if joined else "it shows here by itself"
    yield Line("4. See the first peer come online", online, peers, soon=not joined)
    add = reverse("admin:access_policy_add")
    yield _step("5. Say who may reach whom: a policy", add, done=policy)
    add = reverse("admin:access_invite_add")
    yield _step("6. Invite somebody", add, done=invited)


def _step(text: str, url: str, *, done: bool, detail: str = "") -> Line:
    return Line(text, "done" if done else detail, url)
