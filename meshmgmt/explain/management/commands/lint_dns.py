"""`manage.py lint_dns [--json] [--fail-on SEVERITY]`."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from meshmgmt.core.printable import counted, printable
from meshmgmt.core.transactions import read_snapshot
from meshmgmt.explain.answers import account_findings
from meshmgmt.explain.api.serializers import FindingSerializer
from meshmgmt.explain.lint.finding import Severity, at_least


class Command(BaseCommand):
    help = "List findings about the DNS configuration, with a remedy for each."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="one JSON document")
        parser.add_argument(
            "--fail-on",
            choices=[severity.value for severity in Severity],
            help="exit with status 1 when a finding is as serious as this, or more",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        with read_snapshot():
            findings = account_findings()
        if options["json"]:
            found = list(map(FindingSerializer.plain, findings))
            self.stdout.write(json.dumps(found, indent=2))
        else:
            for finding in findings:
                about = finding.subject
                for line in (
                    f"{finding.severity.value:8}{finding.code}: {finding.text}",
                    f"        {about.kind} {about.name} ({about.id})",
                    f"        {finding.remedy}",
                ):
                    self.stdout.write(printable(line))
            self.stdout.write(counted(len(findings), "finding"))
        bound = options["fail_on"]
        if bound and at_least(findings, Severity(bound)):
            raise SystemExit(1)
