"""Admin pages of DNS."""

from dns.admin import nameservers, records, settings, zones  # noqa: F401 - registered
