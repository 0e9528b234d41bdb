"""Django application of the admin site; it makes `admin.site` ours."""

from django.contrib.admin.apps import AdminConfig


class SiteConfig(AdminConfig):
    """The admin site of this service."""

    default_site = "meshmgmt.adminsite.site.Site"
