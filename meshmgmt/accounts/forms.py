"""Forms by which people sign in or choose a password; who has to wait is told so."""

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.forms import AdminAuthenticationForm, AdminPasswordChangeForm
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse

from meshmgmt.accounts.services.users import new_password_errors
from meshmgmt.api.exceptions import RETRY_SECONDS
from meshmgmt.api.pages import sentence
from meshmgmt.core.errors import Forbidden, ServiceError, TooManyRequests, Unavailable


class SignInForm(AdminAuthenticationForm):
    """E-mail address and password.

    `refusal` is why they were not looked at, or why they are no use though they are right.
    """

    error_messages = {
        **AdminAuthenticationForm.error_messages,
        "invalid_login": "The e-mail address or password is wrong.",
    }
    refusal: ServiceError | None = None

    def clean(self) -> dict[str, Any]:
        """Sign in, or show why that has to wait or is refused."""
        try:
            data: dict[str, Any] = super().clean()
        except (Forbidden, TooManyRequests, Unavailable) as error:
            self.refusal = error
            raise ValidationError(sentence(error.message)) from error
        return data


class OwnPasswordForm(AdminPasswordChangeForm):
    """The old password and a new one, under the rules of the API."""

    def clean(self) -> dict[str, Any]:
        """Refuse what the API refuses; Django has looked at length and commonness."""
        data: dict[str, Any] = super().clean() or {}
        old, new = data.get("old_password", ""), data.get("new_password2")
        if new:
            for fault in new_password_errors("new_password2", new, self.user, old=old):
                self.add_error(fault.field, sentence(fault.message))
        return data


admin.site.login_form = SignInForm
admin.site.password_change_form = OwnPasswordForm


def sign_in(request: HttpRequest) -> HttpResponse:
    """Show the page; 403 to who may not enter, 429 or 503 to who is to come again."""
    response: Any = admin.site.login(request)
    form = (getattr(response, "context_data", None) or {}).get("form")
    refusal = getattr(form, "refusal", None)
    if refusal is not None:
        # Django answers 200 with the form; scripts go by the status.
        response.status_code = refusal.status
    if isinstance(refusal, TooManyRequests | Unavailable):
        response["Retry-After"] = str(getattr(refusal, "retry_after", RETRY_SECONDS))
    return response  # type: ignore[no-any-return]


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
