"""Django application of DNS."""

from meshmgmt.core import rooms


class DnsConfig(rooms.Room):
    name = "dns"
    verbose_name = "DNS"
