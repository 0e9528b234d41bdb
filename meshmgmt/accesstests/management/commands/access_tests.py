"""`manage.py access_tests list`, `manage.py access_tests run [--json]`."""

import json
from argparse import ArgumentParser
from collections.abc import Iterable, Sequence
from typing import Any

from django.core.management.base import BaseCommand

from meshmgmt.accesstests.judging import Outcome
from meshmgmt.accesstests.models import FAILING, AccessTest
from meshmgmt.accesstests.selectors import in_words
from meshmgmt.accesstests.standing import outcomes
from meshmgmt.core.printable import printable
from meshmgmt.core.transactions import read_snapshot


class Command(BaseCommand):
    help = "List access tests, or run them: status 1 when one fails."

    def add_arguments(self, parser: ArgumentParser) -> None:
        deeds = parser.add_subparsers(dest="deed", required=True)
        deeds.add_parser("list", help="every test with its state")
        run = deeds.add_parser("run", help="judge every enabled test now")
        run.add_argument("--json", action="store_true", help="one JSON document")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["deed"] == "list":
            tests = AccessTest.objects.order_by("id")
            words = in_words(tests)
            for test in tests:
                self._list(test, words[test.pk])
            return
        with read_snapshot():
            found = outcomes(AccessTest.objects.filter(enabled=True).order_by("id"))
        if options["json"]:
            self.stdout.write(json.dumps(list(_json(found)), indent=2))
        else:
            self._tell(found)
        if any(outcome.state == FAILING for _, outcome in found):
            raise SystemExit(1)

    def _list(self, test: AccessTest, words: str) -> None:
        state = test.state if test.enabled else "disabled"
        enforced = ", enforced" if test.enforce else ""
        self._say(f"{state:<8} {test.name}{enforced}: {words}")

    def _tell(self, found: Sequence[tuple[AccessTest, Outcome]]) -> None:
        words = in_words(test for test, _ in found)
        for test, outcome in found:
            self._say(f"{outcome.state:<8} {test.name}: {words[test.pk]}")
            for failure in outcome.failures:
                ends = (
                    f"{failure['source']['name']} to {failure['destination']['name']}"
                )
                self._say(f"         {ends}: {failure['because']}")

    def _say(self, line: str) -> None:
        self.stdout.write(printable(line))


def _json(found: Iterable[tuple[AccessTest, Outcome]]) -> Iterable[dict[str, Any]]:
    for test, outcome in found:
        yield {
            "id": test.pk,
            "name": test.name,
            "enforce": test.enforce,
            **outcome._asdict(),
        }
