"""Django application of DNS."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class DnsConfig(AppConfig):
    name = "dns"
    verbose_name = "DNS"

    def ready(self) -> None:
        from dns import (  # noqa: PLC0415
            audit,
            contributions,
            gauges,
            references,
            setup,
        )

        audit.register_specs()
        contributions.contribute()
        gauges.register()
        references.register_references()
        post_migrate.connect(
            setup.make_settings, sender=self, dispatch_uid="dns.make_settings"
        )
