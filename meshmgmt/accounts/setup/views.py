"""`/setup` and `POST /api/setup`: the first owner of an empty deployment."""

from typing import Any, Final

from django import forms
from django.contrib import admin, messages
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from meshmgmt.accounts.forms import PasswordTwiceForm, password_field
from meshmgmt.accounts.setup import owner
from meshmgmt.api.fields import (
    ObjectSerializer,
    TextField,
    TruthField,
    WholeNumberField,
)
from meshmgmt.api.pages import sentence, serves
from meshmgmt.api.views import ApiView
from meshmgmt.core.errors import Forbidden, PreconditionFailed, ServiceError
from observability.views import is_direct_loopback


class SetupRequestSerializer(ObjectSerializer):
    """The first owner."""

    email = TextField()
    name = TextField(help_text="1 to 255 characters")
    password = TextField(help_text="8 to 72 characters")
    create_pat = TruthField(default=False, help_text="Also make an access token")
    pat_expire_in = WholeNumberField(
        default=owner.TOKEN_DAYS, help_text="Days that the token lives, 1 to 365"
    )
    setup_code = TextField(
        default="", help_text="As the server printed it; not needed from its own host"
    )


class SetupSerializer(serializers.Serializer[Any]):
    """The first owner, with the token shown this once."""

    user_id = serializers.CharField()
    email = serializers.CharField()
    personal_access_token = serializers.CharField(required=False)


class SetupView(ApiView):
    """Bringing up an empty deployment."""

    tags = ("instance",)
    public_methods = ("POST",)
    serializer_class = SetupSerializer
    request_serializer_class = SetupRequestSerializer

    def post(self, request: Request) -> Response:
        """Make the first owner, while there is none."""
        owner.check_setup_is_open()
        data = self.validated(SetupRequestSerializer)
        # Any web page may make a browser on this host send a request here.
        if not is_direct_loopback(request) or "Origin" in request.headers:
            owner.check_setup_code(data["setup_code"])
        user, token = owner.first_owner_create(
            email=data["email"],
            name=data["name"],
            password=data["password"],
            token_days=data["pat_expire_in"] if data["create_pat"] else None,
        )
        shown = {"personal_access_token": token} if token else {}
        return Response({"user_id": user.pk, "email": user.email, **shown})


_WRONG_CODE: Final = "This is not the code that the server printed."


class SetupForm(PasswordTwiceForm):
    """The first owner; the services judge the values."""

    setup_code = forms.CharField(
        label="Setup code",
        help_text=sentence(owner.WHERE),
        widget=forms.TextInput(attrs={"autocomplete": "off", "autofocus": True}),
    )
    email = forms.CharField(
        label="E-mail address",
        widget=forms.EmailInput(attrs={"autocomplete": "username"}),
    )
    name = forms.CharField(label="Name")
    password = password_field(
        "Password", help_text="8 to 72 characters.", max_length=owner.MAX_PASSWORD
    )
    password_again = password_field("Password again", max_length=owner.MAX_PASSWORD)


@never_cache
@serves("GET", "HEAD", "POST")
def setup_page(request: HttpRequest) -> HttpResponse:
    """Show the form, or make the first owner and sign them in."""
    try:
        owner.check_setup_is_open()
        given = {"setup_code": request.GET.get("setup_code", "")}
        form = SetupForm(request.POST or None, initial=given)
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
    owner.check_setup_code(data["setup_code"])
    fields = {name: data[name] for name in ("email", "name", "password")}
    user, _ = owner.first_owner_create(**fields)
    login(request, user)
    return HttpResponseRedirect(reverse("admin:index"))
