"""Django application of DNS."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class DnsConfig(AppConfig):
    """Nameserver groups, DNS settings, custom zones and their records."""

    name = "dns"
    verbose_name = "DNS"

    def ready(self) -> None:
        """Register with the rooms below."""
        from dns import audit, bundles, gauges, references, setup  # noqa: PLC0415

        audit.register_specs()
        bundles.register()
        gauges.register()
        references.register_references()
        setup.register()
        post_migrate.connect(
            setup.make_settings, sender=self, dispatch_uid="dns.make_settings"
        )
