"""Paths of DNS."""

from typing import Final

from django.urls import path

from dns.api.reports import ExplainView, LintView, PeerDnsView
from dns.api.views import (
    DnsSettingsViewSet,
    NameserverGroupViewSet,
    RecordViewSet,
    ZoneViewSet,
)
from dns.api.zonefiles import ZoneFileView
from meshmgmt.api.views import COLLECTION, MEMBER

# Clients send zones back as they got them, with all their records.
ZONE_BODY_BYTES: Final = 16 * 1024 * 1024

urlpatterns = [
    path("api/dns/nameservers", NameserverGroupViewSet.as_view(COLLECTION)),
    path("api/dns/nameservers/<str:nsgroupId>", NameserverGroupViewSet.as_view(MEMBER)),
    path(
        "api/dns/settings",
        DnsSettingsViewSet.as_view({"get": "retrieve", "put": "update"}),
    ),
    path("api/dns/zones", ZoneViewSet.as_view(COLLECTION)),
    path(
        "api/dns/zones/<str:zoneId>",
        ZoneViewSet.as_view(MEMBER, max_body_bytes=ZONE_BODY_BYTES),
    ),
    path("api/dns/zones/<str:zoneId>/records", RecordViewSet.as_view(COLLECTION)),
    path(
        "api/dns/zones/<str:zoneId>/records/<str:recordId>",
        RecordViewSet.as_view(MEMBER),
    ),
    path("api/dns/zones/<str:zoneId>/zonefile", ZoneFileView.as_view()),
    path("api/dns/explain", ExplainView.as_view()),
    path("api/dns/lint", LintView.as_view()),
    path("api/peers/<str:peerId>/dns", PeerDnsView.as_view()),
]
