"""Admin pages of groups, and the choice of their resources by name."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from events.admin.objectpages import ObjectPage, ObjectPages
from groups.admin.changing import members_path
from groups.admin.members import urls as member_urls
from groups.audit import resource_names
from groups.models import Group, GroupPeer, GroupResource
from groups.references import Usage, usages_of
from groups.rules import ResourceKey
from groups.selectors import static_groups
from groups.services import group_create, group_delete, group_update
from meshmgmt.adminsite.look import shown
from meshmgmt.adminsite.pages import ServiceAdmin, ServiceForm
from meshmgmt.core.orderedlinks import member_keys
from meshmgmt.core.printable import counted
from meshmgmt.inventory.models import NetworkResource


class ResourcesSelect(forms.SelectMultiple):
    """Looks like the choices of other lists, but has all there is from the start."""

    class Media:
        css = {
            "screen": [
                "admin/css/vendor/select2/select2.min.css",
                "admin/css/autocomplete.css",
            ]
        }
        js = [
            "admin/js/vendor/jquery/jquery.min.js",
            "admin/js/vendor/select2/select2.full.min.js",
            "admin/js/jquery.init.js",
            "groups/resources.js",
        ]

    def value_from_datadict(self, data: Any, files: Any, name: str) -> list[str]:
        """Return what was chosen, sorted, so that two of the same are equal."""
        chosen = super().value_from_datadict(data, files, name) or []
        return sorted(filter(None, chosen))


class ResourcesField(forms.MultipleChoiceField):
    """Resources, each sent as id and type.

    Whether they exist is left to the service, which says so as in the API.
    """

    def __init__(self, **kwargs: Any) -> None:
        widget = ResourcesSelect(attrs={"class": "resources"})
        super().__init__(required=False, widget=widget, **kwargs)

    def offer(self, held: Iterable[ResourceKey]) -> None:
        """Offer every resource of a network, and what else a group holds."""
        rows = NetworkResource.objects.all()
        names = {(row.pk, row.type): f"{row.name} {row.address}" for row in rows}
        others = [key for key in held if key not in names]
        known = resource_names(others)
        for key in others:
            names[key] = f"{known.get(key, 'unknown')} ({' '.join(key)})"
        by_name = sorted(names.items(), key=lambda item: item[1].casefold())
        self.choices = [(" ".join(key), name) for key, name in by_name]

    def prepare_value(self, value: Any) -> Any:
        """Return stored keys as they are sent."""
        return sorted(x if isinstance(x, str) else " ".join(x) for x in value or ())

    def clean(self, value: Any) -> list[ResourceKey]:
        """Return (id, type) of each; what is missing is empty."""
        return [key_of(text) for text in self.to_python(value)]


def key_of(text: str) -> ResourceKey:
    """Return the key of a resource as a form sends it."""
    identifier, _, kind = text.partition(" ")
    return identifier, kind


class GroupForm(ServiceForm):
    """The name of a group and its resources; members have pages of their own."""

    name = forms.CharField(required=False, strip=False)
    resources = ResourcesField()

    class Meta:
        model = Group
        fields = ["name"]

    reads_lists = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.listed: list[Any] = []
        if not self.adding:
            self.listed = member_keys(GroupResource, self.instance)
            self.initial["resources"] = self.listed
        field = self.fields["resources"]
        if isinstance(field, ResourcesField):  # `All` has none to choose
            sent = map(key_of, self["resources"].data if self.is_bound else ())
            # What was sent is on offer, too: a page that is refused shows it again.
            field.offer([*self.listed, *sent])

    def apply(self, data: dict[str, Any]) -> Group:
        """Create or change the group; its peers stay."""
        # What stays keeps its place, for the page sends it in an order of its own.
        places = {key: place for place, key in enumerate(self.listed)}
        chosen = sorted(data["resources"], key=lambda x: places.get(x, len(places)))
        wanted = {"name": data["name"], "resources": chosen}
        if self.adding:
            return group_create(**wanted)
        return group_update(group_id=self.instance.pk, peers=None, **wanted)


def _count(link: type[GroupPeer] | type[GroupResource]) -> Coalesce:
    """Return the number of a group's rows, as a column of the list."""
    # Apart for each list: two of them joined would multiply their rows.
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
    tools = ("deletion",)
    fields = [
        *("id", "name", "issued", "members", "member_count"),
        *("resources", "known_resources", "created_at", "used_by"),
    ]
    readonly_fields = [
        *("id", "issued", "members", "member_count"),
        *("known_resources", "created_at", "used_by"),
    ]

    def get_urls(self) -> list[Any]:
        # First, for the last of Django's patterns takes any path for an id.
        return [*member_urls(), *super().get_urls()]

    def get_object(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Return a group that can find the pages of what refers to it."""
        group: Any = super().get_object(request, *args, **kwargs)
        if group is not None:
            group.pages = ObjectPages(request)
        return group

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
        shown_only = {"member_count", "known_resources"}
        hidden = shown_only if may_change else {"members", "resources"}
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
        return HttpResponseRedirect(members_path(obj))

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Let `All` be read only."""
        return super().has_change_permission(request, obj) and not (obj and obj.is_all)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Keep `All`."""
        return super().has_delete_permission(request, obj) and not (obj and obj.is_all)

    def delete_model(self, request: HttpRequest, obj: Group) -> None:
        group_delete(group_id=obj.pk)

    @admin.display(description="peers", ordering="number_of_peers")
    def peers_count(self, group: Any) -> SafeString:
        """How many peers are listed, leading to them; everybody in `All`."""
        number = "all" if group.is_all else int(group.number_of_peers)
        return _link("members", group, number)

    @admin.display(description="deletion")
    def deletion(self, group: Any) -> SafeString | str:
        """The page that tells what would break, and deletes."""
        if group.is_all:
            return ""
        path = reverse("admin:groups_group_delete", args=[group.pk])
        name = group.name
        return format_html('<a href="{}" aria-label="Delete {}">Delete</a>', path, name)

    @admin.display(description="members")
    def member_count(self, group: Any) -> SafeString:
        """How many peers are in the group, leading to them."""
        number = group.number_of_peers
        text = "every peer" if group.is_all else counted(number, "peer")
        return _link("members", group, text)

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
        rows = ((names.get(key, "unknown"), *key) for key in keys)
        lines = format_html_join(
            "", "<tr><td><bdi>{}</bdi></td><td>{}</td><td>{}</td></tr>", rows
        )
        return format_html("<table>{}</table>", lines) if keys else "-"

    @admin.display(description="resources", ordering="number_of_resources")
    def resources_count(self, group: Any) -> int:
        return int(group.number_of_resources)

    @admin.display(description="used by")
    def used_by(self, group: Any) -> SafeString | str:
        """What refers to the group, and what its deletion would disable."""
        usages = usages_of(group.pk)
        if not usages:
            return "nothing"
        known = group.pages.of_ids(usage.id for usage in usages)
        pages = (
            known.get(x.id) or group.pages.only(x.kind.replace("_", "")) for x in usages
        )
        lines = (
            (_line(usage, page, stays=group.is_all),)
            for usage, page in zip(usages, pages, strict=True)
        )
        return format_html("<ul>{}</ul>", format_html_join("", "<li>{}</li>", lines))


def _link(page: str, group: Group, text: object) -> SafeString:
    path = reverse(f"admin:groups_group_{page}", args=[group.pk])
    return format_html('<a href="{}">{}</a>', path, text)


def _line(usage: Usage, page: ObjectPage | None, *, stays: bool) -> SafeString:
    """Return a line about a reference to a group; one that `stays` disables nothing."""
    disabled = usage.disabled_by_deletion and not stays
    return format_html(
        "{} {}: {}{}",
        usage.kind.replace("_", " "),
        replace(page, name=shown(usage.name)).link if page else shown(usage.name),
        usage.field.replace("_", " "),
        "; will be disabled with the group" if disabled else "",
    )
