"""All paths of the service."""

from django.contrib import admin
from django.urls import include, path

from meshmgmt.accounts.forms import sign_in
from meshmgmt.api.pages import favicon, front

admin.site.site_header = "Mesh management"
admin.site.site_title = "Mesh management"
admin.site.index_title = "Overview"
admin.site.site_url = "/"

urlpatterns = [
    path("", front, name="front"),
    path("favicon.ico", favicon),
    path("", include("observability.urls")),
    # Before the admin site, which takes all that is left below its path.
    path("", include("meshmgmt.configuration.urls")),
    path("", include("meshmgmt.history.urls")),
    path("", include("meshmgmt.explain.urls")),
    path("", include("meshmgmt.control.urls")),
    path("admin/login/", sign_in),
    path("admin/", admin.site.urls),
    path("", include("meshmgmt.api.urls")),
    # Before the users: invites live under their path.
    path("", include("meshmgmt.access.urls")),
    path("", include("meshmgmt.accounts.urls")),
    path("", include("meshmgmt.delivery.urls")),
    path("", include("events.urls")),
    path("", include("meshmgmt.inventory.urls")),
    path("", include("meshmgmt.accesstests.urls")),
    path("", include("groups.urls")),
    path("", include("dns.urls")),
]

handler400 = "meshmgmt.api.exceptions.bad_request"
handler403 = "meshmgmt.api.exceptions.forbidden"
handler404 = "meshmgmt.api.exceptions.not_found"
handler500 = "meshmgmt.api.exceptions.server_error"
