"""The filter of peers by group: one looks the group up, for there may be hundreds."""

from collections.abc import Iterator
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import AutocompleteSelect
from django.db.models import QuerySet
from django.http import HttpRequest

from groups.models import Group, GroupPeer, GroupResource

PARAMETER = "group"

# Pages look groups up by a column that refers to them. That of peers offers the groups
# that people fill (`GroupAdmin.get_search_results`), this one all.
_ANY_GROUP = GroupResource._meta.get_field("group")


class FilterForm(forms.Form):
    group = forms.ModelChoiceField(
        queryset=Group.objects.all(),
        required=False,
        widget=AutocompleteSelect(
            _ANY_GROUP, admin.site, attrs={"data-autosubmit": "", "data-width": "100%"}
        ),
    )


class GroupFilter(admin.SimpleListFilter):
    """Peers that are in a group, by `?group=ID`."""

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
            return queryset.none()
        return queryset if group.is_all else members(queryset, group)


def members(peers: QuerySet[Any], group: Group) -> QuerySet[Any]:
    """Return those of the peers that are listed in a group."""
    return peers.filter(pk__in=_listed(group))


def strangers(peers: QuerySet[Any], group: Group) -> QuerySet[Any]:
    """Return those of the peers that are not listed in a group."""
    return peers.exclude(pk__in=_listed(group))


def _listed(group: Group) -> QuerySet[Any, Any]:
    return GroupPeer.objects.filter(group=group).order_by().values("peer")
