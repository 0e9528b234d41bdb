"""The choice of a group's resources, by name."""

from collections.abc import Iterable
from typing import Any

from django import forms

from groups.audit import resource_names
from groups.rules import ResourceKey
from meshmgmt.core.printable import printable
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
        self.choices = [(" ".join(key), printable(name)) for key, name in by_name]

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
