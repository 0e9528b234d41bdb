"""`/invite/<secret>`: the page on which an invited person chooses name and password."""

from typing import Final

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables

from meshmgmt.access.selectors.enrolment import invite_facts, is_valid, open_invite
from meshmgmt.access.services.enrolment import invite_accept, invites
from meshmgmt.accounts.authority import check_may_enter
from meshmgmt.accounts.forms import PasswordTwiceForm, password_field
from meshmgmt.accounts.models import User
from meshmgmt.api.limits import check_guess
from meshmgmt.api.pages import error_page, sentence, serves
from meshmgmt.core.errors import Forbidden, NotFound, ServiceError

UNKNOWN: Final = (
    "this link was used already, was replaced or taken back, or is not complete. If you"
    " have chosen your password, sign in; else ask for another link"
)
EXPIRED: Final = "this link has expired: ask whoever invited you for another one"
_TITLE: Final = "This invite cannot be used"


class InviteForm(PasswordTwiceForm):
    """Who accepts; the services judge the values."""

    email = forms.CharField(
        # Nothing is read from it: password managers keep it beside the password.
        label="E-mail address",
        required=False,
        disabled=True,
        widget=forms.EmailInput(attrs={"autocomplete": "username"}),
    )
    name = forms.CharField(widget=forms.TextInput(attrs={"autocomplete": "name"}))
    password = password_field(
        "Password",
        help_text="At least 8 characters: a capital letter, a digit, a special character.",
    )
    password_again = password_field("Password again")


@never_cache
@sensitive_variables("token")
@serves("GET", "HEAD", "POST")
def invite_page(request: HttpRequest, token: str) -> HttpResponse:
    """Show the form, or make the user; the secret leaves the page in no Referer."""
    try:
        response = _page(request, token)
    except NotFound:
        # Misses alone count: who has the link may send the form until it is right.
        check_guess(invites.kind)
        response = error_page(UNKNOWN, 404, title=_TITLE)
    # The origin stays, for browsers send it along with the form.
    response["Referrer-Policy"] = "strict-origin"
    return response


def _page(request: HttpRequest, token: str) -> HttpResponse:
    """Raises NotFound."""
    invite = open_invite(token)
    if not is_valid(invite):
        return error_page(EXPIRED, 410, title=_TITLE)
    shown = {"email": invite.email, "name": invite.name}
    form = InviteForm(request.POST or None, initial=shown)
    status = 200
    if form.is_valid():
        data = form.cleaned_data
        name, password = data["name"], data["password"]
        try:
            user = invite_accept(token=token, name=name, password=password)
            return _welcomed(request, user)
        except NotFound:
            # The link was used or replaced since the form was shown: no field is wrong.
            raise
        except ServiceError as error:
            form.show(error)
            status = error.status
    facts = {"title": "Welcome to the mesh", "form": form, **invite_facts(invite)}
    return render(request, "pages/invite.html", facts, status=status)


def _welcomed(request: HttpRequest, user: User) -> HttpResponse:
    """Lead to the sign-in page whoever may enter the admin site; tell others why not."""
    try:
        check_may_enter(user)
    except Forbidden as error:
        facts = {"title": f"Welcome, {user.name}", "why_not": sentence(error.message)}
        return render(request, "pages/invited.html", facts)
    messages.success(request, f"Welcome, {user.name}: you can sign in now.")
    return HttpResponseRedirect(reverse("admin:login"))
