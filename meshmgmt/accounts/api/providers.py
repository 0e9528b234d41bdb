"""The identity provider of this deployment, as clients of the reference API list it."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from meshmgmt.accounts.oidc.configured import configured_providers
from meshmgmt.api.absent import ReadOnlyView
from meshmgmt.core.errors import NotFound


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
