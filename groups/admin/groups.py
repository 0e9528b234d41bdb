"""Admin pages of groups."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from groups.admin.members import urls as member_urls
from groups.audit import resource_names
from groups.models import ALL, Group, GroupPeer, GroupResource, Issued
from groups.references import Usage, usages_of
from groups.rules import ResourceKey
from groups.selectors import static_groups
from groups.services import group_create, group_delete, group_update
from meshmgmt.api.admin import ServiceAdmin, ServiceForm
from meshmgmt.core.orderedlinks import member_keys
from meshmgmt.core.printable import printable


class ResourcesField(forms.CharField):
    """Resources, one per line: id and type."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("required", False)
        kwargs.setdefault("widget", forms.Textarea(attrs={"rows": 4}))
        super().__init__(**kwargs)

    def prepare_value(self, value: Any) -> Any:
        """Return stored keys as lines."""
        if isinstance(value, str | None):
            return value
        return "\n".join(f"{identifier} {kind}" for identifier, kind in value)

    def clean(self, value: Any) -> list[ResourceKey]:
        """Return (id, type) of each line; what is missing is empty."""
        lines = [line.split() for line in super().clean(value).splitlines()]
        return [(line[0], " ".join(line[1:])) for line in lines if line]


class GroupForm(ServiceForm):
    """The name of a group and its resources; members have pages of their own."""

    name = forms.CharField(required=False, strip=False)
    resources = ResourcesField(
        help_text="One per line: id and type (host, subnet, domain or peer)."
    )

    class Meta:
        model = Group
        fields = ["name"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.adding:
            self.initial["resources"] = member_keys(GroupResource, self.instance)

    def apply(self, data: dict[str, Any]) -> Group:
        """Create or change the group; its peers stay."""
        wanted = {name: data[name] for name in ("name", "resources")}
        if self.adding:
            return group_create(**wanted)
        return group_update(group_id=self.instance.pk, peers=None, **wanted)


def _count(link: type[GroupPeer] | type[GroupResource]) -> Coalesce:
    """Return the number of a group's rows, as a column of the list."""
    rows = link._default_manager.filter(group=OuterRef("pk")).order_by()
    counted = rows.values("group").annotate(number=Count("id")).values("number")
    return Coalesce(Subquery(counted), 0)


@admin.register(Group)
class GroupAdmin(ServiceAdmin):
    """Groups, what is in them, and what refers to them."""

    form = GroupForm
    list_display = ["name", "issued", "peers_count", "resources_count", "created_at"]
    list_filter = ["issued"]
    search_fields = ["name", "=id"]
    ordering = ["id"]
    fields = [
        *("id", "name", "issued", "members", "member_count"),
        *("resources", "known_resources", "created_at", "used_by"),
    ]
    readonly_fields = [
        *("id", "issued", "members", "member_count"),
        *("known_resources", "created_at", "used_by"),
    ]

    def get_urls(self) -> list[Any]:
        return [*member_urls(), *super().get_urls()]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Group]:
        groups: QuerySet[Group] = super().get_queryset(request)
        return groups.annotate(
            number_of_peers=_count(GroupPeer), number_of_resources=_count(GroupResource)
        )

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the columns; a new group has fewer, `All` lists no resources.

        Who may not change the group sees the resources as what they are alone.
        """
        if obj is None:
            return ["name", "resources"]
        may_change = self.has_change_permission(request, obj)
        hidden = {"member_count"} if may_change else {"members", "resources"}
        if obj.is_all:
            hidden.add("known_resources")
        return [name for name in self.fields or [] if name not in hidden]

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Find groups; where peers are to be put into one, those that people fill."""
        found, repeats = super().get_search_results(request, queryset, search_term)
        if request.GET.get("model_name") == GroupPeer._meta.model_name:
            found = found.filter(pk__in=static_groups().values("pk"))
        return found, repeats

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        """End rows with a way to their deletion, for those who may delete."""
        may_delete = self.has_delete_permission(request)
        return [*self.list_display, *(["deletion"] if may_delete else [])]

    def response_add(
        self, request: HttpRequest, obj: Group, post_url_continue: str | None = None
    ) -> HttpResponse:
        """Lead from a new group to its members, unless something else is asked for."""
        response = super().response_add(request, obj, post_url_continue)
        if {"_continue", "_addanother", "_popup"} & request.POST.keys():
            return response
        return HttpResponseRedirect(
            reverse("admin:groups_group_members", args=[obj.pk])
        )

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Let `All` be read only."""
        return super().has_change_permission(request, obj) and not _is_all(obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Keep `All`."""
        return super().has_delete_permission(request, obj) and not _is_all(obj)

    def delete_object(self, instance: Group) -> None:
        group_delete(group_id=instance.pk)

    @admin.display(description="peers", ordering="number_of_peers")
    def peers_count(self, group: Any) -> SafeString:
        """How many peers are listed, leading to them; everybody in `All`."""
        number = "all" if group.is_all else int(group.number_of_peers)
        return _link("members", group, number)

    @admin.display(description="deletion")
    def deletion(self, group: Any) -> SafeString | str:
        """The page that tells what would break, and deletes."""
        if _is_all(group):
            return ""
        path = reverse("admin:groups_group_delete", args=[group.pk])
        name = printable(group.name)
        return format_html('<a href="{}" aria-label="Delete {}">Delete</a>', path, name)

    @admin.display(description="members")
    def member_count(self, group: Any) -> SafeString:
        """How many peers are in the group, leading to them."""
        number = group.number_of_peers
        text = f"{number} peer{'' if number == 1 else 's'}"
        return _link("members", group, "every peer" if group.is_all else text)

    @admin.display(description="members")
    def members(self, group: Any) -> SafeString:
        """How many peers are in the group, and where they are changed."""
        return format_html(
            "{} · {} · {}",
            self.member_count(group),
            _link("paste", group, "Add by a list"),
            _link("choose", group, "Add by search"),
        )

    @admin.display(description="known as")
    def known_resources(self, group: Group) -> SafeString | str:
        """What the resources are, as far as their ids name something."""
        keys = member_keys(GroupResource, group)
        names = resource_names(keys)
        rows = ((printable(names.get(key, "unknown")), *key) for key in keys)
        lines = format_html_join(
            "", "<tr><td><bdi>{}</bdi></td><td>{}</td><td>{}</td></tr>", rows
        )
        return format_html("<table>{}</table>", lines) if keys else "-"

    @admin.display(description="resources", ordering="number_of_resources")
    def resources_count(self, group: Any) -> int:
        return int(group.number_of_resources)

    @admin.display(description="used by")
    def used_by(self, group: Group) -> SafeString | str:
        """What refers to the group, and what its deletion would disable."""
        usages = usages_of(group.pk)
        if not usages:
            return "nothing"
        items = format_html_join("", "<li>{}</li>", ((_line(x),) for x in usages))
        return format_html("<ul>{}</ul>", items)


def _link(page: str, group: Group, text: object) -> SafeString:
    path = reverse(f"admin:groups_group_{page}", args=[group.pk])
    return format_html('<a href="{}">{}</a>', path, text)


def _is_all(group: Group | None) -> bool:
    return group is not None and group.name == ALL and group.issued == Issued.API


def _line(usage: Usage) -> str:
    effect = "; will be disabled with the group" if usage.disabled_by_deletion else ""
    kind = usage.kind.replace("_", " ")
    return f"{kind} {usage.name}: {usage.relation.replace('_', ' ')}{effect}"
