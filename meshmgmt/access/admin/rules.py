"""Rules on the page of their policy, of which each is written as a part."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from django import forms
from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from groups.models import Group, GroupPeer
from meshmgmt.access.admin.fields import KeyField, ReadOnlyAdmin, groups_field
from meshmgmt.access.admin.policylist import names_of, ports_text, rule_line, ruled
from meshmgmt.access.models import (
    Action,
    PolicyRule,
    Protocol,
    RuleDestination,
    RuleSource,
)
from meshmgmt.access.rules.policies import PortRange, ResourceRef, RuleDraft
from meshmgmt.access.services.policies import stored_rule, stored_rules
from meshmgmt.adminsite.fields import LinesField
from meshmgmt.adminsite.look import enabled, spelt
from meshmgmt.adminsite.pages import ServiceForm
from meshmgmt.adminsite.parts import PartFormSet
from meshmgmt.core.errors import FieldError, InvalidArgument, ServiceError
from meshmgmt.inventory.models import NetworkResource

RULES_A_PAGE: Final = 20
"""Of a policy with more the rest is on further pages: each is some ten fields."""
SEE_BELOW: Final = "nothing was saved: see what is said at the rules below"
_OF_RULE: Final = re.compile(r"rules\[(\d+)\]\.?")
_ENDS: Final = ("source", "destination")
_CHOSEN: Final = ("action", "protocol", "bidirectional")
_PEER: Final = GroupPeer._meta.get_field("peer")
DATALIST: Final = "known-resources"
"""The id of the list that pages with `ResourceField` have."""

Resources = Mapping[str, ResourceRef]
_SigningIn = tuple[str, Sequence[str]]


def known_resources() -> Resources:
    """Return the resources of networks by name."""
    rows = NetworkResource.objects.order_by("name")
    found = rows.values_list("name", "pk", "type")
    return {name: ResourceRef(pk, kind) for name, pk, kind in found}


class ResourceField(forms.CharField):
    """A resource of a network by its name; one that is gone is called by its id."""

    known: Resources = {}

    def __init__(self, **kwargs: Any) -> None:
        widget = forms.TextInput(attrs={"list": DATALIST, "autocomplete": "off"})
        # Names are kept as they were sent, blanks at their ends too.
        super().__init__(required=False, strip=False, widget=widget, **kwargs)

    def prepare_value(self, value: Any) -> Any:
        """Return the name of an id; what was typed stays as it is."""
        return next((x for x, ref in self.known.items() if ref.id == value), value)

    def clean(self, value: Any) -> ResourceRef | None:
        """Return the resource. Raises ValidationError for an unknown name."""
        text = super().clean(value)
        if text.strip() and text not in self.known:
            raise forms.ValidationError(f"no resource is called {text[:64]!r}")
        return self.known.get(text)

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Tell whether another resource is named."""
        return super().has_changed(self.prepare_value(initial), data)


class PortsField(forms.CharField):
    """Ports and ranges of ports, separated by commas or blanks."""

    def clean(self, value: Any) -> tuple[list[str], list[PortRange]]:
        words = re.split(r"[\s,]+", super().clean(value).strip())
        found = [re.fullmatch(r"(\d{1,5})-(\d{1,5})", word) for word in words]
        ranges = [PortRange(int(x[1]), int(x[2])) for x in found if x is not None]
        pairs = zip(words, found, strict=True)
        return [word for word, match in pairs if word and match is None], ranges


PROTOCOLS: Final = [(value, spelt(label)) for value, label in Protocol.choices]


