"""Names as people write them on the pages of a zone (RFC 1035, Section 5.1)."""

from typing import Final

from meshmgmt.core.names import InvalidNameError, canonical, is_subdomain

APEX: Final = "@"


def name_in_zone(text: str, domain: str) -> str:
    """Return the whole name that `text` stands for on the pages of the zone `domain`.

    `@` is the domain, a name that ends in a dot is whole, and so is one at or below the
    domain; any other is relative to the domain. What is no name either way is returned
    as it is, for the rules to refuse.
    """
    domain = domain.removesuffix(".")
    if text == APEX:
        return domain
    # After a final dot nothing can be added: `text..domain` is no name.
    for name in (text, f"{text}.{domain}"):
        if _lies_in(name, domain):
            return name
    return text


def _lies_in(name: str, domain: str) -> bool:
    try:
        return is_subdomain(canonical(name), canonical(domain))
    except InvalidNameError:
        return False
