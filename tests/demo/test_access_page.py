"""What docs/access.md shows of the demo is what the command prints there."""

import io
import re
import shlex
from contextlib import suppress

import pytest
from django.core.management import call_command

from meshmgmt.env import BASE_DIR

DOCUMENT = BASE_DIR / "docs" / "access.md"
SHOWN = re.compile(r"\$ manage\.py (reach .*)\n((?:(?!\$ |```).*\n)+)")


@pytest.mark.django_db
def test_what_the_document_shows_is_what_is_printed() -> None:
    call_command("seed", stdout=io.StringIO())
    examples = SHOWN.findall(DOCUMENT.read_text(encoding="utf-8"))
    assert len(examples) == 3
    for command, shown in examples:
        out = io.StringIO()
        with suppress(SystemExit):
            call_command(*shlex.split(command), stdout=out)
        assert out.getvalue() == shown
