"""Endpoints of nameserver groups, DNS settings, zones and records."""

from collections.abc import Sequence
from typing import Any, Final

from rest_framework.request import Request
from rest_framework.response import Response

from dns.api import serializers
from dns.rules.records import RecordDraft
from dns.rules.zones import ZoneDraft
from dns.selectors.nameservers import nameserver_group_rows
from dns.selectors.settings import disabled_management_groups
from dns.selectors.zones import RECORD_KIND, ZONE_KIND, record_rows, zone_rows
from dns.services.nameservers import (
    NAMESERVER_GROUP_KIND,
    nameserver_group_create,
    nameserver_group_delete,
    nameserver_group_update,
)
from dns.services.records import record_create, record_delete, record_update
from dns.services.settings import dns_settings_update
from dns.services.zones import zone_create, zone_delete, zone_update
from meshmgmt.api.views import ApiViewSet, ResourceViewSet, Row, path_id, replaced

ZONE_BODY_BYTES: Final = 16 * 1024 * 1024


class NameserverGroupViewSet(ResourceViewSet):
    """Nameserver groups: which DNS servers peers use."""

    module = "nameservers"
    audited = True
    kind = NAMESERVER_GROUP_KIND
    lookup_url_kwarg = "nsgroupId"
    serializer_class = serializers.NameserverGroupSerializer
    request_serializer_class = serializers.NameserverGroupRequestSerializer

    def rows(self, ids: Sequence[str] | None = None) -> list[Row]:
        return nameserver_group_rows(ids)

    def create_object(self, data: dict[str, Any]) -> str:
        draft = serializers.nameserver_group_draft(data)
        return nameserver_group_create(draft=draft).pk

    def update_object(self, identifier: str, data: dict[str, Any]) -> str:
        draft = serializers.nameserver_group_draft(data)
        return nameserver_group_update(group_id=identifier, draft=draft).pk

    def delete_object(self, identifier: str) -> None:
        nameserver_group_delete(group_id=identifier)


class DnsSettingsViewSet(ApiViewSet):
    """DNS settings: groups whose peers keep their own DNS configuration."""

    module = "dns"
    plannable = True
    audited = True
    serializer_class = serializers.DnsSettingsSerializer
    request_serializer_class = serializers.DnsSettingsSerializer

    def retrieve(self, request: Request) -> Response:
        """Return the DNS settings."""
        return Response({"disabled_management_groups": disabled_management_groups()})

    def update(self, request: Request) -> Response:
        """Replace the DNS settings and return them."""
        data = self.validated(serializers.DnsSettingsSerializer)
        dns_settings_update(**data)
        return replaced(self.retrieve(request).data)


class ZoneViewSet(ResourceViewSet):
    """Custom zones, shown with their records."""

    module = "dns"
    audited = True
    kind = ZONE_KIND
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

    def create_object(self, data: dict[str, Any]) -> str:
        return zone_create(draft=ZoneDraft(**data)).pk

    def update_object(self, identifier: str, data: dict[str, Any]) -> str:
        return zone_update(zone_id=identifier, **data).pk

    def delete_object(self, identifier: str) -> None:
        zone_delete(zone_id=identifier)


class RecordViewSet(ResourceViewSet):
    """Records of a custom zone."""

    module = "dns"
    audited = True
    kind = RECORD_KIND
    lookup_url_kwarg = "recordId"
    serializer_class = serializers.RecordSerializer
    request_serializer_class = serializers.RecordRequestSerializer
    update_serializer_class = serializers.RecordUpdateSerializer

    @property
    def zone_id(self) -> str:
        """The id of the zone in the path. Raises NotFound when it cannot be one."""
        return path_id(ZONE_KIND, self.kwargs["zoneId"])

    def rows(self, ids: Sequence[str] | None = None) -> list[Row]:
        """Return records of the zone. Raises NotFound for an unknown zone."""
        return record_rows(self.zone_id, ids)

    def create_object(self, data: dict[str, Any]) -> str:
        return record_create(zone_id=self.zone_id, draft=RecordDraft(**data)).pk

    def update_object(self, identifier: str, data: dict[str, Any]) -> str:
        return record_update(zone_id=self.zone_id, record_id=identifier, **data).pk

    def delete_object(self, identifier: str) -> None:
        record_delete(zone_id=self.zone_id, record_id=identifier)
