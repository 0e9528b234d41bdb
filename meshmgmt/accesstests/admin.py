"""Admin pages of access tests."""

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any, Final

from django import forms
from django.contrib import admin
from django.db.models import Case, Model, When
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from groups.models import GroupPeer
from meshmgmt.access.admin.fields import KeyField
from meshmgmt.accesstests.homecards import StandingFilter
from meshmgmt.accesstests.models import FAILING, PASSING, AccessTest
from meshmgmt.accesstests.rules import VALUES
from meshmgmt.accesstests.selectors import in_words
from meshmgmt.accesstests.services import ENDS, access_tests
from meshmgmt.adminsite.bulk import SWITCH
from meshmgmt.adminsite.fields import LinesField
from meshmgmt.adminsite.lists import ServiceList
from meshmgmt.adminsite.look import badge, shown
from meshmgmt.adminsite.pages import ServiceAdmin, ServiceForm
from meshmgmt.core.errors import InvalidArgument
from meshmgmt.core.resources import columns
from meshmgmt.inventory.models import NetworkResource, Peer

_TONES: Final = {PASSING: "ok", FAILING: "bad"}
_PICKED: Final = {
    "source": ("group", "peer", "user"),
    "destination": ("group", "peer", "resource", "value"),
}
_STATE: Final = ("id", "standing", "failed", "checked_at", "created_at")
_DNS: Final = "Of kind dns."


def _resources() -> list[tuple[str, str]]:
    rows = NetworkResource.objects.order_by("name").values_list("pk", "name")
    return [("", "---------"), *rows]


class AccessTestForm(ServiceForm):
    """A test; of the pickers of each end one is used."""

    resource = access_tests

    source_group = KeyField(GroupPeer._meta.get_field("group"), label="From group")
    source_peer = KeyField(GroupPeer._meta.get_field("peer"), label="or peer")
    source_user = KeyField(Peer._meta.get_field("user"), label="or peers of a user")
    destination_group = KeyField(GroupPeer._meta.get_field("group"), label="To group")
    destination_peer = KeyField(GroupPeer._meta.get_field("peer"), label="or peer")
    destination_resource = forms.ChoiceField(
        label="or resource", required=False, choices=_resources
    )
    destination_value = forms.CharField(
        label="or address or domain", required=False, help_text="Of kind dns: the name."
    )
    contents = LinesField(
        help_text=f"{_DNS} What the name resolves to, one per line; empty: anything."
    )
    field_names = {"source": "source_group", "destination": "destination_group"}

    class Meta:
        help_texts = {
            "enforce": "Refuse every write that would make it fail.",
            "port": "Of tcp or udp; empty: all.",
            "record_type": _DNS,
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for end in _PICKED:
            kind = getattr(self.instance, f"{end}_kind")
            name = f"{end}_{'value' if kind in VALUES else kind}"
            self.initial.setdefault(name, getattr(self.instance, f"{end}_ref"))

    def apply(self, data: dict[str, Any]) -> Model:
        return super().apply(
            data | _picked("source", data) | _picked("destination", data)
        )


def _picked(end: str, data: Mapping[str, Any]) -> dict[str, str]:
    """Return the columns of what was picked. Raises InvalidArgument unless it is one."""
    given = {kind: data[f"{end}_{kind}"] for kind in _PICKED[end]}
    chosen = [(kind, ref) for kind, ref in given.items() if ref]
    if len(chosen) != 1:
        raise InvalidArgument.about(end, f"choose one {end}")
    kind, ref = chosen[0]
    kind = _kind_of(ref) if kind == "value" else kind
    return {f"{end}_kind": kind, f"{end}_ref": ref}


def _kind_of(value: str) -> str:
    try:
        ip_address(value)
    except ValueError:
        return "domain"
    return "address"


class AccessTestList(ServiceList):
    """A page of tests, with what each promises."""

    def complete(self, request: HttpRequest, shown: list[Any]) -> None:
        words = in_words(shown)
        for test in shown:
            # The column asks row by row: kept with each test, all words cost a few
            # queries.
            vars(test)["words"] = words[test.pk]


@admin.register(AccessTest)
class AccessTestAdmin(ServiceAdmin):
    """Promises, the failing ones first."""

    form = AccessTestForm
    list_class = AccessTestList
    list_display = ["name", "standing", "promise", "enforce", "checked_at"]
    list_filter = [StandingFilter, "enforce", "kind", "expect"]
    search_fields = ["name", "description", "=id"]
    bulk = SWITCH
    ordering = [Case(When(enabled=True, state=FAILING, then=0), default=1), "id"]
    readonly_fields = [*_STATE, "promise"]

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return what is promised of whom, and how it goes."""
        ends = [f"{end}_{kind}" for end, kinds in _PICKED.items() for kind in kinds]
        if obj is not None and not self.has_change_permission(request, obj):
            ends = ["promise"]
        told = ["name", "description", "enabled", "enforce", "kind", "expect"]
        what = [
            name
            for name in columns(AccessTest)
            if name not in told and not name.startswith(ENDS)
        ]
        found: list[Any] = [
            (None, {"fields": told}),
            ("Between", {"fields": ends}),
            ("What", {"fields": what}),
        ]
        if obj is not None:
            found.insert(0, ("State", {"fields": _STATE}))
        return found

    @admin.display(description="state", ordering="state")
    def standing(self, test: AccessTest) -> SafeString:
        """How it goes."""
        state = test.state if test.enabled else "disabled"
        return badge(state, _TONES.get(state, "off"))

    @admin.display(description="promise")
    def promise(self, test: AccessTest) -> SafeString:
        """What is expected, in words."""
        words = vars(test).get("words") or in_words([test])[test.pk]
        return shown(words)

    @admin.display(description="failures")
    def failed(self, test: AccessTest) -> SafeString | str:
        """Who does not keep it, at most ten."""
        lines = [
            (each["source"]["name"], each["destination"]["name"], each["because"])
            for each in test.failures
        ]
        return format_html_join("", "<p>{} to {}: {}</p>", lines) if lines else "none"

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Tell too which tests refuse writes no longer."""
        lines, *rest = super().get_deleted_objects(objs, request)
        text = "writes that break “{}” will not be refused any more"
        kept = [test for test in objs if test.enabled and test.enforce]
        return [*lines, *(format_html(text, shown(test.name)) for test in kept)], *rest
