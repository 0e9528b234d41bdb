"""The page between choosing peers and changing their groups: which groups, and a preview.

The choice of peers comes back with the page as the list sent it (`select_across` stands
for all pages), so it is made anew under the lock and compared with what was shown.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from django import forms
from django.contrib import admin, messages
from django.contrib.admin import helpers
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from groups.models import Group, GroupPeer
from groups.selectors import static_groups
from groups.services import Part, carry_out, plan
from meshmgmt.adminsite.fields import OrderedListField
from meshmgmt.adminsite.site import page
from meshmgmt.core.printable import counted
from meshmgmt.core.transactions import account_write

CHANGED_MEANWHILE: Final = (
    "somebody changed these peers or groups meanwhile: this is what would happen now"
)

_GROUP = GroupPeer._meta.get_field("group")


class GroupsForm(forms.Form):
    """The groups that the chosen peers leave and join."""

    leave = OrderedListField(_GROUP, label="Out of")
    join = OrderedListField(_GROUP, label="Into")

    def clean(self) -> dict[str, Any]:
        """Refuse groups that would be left and joined at once."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if set(cleaned.get("leave", ())) & set(cleaned.get("join", ())):
            raise forms.ValidationError("a group cannot be left and joined at once")
        return cleaned


@dataclass(frozen=True, slots=True)
class Deed:
    """An action on peers: what it is called, and which lists of groups it takes.

    `fixed` gives groups that are no choice: those of the page that one is on. `then` is
    where it leads when it is done, "" for back to the list.
    """

    name: str
    title: str
    asks: Sequence[str]
    fixed: dict[str, list[str]] = field(default_factory=dict)
    then: str = ""

    def action(self, description: str) -> Any:
        """Return it as an action of a list."""
        named = admin.action(description=description, permissions=["membership"])
        # A partial, for Django writes what it is called onto it, which no method takes.
        return named(partial(self.run))

    def run(
        self, pages: Any, request: HttpRequest, peers: QuerySet[Any]
    ) -> HttpResponse:
        """Show the page, or do what it says and lead back to the list."""
        # Nobody changes anything between the comparison and the change.
        doing = "apply" in request.POST
        with account_write() if doing else nullcontext():
            page = _Page(self, pages, request, peers)
            done = doing and page.may_apply
            if done:
                carry_out(page.plan)
        if not done:
            return page.response()
        page.tell()  # the end of the write may still refuse it
        return HttpResponseRedirect(self.then or request.get_full_path())


class _Page:
    def __init__(
        self, deed: Deed, pages: Any, request: HttpRequest, peers: QuerySet[Any]
    ) -> None:
        self.deed = deed
        self.pages = pages
        self.request = request
        ids = list(peers.order_by("pk").values_list("pk", flat=True))
        self.form = self._form(peers, len(ids))
        groups = self._groups()
        self.complete = bool(groups) and all(groups.get(n) for n in deed.asks)
        self.plan = plan(
            ids, join=groups.get("join", ()), leave=groups.get("leave", ())
        )

    @property
    def may_apply(self) -> bool:
        """Whether this is what the preview showed."""
        shown = self.request.POST.get("shown", "")
        return self.complete and shown == self.plan.mark

    def _form(self, peers: QuerySet[Any], number: int) -> GroupsForm:
        # Coming from the list, this page's own form was not sent yet.
        sent = self.request.POST if "chosen" in self.request.POST else None
        form = GroupsForm(sent, initial={"leave": self._left_by_default(peers, number)})
        for name in set(form.fields) - set(self.deed.asks):
            del form.fields[name]
        return form

    def _left_by_default(self, peers: QuerySet[Any], number: int) -> list[str]:
        """Return the group that the list shows, or the one that all peers are in."""
        if "leave" not in self.deed.asks:
            return []
        if chosen := self.request.GET.get("group"):
            return [chosen]
        links = GroupPeer.objects.filter(
            peer__in=peers.order_by().values("pk"), group__in=static_groups()
        )
        counts = links.order_by().values_list("group").annotate(number=Count("id"))
        shared = [pk for pk, found in counts if found == number]
        if len(shared) > 1:  # the one that was searched for
            sought = {"pk__in": shared, "name__iexact": self.request.GET.get("q", "")}
            shared = list(static_groups().filter(**sought).values_list("pk", flat=True))
        return shared if len(shared) == 1 else []

    def _groups(self) -> dict[str, list[str]]:
        """Return the groups chosen, by list; nothing while the choice is wrong."""
        if self.deed.fixed:
            return self.deed.fixed
        if not self.form.is_bound:
            return {name: self.form[name].initial or [] for name in self.deed.asks}
        return self.form.cleaned_data if self.form.is_valid() else {}

    def response(self) -> HttpResponse:
        """Return the page; one that was to be applied says why it was not."""
        late = "apply" in self.request.POST and self.complete
        facts = {
            "deed": self.deed,
            "opts": self.pages.opts,
            "form": self.form,
            "media": self.pages.media + self.form.media,
            "plan": self.plan,
            "complete": self.complete,
            "late": CHANGED_MEANWHILE if late else "",
            "back": self.request.get_full_path(),
            "checkbox": helpers.ACTION_CHECKBOX_NAME,
            "selected": self.request.POST.getlist(helpers.ACTION_CHECKBOX_NAME),
            "across": self.request.POST.get("select_across", "0"),
        }
        return page(self.request, "admin/groups/changing.html", self.deed.title, facts)

    def tell(self) -> None:
        """Say what was done, with ways to look at it."""
        told = format_html_join(" ", "{}.", ((_done(x),) for x in self.plan.parts))
        level = messages.SUCCESS if self.plan.changes else messages.INFO
        self.pages.message_user(self.request, told, level)


def _done(part: Part) -> SafeString:
    """Return a sentence about one group."""
    number = len(part.changing)
    return format_html(
        "{} {} {}{}",
        counted(number, "peer"),
        "joined" if part.joins else "left",
        group_link(part.group),
        f" ({part.same} {'were' if part.joins else 'were not'} in it)"
        if part.same
        else "",
    )


def members_path(group: Group) -> str:
    return reverse("admin:groups_group_members", args=[group.pk])


def group_link(group: Group) -> SafeString:
    """Return the name of a group, which leads to its members."""
    path = members_path(group)
    return format_html('<a href="{}"><bdi>{}</bdi></a>', path, group.name)
