"""The domain of the peers' own names, which no zone may take."""

from meshmgmt.accounts.models import Account


def peer_domain() -> str:
    """Return the account's DNS domain, "" before there is an account."""
    return Account.objects.values_list("dns_domain", flat=True).first() or ""
