"""Paths of DNS."""

from django.urls import path

from dns.api.views import (
    DnsSettingsView,
    NameserverGroupViewSet,
    RecordViewSet,
    ZoneViewSet,
)
from dns.api.zonefiles import ZoneFileView
from meshmgmt.api.views import ResourceRouter

router = ResourceRouter()
router.register("api/dns/nameservers", NameserverGroupViewSet, "nameserver-group")
router.register("api/dns/zones", ZoneViewSet, "zone")
router.register("api/dns/zones/<str:zoneId>/records", RecordViewSet, "record")

urlpatterns = [
    *router.urls,
    path("api/dns/settings", DnsSettingsView.as_view()),
    path("api/dns/zones/<str:zoneId>/zonefile", ZoneFileView.as_view()),
]
