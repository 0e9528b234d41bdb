"""Findings about a DNS configuration that is valid but unlikely to be meant."""

from collections.abc import Callable, Iterator

from dns.effective.compute import Configurator
from dns.effective.snapshot import Snapshot
from dns.lint import nameservers, peers, zones
from dns.lint.facts import Facts
from dns.lint.finding import CATALOGUE, Finding

_RULES: tuple[Callable[[Facts], Iterator[Finding]], ...] = (
    *zones.RULES,
    *nameservers.RULES,
    *peers.RULES,
)


def lint(
    snapshot: Snapshot, *, configurator: Configurator | None = None
) -> list[Finding]:
    """All findings of an account, in the order of the catalogue.

    The snapshot must be whole: every peer, every record, all members.
    """
    facts = Facts(snapshot, configurator or Configurator(snapshot))
    position = {code: number for number, code in enumerate(CATALOGUE)}
    findings = [finding for rule in _RULES for finding in rule(facts)]
    return sorted(findings, key=lambda finding: position[finding.code])
