"""The domain of the peers' own names, which no zone may take."""

from dns.content import stored_form
from dns.models import Zone
from meshmgmt.accounts.selectors import account_domain
from meshmgmt.core.fielderrors import FieldError


def peer_domain() -> str:
    """Return the account's DNS domain, "" before there is an account."""
    return account_domain()


def domain_free_errors(domain: str) -> list[FieldError]:
    """Object to a DNS domain (canonical form) of the peers that a zone has."""
    if not Zone.objects.filter(canonical_domain=stored_form(domain)).exists():
        return []
    text = f"the DNS domain {domain!r} is the domain of a zone"
    return [FieldError("dns_domain", text)]
