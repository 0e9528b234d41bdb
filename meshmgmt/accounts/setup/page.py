"""`/setup`: the page on which somebody with the setup code becomes the first owner."""

from typing import Any, Final

from django import forms
from django.contrib import admin, messages
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache

from meshmgmt.accounts.newpassword import PasswordTwiceForm, password_field
from meshmgmt.accounts.setup.code import WHERE, check_setup_code
from meshmgmt.accounts.setup.owner import (
    MAX_PASSWORD,
    check_setup_is_open,
    first_owner_create,
)
from meshmgmt.api.pages import sentence, serves
from meshmgmt.core.errors import Forbidden, PreconditionFailed, ServiceError

_WRONG_CODE: Final = "This is not the code that the server printed."


class SetupForm(PasswordTwiceForm):
    """The first owner; the services judge the values."""

    setup_code = forms.CharField(
        label="Setup code",
        help_text=sentence(WHERE),
        widget=forms.TextInput(attrs={"autocomplete": "off", "autofocus": True}),
    )
    email = forms.CharField(
        label="E-mail address",
        widget=forms.EmailInput(attrs={"autocomplete": "username"}),
    )
    name = forms.CharField(label="Name")
    password = password_field(
        "Password", help_text="8 to 72 characters.", max_length=MAX_PASSWORD
    )
    password_again = password_field("Password again", max_length=MAX_PASSWORD)


@never_cache
@serves("GET", "HEAD", "POST")
def setup_page(request: HttpRequest) -> HttpResponse:
    """Show the form, or make the first owner and sign them in."""
    try:
        check_setup_is_open()
        form = SetupForm(request.POST or None)
        status = 200
        if form.is_valid():
            try:
                return _made(request, form.cleaned_data)
            # Somebody else was faster: the page is of no use any more.
            except PreconditionFailed:
                raise
            except Forbidden as error:
                form.add_error("setup_code", _WRONG_CODE)
                status = error.status
            except ServiceError as error:
                form.show(error)
                status = error.status
    except PreconditionFailed as error:
        messages.info(request, sentence(error.message))
        return HttpResponseRedirect(reverse("admin:login"))
    page = {**admin.site.each_context(request), "title": "Set up", "form": form}
    return render(request, "admin/setup.html", page, status=status)


def _made(request: HttpRequest, data: dict[str, Any]) -> HttpResponse:
    check_setup_code(data["setup_code"])
    fields = {name: data[name] for name in ("email", "name", "password")}
    login(request, first_owner_create(**fields).user)
    return HttpResponseRedirect(reverse("admin:index"))
