"""Endpoints about this deployment: set-up, version, identity provider, countries."""

from functools import cache
from typing import Any

import pycountry
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

import meshmgmt
from events import places
from meshmgmt.accounts.models import User
from meshmgmt.accounts.oidc.configured import configured_providers, is_configured
from meshmgmt.api.absent import ReadOnlyView
from meshmgmt.api.views import ApiView
from meshmgmt.core.errors import NotFound


class InstanceSerializer(serializers.Serializer[Any]):
    """Whether the first owner is still to be made."""

    setup_required = serializers.BooleanField()


class VersionSerializer(serializers.Serializer[Any]):
    """The version of this service."""

    management_current_version = serializers.CharField()
    management_update_available = serializers.BooleanField(
        help_text="Always false: this service does not look for updates"
    )


class CountrySerializer(serializers.Serializer[Any]):
    """A country."""

    country_code = serializers.CharField(help_text="ISO 3166-1, two letters")
    country_name = serializers.CharField()


class CitySerializer(serializers.Serializer[Any]):
    """A city."""

    geoname_id = serializers.IntegerField(help_text="Of geonames.org")
    city_name = serializers.CharField()


class InstanceView(ApiView):
    """State of this deployment."""

    tags = ("instance",)
    public_methods = ("GET",)
    serializer_class = InstanceSerializer

    def get(self, request: Request) -> Response:
        """Tell whether somebody must make the first owner.

        With an identity provider nobody must: the first person to sign in is owner.
        """
        needed = not is_configured() and not User.objects.any_owner()
        return Response({"setup_required": needed})


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


class CountriesView(ApiView):
    """Countries, for posture checks."""

    tags = ("locations",)
    serializer_class = CountrySerializer
    answers_list = True

    @extend_schema(operation_id="locations_countries")
    def get(self, request: Request) -> Response:
        """Return all countries, by name."""
        return Response(_countries())


class CitiesView(ReadOnlyView):
    """Cities of a country, for posture checks."""

    tags = ("locations",)
    serializer_class = CitySerializer
    answers_list = True

    @extend_schema(operation_id="locations_cities")
    def get(self, request: Request, country: str) -> Response:
        """Return the cities that the configured database knows, by name."""
        if pycountry.countries.get(alpha_2=country.upper()) is None:
            raise NotFound.of("country", country)
        return Response([city._asdict() for city in places.cities(country.upper())])


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


class IdentityProviderSerializer(serializers.Serializer[Any]):
    """A provider that people sign in at; set by `SVC_OIDC_*`."""

    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["oidc"])
    name = serializers.CharField(help_text="The issuer's host")
    issuer = serializers.CharField()
    client_id = serializers.CharField()


class IdentityProvidersView(ReadOnlyView):
    """The providers: one, or none."""

    module = "identity_providers"
    serializer_class = IdentityProviderSerializer
    answers_list = True

    @extend_schema(operation_id="identity_providers_list")
    def get(self, request: Request) -> Response:
        """Return the provider in a list, which is empty without one."""
        return Response(configured_providers())


class IdentityProviderView(ReadOnlyView):
    """One provider."""

    module = "identity_providers"
    serializer_class = IdentityProviderSerializer

    def get(self, request: Request, idpId: str) -> Response:  # noqa: N803 - path
        """Return the provider."""
        for provider in configured_providers():
            if provider["id"] == idpId:
                return Response(provider)
        raise NotFound.of("identity provider", idpId)
