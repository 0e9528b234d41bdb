"""What groups add to the pages of peers: a column, a filter, actions, a field."""

from collections.abc import Iterator
from typing import Any, Final

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.views.main import SEARCH_VAR
from django.contrib.admin.widgets import AutocompleteSelect
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from events.admin.cells import Fact, joined
from groups.admin.changing import Deed, group_link
from groups.models import Group, GroupPeer, GroupResource
from groups.selectors import all_group_id, static_groups
from groups.services import set_groups_of_peer
from meshmgmt.adminsite.fields import OrderedListField
from meshmgmt.adminsite.lists import is_in_file
from meshmgmt.adminsite.look import some
from meshmgmt.core.transactions import account_write
from meshmgmt.inventory.admin.peerlist import PeerList
from meshmgmt.inventory.admin.peers import PeerAdmin, PeerForm
from meshmgmt.inventory.models import Peer

PARAMETER = "group"

# Pages look groups up by a column that refers to them. That of peers offers the groups
# that people fill (`GroupAdmin.get_search_results`), this one all.
_ANY_GROUP = GroupResource._meta.get_field("group")


GONE: Final = "The group that this list is of is gone: choose another one, or any."


class FilterForm(forms.Form):
    group = forms.ModelChoiceField(
        queryset=Group.objects.all(),
        required=False,
        widget=AutocompleteSelect(
            _ANY_GROUP, admin.site, attrs={"data-autosubmit": "", "data-width": "100%"}
        ),
    )


class GroupFilter(admin.SimpleListFilter):
    """Peers that are in a group, by `?group=ID`; looked up, for there may be hundreds."""

    title = "group"
    parameter_name = PARAMETER
    template = "admin/groups/group_filter.html"

    def __init__(self, request: HttpRequest, *args: Any) -> None:
        super().__init__(request, *args)
        self.form = FilterForm(
            initial={PARAMETER: self.value() or ""}, auto_id="filter-%s"
        )
        self.others: list[tuple[str, str]] = []

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return no choices: they are looked up."""
        return []

    def has_output(self) -> bool:
        """Show the filter all the same."""
        return True

    def choices(self, changelist: Any) -> Iterator[Any]:
        """Yield nothing, but note the other parameters, which the filter's form keeps."""
        params = changelist.get_filters_params().items()
        self.others = [
            (name, value)
            for name, values in params
            for value in (values if isinstance(values, list) else [values])
            if name != PARAMETER
        ]
        if changelist.query:
            self.others.append(("q", changelist.query))
        self.without = changelist.get_query_string(remove=[PARAMETER])
        return iter(())

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[Any]
    ) -> QuerySet[Any] | None:
        """Keep the members; everybody is in `All`, nobody in a group there is not."""
        if not self.value():
            return None
        group = Group.objects.filter(pk=self.value()).first()
        if group is None:
            messages.warning(request, GONE)
            return queryset.none()
        return queryset if group.is_all else queryset.filter(pk__in=listed_in(group))


def listed_in(group: Group) -> QuerySet[Any, Any]:
    """Return the ids of the peers that a group lists."""
    return GroupPeer.objects.filter(group=group).order_by().values("peer")


