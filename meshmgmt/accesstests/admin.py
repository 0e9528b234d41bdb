"""Admin pages of access tests, and what the first page says of them."""

from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from typing import Any, Final

from django import forms
from django.contrib import admin
from django.db.models import Case, Model, Q, When
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from groups.models import GroupPeer
from meshmgmt.access.admin.fields import KeyField
from meshmgmt.accesstests.models import EMPTY, FAILING, PASSING, AccessTest
from meshmgmt.accesstests.rules import VALUES
from meshmgmt.accesstests.selectors import in_words
from meshmgmt.accesstests.services import ENDS, MODELS, access_tests
from meshmgmt.adminsite import home
from meshmgmt.adminsite.bulk import SWITCH
from meshmgmt.adminsite.fields import LinesField
from meshmgmt.adminsite.filters import StateFilter
from meshmgmt.adminsite.home import Figure, Line, Tone
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
_SHOWN: Final = 5
"""So many failing tests are named on the first page."""


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
            data | self._picked("source", data) | self._picked("destination", data)
        )

    def _picked(self, end: str, data: Mapping[str, Any]) -> dict[str, str]:
        """Return the columns of what was picked. Raises InvalidArgument unless it is one.

        What a test named may be deleted: it is off then, and may stay so.
        """
        given = {kind: data[f"{end}_{kind}"] for kind in _PICKED[end]}
        chosen = [(kind, ref) for kind, ref in given.items() if ref]
        kind = getattr(self.instance, f"{end}_kind")
        if not chosen and not data["enabled"] and kind in MODELS:
            return {f"{end}_kind": kind, f"{end}_ref": ""}
        if len(chosen) != 1:
            raise InvalidArgument.about(end, f"choose one {end}")
        [(kind, ref)] = chosen
        kind = _kind_of(ref) if kind == "value" else kind
        return {f"{end}_kind": kind, f"{end}_ref": ref}


def _kind_of(value: str) -> str:
    try:
        ip_address(value)
    except ValueError:
        return "domain"
    return "address"


class StandingFilter(StateFilter):
    """Tests by how they go."""

    @classmethod
    def states(cls) -> Mapping[str, Q]:
        """Return the states."""
        return {
            FAILING: Q(enabled=True, state=FAILING),
            PASSING: Q(enabled=True, state=PASSING),
            EMPTY: Q(enabled=True, state=EMPTY),
            "disabled": Q(enabled=False),
        }


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


def failing_tests(request: HttpRequest) -> Iterator[Figure | Line]:
    """Say on the first page how tests go, and which fail."""
    shown = {
        FAILING: ("failing access test{s}", Tone.BAD),
        PASSING: ("passing access test{s}", Tone.OK),
        EMPTY: ("empty access test{s}", Tone.WARN),
    }
    figures = list(home.state_figures(request, AccessTest, StandingFilter, shown))
    if not any(figure.number for figure in figures):
        return
    yield from figures
    if not figures[0].number:
        return
    failing = AccessTest.objects.filter(StandingFilter.states()[FAILING])
    for test in failing.order_by("-enforce", "id")[:_SHOWN]:
        yield Line(
            test.name, test.failures[0]["because"], home.object_url(test), tone=Tone.BAD
        )
