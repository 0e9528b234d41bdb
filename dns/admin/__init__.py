"""Admin pages of DNS."""

from dns.admin import nameservers, zones  # noqa: F401 - registered