class GroupedPeerForm(PeerForm):
    """A peer with the groups that people put it into."""

    groups = OrderedListField(
        GroupPeer._meta.get_field("group"),
        help_text="Every peer is in All; groups of an identity provider are not listed.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.adding:
            mine = static_groups().filter(peer_links__peer=self.instance.pk)
            ids = mine.order_by("pk").values_list("pk", flat=True)
            self.initial["groups"] = list(ids)

    def apply(self, data: dict[str, Any]) -> Peer:
        """Write the peer, and the memberships that came and went."""
        values = dict(data)
        groups = values.pop("groups")
        with account_write():
            written = super().apply(values)
            set_groups_of_peer(written.pk, groups)
            return written


class GroupedPeerList(PeerList):
    def complete(self, request: HttpRequest, shown: list[Any]) -> None:
        """Read the groups of all peers of the page at once."""
        super().complete(request, shown)
        by_peer: dict[str, list[Group]] = {}
        links = GroupPeer.objects.filter(peer__in=[peer.pk for peer in shown])
        for link in links.select_related("group").order_by("group__name", "id"):
            by_peer.setdefault(link.peer_id, []).append(link.group)
        for peer in shown:
            peer.listed_groups = by_peer.get(peer.pk, [])


_ADD: Final = Deed("add_to_group", "Add peers to groups", ["join"])
_REMOVE: Final = Deed("remove_from_group", "Remove peers from groups", ["leave"])
_MOVE: Final = Deed("move_to_group", "Move peers to other groups", ["leave", "join"])

# The inventory, which knows of no groups, has registered its own page.
admin.site.unregister(Peer)


@admin.register(Peer)
class GroupedPeerAdmin(PeerAdmin):
    form = GroupedPeerForm
    list_class = GroupedPeerList
    actions = ["add_to_group", "remove_from_group", "move_to_group"]
    readonly_fields = [*PeerAdmin.readonly_fields, "fixed_groups", "all_groups"]
    list_filter = [GroupFilter, *PeerAdmin.list_filter]
    list_display = [
        *("title", "state", "address", "owner", "group_names"),
        *("location", "client"),
    ]
    search_help_text = "Name, address, DNS label, host name, owner's e-mail, or group."

    add_to_group = _ADD.action("Add to group")
    remove_from_group = _REMOVE.action("Remove from group")
    move_to_group = _MOVE.action("Move to group")

    @property
    def media(self) -> forms.Media:
        """What the pages load, with what the filter needs."""
        own = forms.Media(css={"all": ["groups/peers.css"]}, js=["groups/pages.js"])
        return super().media + FilterForm().media + own

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Find peers, in the list also by the name of a group."""
        found, repeats = super().get_search_results(request, queryset, search_term)
        # Forms that look a peer up ask by another parameter.
        if not search_term or SEARCH_VAR not in request.GET:
            return found, repeats
        named = Group.objects.filter(name__icontains=search_term.strip())
        links = GroupPeer.objects.filter(group__in=named).order_by()
        return found | queryset.filter(pk__in=links.values("peer")), repeats

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Put the groups beside what a peer is; who may not change it sees them all."""
        first, *rest = super().get_fieldsets(request, obj)
        names = ["groups", "fixed_groups"] if obj else ["groups"]
        if not self.has_change_permission(request, obj):
            names = ["all_groups"]
        return [first, ("Groups", {"fields": names}), *rest]

    def page_facts(self, peer: Peer) -> list[Fact]:
        """Add the groups, with links to them."""
        return [
            *super().page_facts(peer),
            Fact("Groups", joined(*map(group_link, _groups_of(peer)))),
        ]

    def has_membership_permission(self, request: HttpRequest) -> bool:
        """Tell whether somebody may change groups, which the actions do."""
        return bool(request.user.has_perm("groups.change_group"))

    @admin.display(description="groups")
    def group_names(self, peer: Any) -> SafeString:
        """The first groups, and how many more there are."""
        return some(map(group_link, peer.listed_groups), whole=is_in_file(peer))

    @admin.display(description="always in")
    def fixed_groups(self, peer: Peer) -> SafeString:
        """Groups that the form does not change: `All`, and those of a provider."""
        return _names(_groups_of(peer).exclude(pk__in=static_groups().values("pk")))

    @admin.display(description="groups")
    def all_groups(self, peer: Peer) -> SafeString:
        return _names(_groups_of(peer))


def _groups_of(peer: Peer) -> QuerySet[Group]:
    # Everybody is in `All` without being listed.
    listed = GroupPeer.objects.filter(peer=peer).values("group")
    return Group.objects.filter(Q(pk__in=listed) | Q(pk=all_group_id())).order_by("pk")


def _names(groups: QuerySet[Group]) -> SafeString:
    names = ((group.name,) for group in groups)
    return format_html_join(", ", "<bdi>{}</bdi>", names)
