"""Pages of posture checks: what a peer must fulfil, a field for each condition."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from django import forms
from django.contrib import admin

from meshmgmt.access.models import PostureCheck
from meshmgmt.access.rules.posture import ACTIONS, PATHS, SYSTEMS
from meshmgmt.access.services.policies import posture_checks
from meshmgmt.adminsite.fields import LinesField
from meshmgmt.adminsite.look import shown
from meshmgmt.adminsite.pages import ServiceAdmin, ServiceForm
from meshmgmt.core.errors import ServiceError

_SYSTEM_NAMES: Final = {
    "linux": "Linux kernel",
    "windows": "Windows kernel",
    "darwin": "macOS",
    "ios": "iOS",
    "android": "Android",
}
_PLACES: Final = {
    "nb_version_check": "client",
    **{f"os_version_check.{name}": name for name in SYSTEMS},
    # What is within another place stands before it: the first that fits is taken.
    "geo_location_check.action": "location_action",
    "geo_location_check": "locations",
    "peer_network_range_check.action": "range_action",
    "peer_network_range_check": "ranges",
    "process_check": "processes",
}
"""By place in `checks` of the API: the field of the form."""


def _version(label: str) -> forms.CharField:
    return forms.CharField(label=f"{label} at least", required=False)


def _action(what: str) -> forms.ChoiceField:
    choices = [("allow", f"only these {what}"), ("deny", f"all but these {what}")]
    assert tuple(action for action, _ in choices) == ACTIONS
    label = f"Let in {what}"
    return forms.ChoiceField(label=label, choices=choices, required=False)


class LocationsField(LinesField):
    """Countries, one per line, each of which a city may follow."""

    def shown(self, item: Mapping[str, str]) -> str:
        return _location_line(item)

    def read(self, line: str) -> dict[str, str]:
        country, _, city = line.partition(" ")
        place = {"country_code": country.upper()}
        return {**place, "city_name": city.strip()} if city.strip() else place


class ProcessesField(LinesField):
    """Programs, one per line, each with its path by system."""

    def shown(self, item: Mapping[str, str]) -> str:
        return _process_line(item)

    def read(self, line: str) -> dict[str, str]:
        """Return the paths of a program. Raises ValidationError for other lines."""
        found = {}
        # With the blanks: a bar alone may belong to a path.
        for part in line.split(" | "):
            system, colon, path = part.partition(":")
            name = f"{system.strip().lower()}_path"
            if not colon or name not in PATHS or not path.strip():
                raise forms.ValidationError(
                    f"{part[:40]!r} is no path such as linux: /usr/bin/agent"
                )
            found[name] = path.strip()
        return found


class PostureCheckForm(ServiceForm):
    """A check; conditions that are left empty are none."""

    resource = posture_checks

    client = _version("Client")
    linux, windows, darwin, ios, android = map(_version, _SYSTEM_NAMES.values())
    linux.help_text = (
        "Once one of these systems has a version, those without one are kept out;"
        " systems that are not here are let in."
    )
    locations = LocationsField(
        help_text="A country per line, a city may follow: DE, or DE Berlin."
    )
    location_action = _action("locations")
    ranges = LinesField(
        label="Networks", help_text="Networks that peers are in, such as 10.1.0.0/16."
    )
    range_action = _action("networks")
    processes = ProcessesField(
        label="Running programs",
        help_text="A program per line, with its path by system:"
        r" linux: /usr/bin/agent | mac: /Applications/Agent | windows: C:\agent.exe",
    )

    class Meta:
        exclude = ("checks",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.adding:
            self.initial.update(_fields_of(self.instance.checks))

    def apply(self, data: dict[str, Any]) -> Any:
        try:
            return super().apply({**data, "checks": self._checks(data)})
        except ServiceError as error:
            faults = [replace(x, field=_field_at(x.field)) for x in error.errors]
            raise ServiceError(error.message, faults) from error

    def _checks(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return the object of the API; what nobody touched stays to the letter."""
        if not self.adding and not set(_PLACES.values()) & set(self.changed_data):
            return dict(self.instance.checks)
        return dict(_checks_of(data))


def _fields_of(checks: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the fields show of stored checks."""
    found: dict[str, Any] = {
        system: asked.get(SYSTEMS[system], "")
        for system, asked in checks.get("os_version_check", {}).items()
    }
    found["client"] = checks.get("nb_version_check", {}).get("min_version", "")
    if places := checks.get("geo_location_check"):
        found["location_action"] = places["action"]
        found["locations"] = places["locations"]
    if networks := checks.get("peer_network_range_check"):
        found |= {"range_action": networks["action"], "ranges": networks["ranges"]}
    found["processes"] = checks.get("process_check", {}).get("processes", [])
    return found


def _checks_of(data: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    if data["client"]:
        yield "nb_version_check", {"min_version": data["client"]}
    if systems := {x: {SYSTEMS[x]: data[x]} for x in SYSTEMS if data[x]}:
        yield "os_version_check", systems
    if data["locations"]:
        action = data["location_action"] or "allow"
        places = {"locations": data["locations"], "action": action}
        yield "geo_location_check", places
    if data["ranges"]:
        networks = {"ranges": data["ranges"], "action": data["range_action"] or "allow"}
        yield "peer_network_range_check", networks
    if data["processes"]:
        yield "process_check", {"processes": data["processes"]}


def _location_line(place: Mapping[str, str]) -> str:
    return f"{place['country_code']} {place.get('city_name', '')}".strip()


def _process_line(process: Mapping[str, str]) -> str:
    paths = ((name, process.get(name)) for name in PATHS)
    return " | ".join(f"{n.removesuffix('_path')}: {path}" for n, path in paths if path)


def _field_at(place: str) -> str:
    """Return the field that shows a place in a body."""
    inner = place.removeprefix("checks.")
    return next((name for at, name in _PLACES.items() if inner.startswith(at)), place)


@admin.register(PostureCheck)
class PostureCheckAdmin(ServiceAdmin):
    form = PostureCheckForm
    list_display = ["name", "asks", "description", "created_at"]
    search_fields = ["name", "description", "=id"]
    readonly_fields = ["asks", "id", "created_at"]

    def get_fields(self, request: Any, obj: Any = None) -> Any:
        """Return a field for each condition; who may only look gets them in words."""
        if obj is not None and not self.has_change_permission(request, obj):
            return ["name", "description", *self.readonly_fields]
        return [x for x in super().get_fields(request, obj) if x != "asks"]

    @admin.display(description="asks for")
    def asks(self, check: PostureCheck) -> Any:
        """What a peer must fulfil, in words."""
        values = _fields_of(check.checks)
        versions = {"client": "client", **_SYSTEM_NAMES}
        words = [f"{text} {values[x]}" for x, text in versions.items() if values.get(x)]
        for name, action, line in (
            ("locations", "location_action", _location_line),
            ("ranges", "range_action", str),
        ):
            if values.get(name):
                sign = "not " if values[action] == "deny" else ""
                words.append(f"{sign}in {', '.join(map(line, values[name]))}")
        words += [f"running {_process_line(each)}" for each in values["processes"]]
        return shown("; ".join(words))
