"""Findings about a DNS configuration that is valid but unlikely to be meant."""

from typing import Final

from meshmgmt.explain.lint import nameservers, peers, zones
from meshmgmt.explain.lint.finding import CATALOGUE, Facts, Finding
from meshmgmt.mesh import Mesh

_RULES: Final = (*zones.RULES, *nameservers.RULES, *peers.RULES)


def lint(mesh: Mesh) -> list[Finding]:
    """All findings of an account, in the order of the catalogue.

    The mesh must be whole: every peer, every record, all members.
    """
    facts = Facts(mesh)
    position = {code: number for number, code in enumerate(CATALOGUE)}
    findings = [finding for rule in _RULES for finding in rule(facts)]
    return sorted(findings, key=lambda finding: position[finding.code])
