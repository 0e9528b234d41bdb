"""What the forms share in which people choose a password."""

from typing import Any

from django import forms

from meshmgmt.api.pages import sentence
from meshmgmt.core.errors import ServiceError


def password_field(label: str, **kwargs: Any) -> forms.CharField:
    """Return a field for a new password, kept as it was typed."""
    widget = forms.PasswordInput(attrs={"autocomplete": "new-password"})
    return forms.CharField(label=label, strip=False, widget=widget, **kwargs)


class PasswordTwiceForm(forms.Form):
    """A form with `password` and `password_again`."""

    def clean(self) -> dict[str, Any]:
        """Compare the two: nobody else could let in who mistyped the one."""
        data: dict[str, Any] = self.cleaned_data
        if data.get("password") != data.get("password_again"):
            self.add_error("password_again", "The two passwords differ.")
        return data

    def show(self, error: ServiceError) -> None:
        """Say what a service refuses, at the fields where it names them."""
        for fault in error.errors:
            field = fault.field if fault.field in self.fields else None
            self.add_error(field, sentence(fault.message))
        if not error.errors:
            self.add_error(None, sentence(error.message))
