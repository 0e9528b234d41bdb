"""Endpoints about this deployment: whether it is set up, its version, countries."""

import math
from functools import cache
from typing import Any, Final

import pycountry
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

import meshmgmt
from meshmgmt.accounts.models import User
from meshmgmt.accounts.services.firstowner import (
    TOKEN_DAYS,
    check_setup_is_open,
    first_owner_create,
)
from meshmgmt.accounts.setupcode import is_setup_code
from meshmgmt.api.fields import (
    ObjectSerializer,
    TextField,
    TruthField,
    WholeNumberField,
)
from meshmgmt.api.views import ApiView
from meshmgmt.core import context
from meshmgmt.core.errors import Forbidden, TooManyRequests
from meshmgmt.core.ratelimit import RateLimit
from observability.views import is_direct_loopback

TRIES: Final = RateLimit(per_minute=10, burst=5)
"""How often one address may guess the setup code."""


class InstanceSerializer(serializers.Serializer[Any]):
    """Whether the first owner is still to be made."""

    setup_required = serializers.BooleanField()


class VersionSerializer(serializers.Serializer[Any]):
    """The version of this service."""

    management_current_version = serializers.CharField()
    management_update_available = serializers.BooleanField(
        help_text="Always false: this service does not look for updates"
    )


class SetupRequestSerializer(ObjectSerializer):
    """The first owner."""

    email = TextField()
    name = TextField(help_text="1 to 255 characters")
    password = TextField(help_text="8 to 72 characters")
    create_pat = TruthField(default=False, help_text="Also make an access token")
    pat_expire_in = WholeNumberField(
        default=TOKEN_DAYS, help_text="Days that the token lives, 1 to 365"
    )
    setup_code = TextField(
        default="", help_text="As the server printed it; not needed from its own host"
    )


class SetupSerializer(serializers.Serializer[Any]):
    """The first owner, with the token shown this once."""

    user_id = serializers.CharField()
    email = serializers.CharField()
    personal_access_token = serializers.CharField(required=False)


class CountrySerializer(serializers.Serializer[Any]):
    """A country."""

    country_code = serializers.CharField(help_text="ISO 3166-1, two letters")
    country_name = serializers.CharField()


class InstanceView(ApiView):
    """State of this deployment."""

    tags = ("instance",)
    public_methods = ("GET",)
    serializer_class = InstanceSerializer

    def get(self, request: Request) -> Response:
        """Tell whether the first owner is still to be made."""
        return Response({"setup_required": not User.objects.exists()})


class VersionView(ApiView):
    """Version of this service."""

    tags = ("instance",)
    serializer_class = VersionSerializer

    def get(self, request: Request) -> Response:
        """Return the version."""
        return Response(
            {
                "management_current_version": meshmgmt.__version__,
                "management_update_available": False,
            }
        )


class SetupView(ApiView):
    """Bringing up an empty deployment."""

    tags = ("instance",)
    public_methods = ("POST",)
    serializer_class = SetupSerializer
    request_serializer_class = SetupRequestSerializer

    def post(self, request: Request) -> Response:
        """Make the first owner, while there is no user."""
        check_setup_is_open()
        data = self.validated(SetupRequestSerializer)
        # Any web page may make a browser on this host send a request here.
        if not is_direct_loopback(request) or "Origin" in request.headers:
            _check_code(data["setup_code"])
        made = first_owner_create(
            email=data["email"],
            name=data["name"],
            password=data["password"],
            token_days=data["pat_expire_in"] if data["create_pat"] else None,
        )
        shown = {"personal_access_token": made.token} if made.token else {}
        return Response({"user_id": made.user.pk, "email": made.user.email, **shown})


def _check_code(code: str) -> None:
    """Raise TooManyRequests, or Forbidden for a wrong code."""
    if wait := TRIES.take(context.current().source_address):
        seconds = math.ceil(wait)
        message = f"too many tries: wait {seconds} seconds"
        raise TooManyRequests(message, retry_after=seconds)
    if not is_setup_code(code):
        raise Forbidden(
            "permission denied: from another host, setup needs the setup_code that the"
            " server printed when it started"
        )


class CountriesView(ApiView):
    """Countries, for posture checks."""

    tags = ("locations",)
    serializer_class = CountrySerializer
    answers_list = True

    @extend_schema(operation_id="locations_countries")
    def get(self, request: Request) -> Response:
        """Return all countries, by name."""
        return Response(_countries())


@cache
def _countries() -> list[dict[str, str]]:
    rows = [
        {
            "country_code": country.alpha_2,
            "country_name": getattr(country, "common_name", country.name),
        }
        for country in pycountry.countries
    ]
    return sorted(rows, key=lambda row: row["country_name"])
