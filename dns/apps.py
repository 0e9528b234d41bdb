"""Django application of DNS."""

from django.apps import AppConfig

from meshmgmt.api.exceptions import register_constraint


class DnsConfig(AppConfig):
    """Nameserver groups, DNS settings, custom zones and their records."""

    name = "dns"
    verbose_name = "DNS"

    def ready(self) -> None:
        """Register with the rooms below."""
        from dns import audit, references  # noqa: PLC0415
        from dns.services.peerdomain import domain_free_errors  # noqa: PLC0415
        from meshmgmt.accounts.registries import (  # noqa: PLC0415
            register_dns_domain_check,
        )

        audit.register_specs()
        references.register_references()
        register_dns_domain_check(domain_free_errors)
        _register_constraints()


def _register_constraints() -> None:
    """Sentences for the second guards; SQLite names columns, not constraints."""
    name = "another nameserver group has this name"
    domain = "another zone has this domain"
    identical = "this record already exists"
    cname = "a CNAME must be alone at its name"
    for text, message in (
        ("dns_nameservergroup_name", name),
        ("dns_nameservergroup.name", name),
        ("dns_zone_domain", domain),
        ("dns_zone.canonical_domain", domain),
        ("dns_record_identical", identical),
        ("dns_record.canonical_content", identical),
        ("dns_record_one_cname", cname),
        ("dns_record_cname_alone", cname),
        ("dns_record.canonical_name", cname),
    ):
        register_constraint(text, message)
