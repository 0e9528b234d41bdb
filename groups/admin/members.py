"""The members of one group: a list to search and remove from, and ways to add more."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import path, reverse
from django.utils.html import format_html

from groups.admin.changing import Deed, group_link, members_path
from groups.admin.peers import GroupedPeerAdmin, GroupFilter, listed_in
from groups.models import Group
from groups.rules import Candidate, Resolved, resolve
from groups.services import Plan, carry_out, plan
from meshmgmt.accounts.selectors import account_domain
from meshmgmt.adminsite.site import page
from meshmgmt.core.errors import ServiceError
from meshmgmt.core.transactions import account_write
from meshmgmt.inventory.models import Peer


class MemberList(GroupedPeerAdmin):
    """The peers in a group, or with `inside=False` all others."""

    change_list_template = "admin/groups/members.html"
    list_filter = [GroupFilter, "connected", "approval_required", "login_expired"]
    ordering = ["name", "id"]
    actions = ["remove_members", "add_members"]
    # Views are kept by model, and those of peers belong to their own list.
    keeps_views = False

    def __init__(self, group: Group, *, inside: bool) -> None:
        super().__init__(Peer, admin.site)
        self.group = group
        self.inside = inside
        self.kept = "remove_members" if inside else "add_members"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        peers, listed = super().get_queryset(request), listed_in(self.group)
        return (
            peers.filter(pk__in=listed) if self.inside else peers.exclude(pk__in=listed)
        )

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Return the one thing that can be done here."""
        actions = super().get_actions(request)
        return {name: actions[name] for name in actions if name == self.kept}

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    @admin.action(description="Remove from the group", permissions=["membership"])
    def remove_members(
        self, request: HttpRequest, peers: QuerySet[Any]
    ) -> HttpResponse:
        """Show who would leave, then do it."""
        return self._deed("Remove members", "leave").run(self, request, peers)

    @admin.action(description="Add to the group", permissions=["membership"])
    def add_members(self, request: HttpRequest, peers: QuerySet[Any]) -> HttpResponse:
        """Show who would join, then do it."""
        return self._deed("Add members", "join").run(self, request, peers)

    def _deed(self, title: str, side: str) -> Deed:
        then = "" if self.inside else members_path(self.group)
        return Deed(self.kept, title, [], {side: [self.group.pk]}, then)

    def show(self, request: HttpRequest) -> HttpResponse:
        title = "Members" if self.inside else "Choose members"
        context = {
            "title": f"{title} of {self.group.name}",
            "group": self.group,
            "inside": self.inside,
            "may_change": self.has_membership_permission(request),
        }
        return self.changelist_view(request, context)


class PasteForm(forms.Form):
    """A list of peers as people have it."""

    peers = forms.CharField(
        label="Peers",
        help_text="One per line: name, DNS label, address or id.",
        widget=forms.Textarea(attrs={"rows": 12, "cols": 50, "spellcheck": "false"}),
        required=False,
    )


def urls() -> list[Any]:
    wrap = admin.site.admin_view
    prefix = "<str:group_id>/members/"
    return [
        path(prefix, wrap(_inside), name="groups_group_members"),
        path(f"{prefix}choose/", wrap(_outside), name="groups_group_choose"),
        path(f"{prefix}paste/", wrap(_paste), name="groups_group_paste"),
    ]


def _inside(request: HttpRequest, group_id: str) -> HttpResponse:
    group = _group(request, group_id, "view")
    if group.is_all:  # everybody
        return HttpResponseRedirect(reverse("admin:inventory_peer_changelist"))
    return MemberList(group, inside=True).show(request)


def _outside(request: HttpRequest, group_id: str) -> HttpResponse:
    group = _group(request, group_id, "change")
    return MemberList(group, inside=False).show(request)


def _paste(request: HttpRequest, group_id: str) -> HttpResponse:
    """Take a list of peers; nothing is written while a line of it is unclear."""
    group = _group(request, group_id, "change")
    form = PasteForm(request.POST or None)
    shown: dict[str, Any] = {"resolved": None, "plan": None}
    if form.is_valid():
        try:
            with account_write():
                # Also for a preview: what is read here tells whether it is one.
                resolved = _resolved(form.cleaned_data["peers"])
                wanted = plan(resolved.peers, join=[group.pk], leave=[])
                if not wanted.parts:  # deleted while the lock was waited for
                    raise Http404
                meant = _is_meant(request, resolved, wanted)
                if meant:
                    carry_out(wanted)
        except ServiceError as error:
            form.add_error("peers", error.message)
        else:
            if meant:
                return _added(request, group, wanted)
            shown = {"resolved": resolved, "plan": wanted}
    facts = {
        "opts": Group._meta,
        "group": group,
        "form": form,
        "media": admin.site.get_model_admin(Peer).media,
        **shown,
    }
    return page(
        request, "admin/groups/paste.html", f"Add members to {group.name}", facts
    )


def _is_meant(request: HttpRequest, resolved: Resolved, wanted: Plan) -> bool:
    """Tell whether to write: all is clear, or the rest is wanted that was shown."""
    if not resolved.peers:
        return False
    return resolved.is_clear or request.POST.get("rest") == wanted.mark


def _resolved(text: str) -> Resolved:
    # The columns of a `Candidate`, in its order.
    rows = Peer.objects.order_by("pk").values_list(
        "pk", "name", "dns_label", "ip", "ipv6"
    )
    candidates = [Candidate(*row) for row in rows]
    return resolve(text.splitlines(), candidates, account_domain())


def _added(request: HttpRequest, group: Group, done: Plan) -> HttpResponse:
    [part] = done.parts
    pages = admin.site.get_model_admin(Peer)
    text = format_html(
        "{} joined {}, {} were in it.", len(part.changing), group_link(group), part.same
    )
    pages.message_user(request, text, messages.SUCCESS)
    return HttpResponseRedirect(members_path(group))


def _group(request: HttpRequest, group_id: str, right: str) -> Group:
    """Return the group for who has the right. Raises Http404, PermissionDenied."""
    user = request.user
    if not (
        user.has_perm(f"groups.{right}_group") and user.has_perm("inventory.view_peer")
    ):
        raise PermissionDenied
    group = get_object_or_404(Group, pk=group_id)
    if right == "change" and group.is_all:
        raise PermissionDenied
    return group