class RuleRow(ServiceForm):
    """A rule on the page of its policy, which writes it with all others."""

    rule_name = forms.CharField(label="Rule name", required=False, strip=False)
    description = forms.CharField(required=False, strip=False)
    action = forms.ChoiceField(choices=Action.choices, initial=Action.ACCEPT)
    protocol = forms.ChoiceField(choices=PROTOCOLS, initial=Protocol.ALL)
    bidirectional = forms.BooleanField(
        required=False, initial=True, label="Both directions"
    )
    ports = PortsField(
        required=False, help_text="Numbers, or ranges such as 8000-8010."
    )
    sources = groups_field(
        RuleSource, label="Source groups", help_text="Or one of the next two."
    )
    source_peer = KeyField(_PEER, label="Source peer")
    source_resource = ResourceField(label="Source resource")
    destinations = groups_field(
        RuleDestination, label="Destination groups", help_text="Or one of the next two."
    )
    destination_peer = KeyField(_PEER, label="Destination peer")
    destination_resource = ResourceField(label="Destination resource")
    authorized_groups = LinesField(
        help_text="NetBird SSH alone: a group per line, and after a colon the local users"
        " that its users may sign in as, such as Admins: root deploy."
    )

    field_names = {
        "name": "rule_name",
        "port_ranges": "ports",
        "sourceResource": "source_resource",
        "destinationResource": "destination_resource",
    }

    class Meta:
        model = PolicyRule
        fields = ["description", "enabled"]

    reads_lists = True
    is_open = True
    """Whether the page shows its fields from the start."""

    def __init__(self, *args: Any, resources: Resources, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.resources = resources
        for end in _ENDS:
            field: Any = self.fields[f"{end}_resource"]
            field.known = self.resources
        if not self.adding:
            self.initial.update(_shown(self.instance))

    def of_stored(self, stored: Model) -> "RuleRow":
        """Return the form of the rule as it is stored."""
        return type(self)(instance=stored, resources=self.resources)

    def _post_clean(self) -> None:
        """Leave the writing to the policy."""

    def draft(self) -> RuleDraft | None:
        """Return the rule as it is to be; None where the row says what is wrong."""
        try:
            return self._sent(self.cleaned_data) if self.up_to_date() else None
        except ServiceError as error:
            self.show(error)
            return None

    def _sent(self, data: dict[str, Any]) -> RuleDraft:
        """Return the rule as a client would send it. Raises ServiceError."""
        ports, ranges = data["ports"]
        return RuleDraft(
            **{name: data[name] for name in ("description", "enabled", *_CHOSEN)},
            id="" if self.adding else self.instance.pk,
            name=data["rule_name"],
            ports=ports,
            port_ranges=ranges,
            # The form cannot mean an empty list: nothing chosen is nothing given.
            sources=data["sources"] or None,
            destinations=data["destinations"] or None,
            source_resource=_resource(data, "source"),
            destination_resource=_resource(data, "destination"),
            authorized_groups=self._authorized_groups(data["authorized_groups"]),
        )

    def _authorized_groups(self, lines: list[str]) -> dict[str, Sequence[str]]:
        """Return who may sign in; a line that nobody touched stays to the letter."""
        known: dict[str, _SigningIn] = {}
        if lines and not self.adding:
            known = _signing_in(stored_rule(self.instance).authorized_groups)
        return dict(known.get(line) or _authorized(line) for line in lines)


def _shown(rule: PolicyRule) -> dict[str, Any]:
    """Return what the fields show of a stored rule."""
    draft = stored_rule(rule)
    found = {
        name: getattr(draft, name) for name in (*_CHOSEN, "sources", "destinations")
    }
    found |= {"rule_name": draft.name, "ports": ports_text(rule)}
    found["authorized_groups"] = list(_signing_in(draft.authorized_groups))
    for end in _ENDS:
        identifier, kind = rule.resource(end)
        found[f"{end}_{'peer' if kind == 'peer' else 'resource'}"] = identifier
    return found


def _signing_in(authorized: Mapping[str, Sequence[str]]) -> dict[str, _SigningIn]:
    """Return groups (ids) and their local users by the line that shows them.

    A group has its id there when its name would not lead back to it.
    """
    groups = Group.objects.in_bulk(list(authorized))
    names = [group.name for group in groups.values()]
    owners = Counter(
        Group.objects.filter(name__in=names).values_list("name", flat=True)
    )
    found: dict[str, _SigningIn] = {}
    for pk, users in authorized.items():
        name = groups[pk].name
        # The field takes the lines of its text apart, and trims them.
        leads_back = owners[name] == 1 and name.splitlines() == [name.strip()]
        found[_line(name if leads_back else pk, users)] = pk, users
    return found


def _line(name: str, users: Sequence[str]) -> str:
    """Return a group and its local users: with a colon after a name with one."""
    return f"{name}: {' '.join(users)}".strip() if users or ":" in name else name


def _authorized(line: str) -> _SigningIn:
    """Return a group's id and local users. Raises ServiceError unless one is meant."""
    name, colon, users = line.rpartition(":")
    name = name.strip() if colon else line
    found = list(Group.objects.filter(pk=name) or Group.objects.filter(name=name)[:2])
    if len(found) != 1:
        text = f"no group is called {name!r}"
        if found:
            text = f"several groups are called {name!r}: give the id of one"
        raise ServiceError.about("authorized_groups", text)
    return found[0].pk, users.split() if colon else []


def _resource(data: dict[str, Any], end: str) -> ResourceRef | None:
    """Return what stands in place of groups. Raises ServiceError for two."""
    peer, resource = data[f"{end}_peer"], data[f"{end}_resource"]
    if peer and resource:
        text = "choose a peer or a resource, not both"
        raise ServiceError.about(f"{end}_resource", text)
    return ResourceRef(peer, "peer") if peer else resource


_Placed = tuple[RuleDraft | None, RuleRow | None]


class RuleFormSet(PartFormSet):
    """The rules on the page of their policy, which takes from here what is sent."""

    size = RULES_A_PAGE

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Read once for all rows, of which each would ask otherwise.
        self.resources = known_resources()
        self.form_kwargs["resources"] = self.resources
        # The form of the policy, of which this is the object too, writes both at once.
        self.instance.sent_rules = self
        self._rows: list[RuleRow | None] = []

    def add_fields(self, form: Any, index: int | None) -> None:
        """Say what a row is deleted by."""
        super().add_fields(form, index)
        if "DELETE" in form.fields:
            form.fields["DELETE"].label = "Delete this rule"

    def described(self) -> Iterator[tuple[RuleRow, Any]]:
        """Yield each row, those of stored rules with what the rule says in words."""
        names = names_of(self.get_queryset())
        alone = self.initial_form_count() <= 1
        row: Any
        for row in self.forms:
            rule = None if row.adding else row.instance
            row.is_open = bool(row.errors) or (
                alone and (rule is not None or not self.initial_form_count())
            )
            yield row, rule_line(rule, names, linked=False) if rule else ""

    def drafts(self) -> list[RuleDraft]:
        """Return the rules as they are to be: as stored where no row says otherwise.

        Raises InvalidArgument when a row is wrong, which says what by then.
        """
        row: Any
        if not self.is_valid():
            raise InvalidArgument(SEE_BELOW)
        policy = self.instance
        stored = [] if policy._state.adding else list(ruled(policy.rules.all()))
        found: dict[str, _Placed] = {
            draft.id: (draft, None) for draft in stored_rules(stored)
        }
        added: list[_Placed] = []
        gone: Any = self.deleted_forms
        for row in self.forms:
            if row in gone:
                found.pop(row.instance.pk, None)
            elif row.has_changed() and row.adding:
                added.append((row.draft(), row))
            elif row.has_changed():
                found[row.instance.pk] = (row.draft(), row)
        rows = [*found.values(), *added]
        # What is wrong comes back with the place of the draft: see `place`.
        self._rows = [row for _, row in rows]
        drafts = [draft for draft, _ in rows if draft is not None]
        if len(drafts) < len(rows):
            raise InvalidArgument(SEE_BELOW)
        return drafts

    def place(self, error: ServiceError) -> ServiceError:
        """Show what is wrong with rules at their rows; return the rest of an error."""
        rest = []
        for fault in error.errors:
            match = _OF_RULE.match(fault.field)
            row = self._rows[int(match[1])] if match else None
            if row is not None and match:
                own = FieldError(fault.field[match.end() :], fault.message)
                row.show(ServiceError(fault.message, [own]))
            elif match or fault.field == "rules":
                self.non_form_errors().append(fault.message)
            else:
                rest.append(fault)
        return InvalidArgument(SEE_BELOW if not rest else error.message, rest)

    def save(self, commit: bool = True) -> list[Any]:
        """Do nothing: the rules are written with their policy."""
        # Django reads them to say what was changed.
        self.new_objects, self.changed_objects = [], []
        self.deleted_objects: list[Any] = []
        return []


class RuleInline(admin.StackedInline):  # type: ignore[type-arg]  # not at run time
    """Rules on the page of their policy, in place of which the menu shows none."""

    model = PolicyRule
    form = RuleRow
    formset = RuleFormSet
    template = "admin/access/policy/rules.html"
    verbose_name = "rule"
    extra = 1

    def get_queryset(self, request: HttpRequest) -> Any:
        """Return rules with what their headings say."""
        return ruled(super().get_queryset(request))


@admin.register(PolicyRule)
class PolicyRuleAdmin(ReadOnlyAdmin):
    """A list of the rules of all policies; each is changed on its policy's page."""

    list_display = [*("name", "policy", enabled, "action", "protocol", "bidirectional")]
    list_filter = ["enabled", "action", "protocol", "bidirectional"]
    list_select_related = ["policy"]
    search_fields = ["name", "policy__name", "=id"]
    ordering = ["policy", "position", "id"]
    part_of = "policy"

    def change_view(
        self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Lead to the rule on the page of its policy; nothing is written here."""
        rule = PolicyRule.objects.filter(pk=unquote(object_id)).first()
        reads = request.method == "GET" and self.has_view_permission(request)
        if rule is None or not reads:
            return super().change_view(request, object_id, *args, **kwargs)
        return redirect(rule_url(rule))


def rule_url(rule: PolicyRule) -> str:
    """Return where a rule stands on the page of its policy."""
    page = reverse("admin:access_policy_change", args=[rule.policy_id])
    number, place = divmod(rule.position, RULES_A_PAGE)
    return f"{page}?part={number + 1}#rules-{place}"
