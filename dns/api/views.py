"""Endpoints of nameserver groups, DNS settings, zones and records."""

from collections.abc import Sequence
from typing import Final

from rest_framework.request import Request
from rest_framework.response import Response

from dns.api import serializers
from dns.selectors import disabled_management_groups, zone_rows
from dns.services.nameservers import dns_settings_update, nameserver_groups
from dns.services.zones import records, zones
from meshmgmt.api.views import ApiView, ResourceViewSet, replaced
from meshmgmt.core.resources import Row

ZONE_BODY_BYTES: Final = 16 * 1024 * 1024


class NameserverGroupViewSet(ResourceViewSet):
    """Nameserver groups: which DNS servers peers use."""

    module = "nameservers"
    audited = True
    resource = nameserver_groups
    lookup_url_kwarg = "nsgroupId"
    serializer_class = serializers.NameserverGroupSerializer
    request_serializer_class = serializers.NameserverGroupRequestSerializer


class DnsSettingsView(ApiView):
    """DNS settings: groups whose peers keep their own DNS configuration."""

    module = "dns"
    plannable = True
    audited = True
    serializer_class = serializers.DnsSettingsSerializer
    request_serializer_class = serializers.DnsSettingsSerializer

    def get(self, request: Request) -> Response:
        """Return the DNS settings."""
        return Response({"disabled_management_groups": disabled_management_groups()})

    def put(self, request: Request) -> Response:
        """Replace the DNS settings and return them."""
        dns_settings_update(**self.validated(serializers.DnsSettingsSerializer))
        return replaced(self.get(request).data)


class ZoneViewSet(ResourceViewSet):
    """Custom zones, shown with their records."""

    module = "dns"
    audited = True
    resource = zones
    lookup_url_kwarg = "zoneId"
    serializer_class = serializers.ZoneSerializer
    request_serializer_class = serializers.ZoneRequestSerializer
    update_serializer_class = serializers.ZoneUpdateSerializer

    detail: bool

    def body_limit(self) -> int:
        """Let clients send zones back as they got them, with all their records."""
        return ZONE_BODY_BYTES if self.detail else super().body_limit()

    def rows(self, ids: Sequence[str] | None = None) -> list[Row]:
        return zone_rows(ids)


class RecordViewSet(ResourceViewSet):
    """Records of a custom zone."""

    module = "dns"
    audited = True
    resource = records
    lookup_url_kwarg = "recordId"
    whole_url_kwarg = "zoneId"
    serializer_class = serializers.RecordSerializer
    request_serializer_class = serializers.RecordRequestSerializer
    update_serializer_class = serializers.RecordUpdateSerializer
