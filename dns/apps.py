"""Django application of DNS."""

from django.apps import AppConfig


class DnsConfig(AppConfig):
    name = "dns"
    verbose_name = "DNS"
