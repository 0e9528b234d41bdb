"""Management commands, run in this process."""

from io import StringIO
from typing import Any

from django.core.management import call_command


def printed(*words: str, **options: Any) -> str:
    """Run a command and return what it prints."""
    out = StringIO()
    call_command(*words, stdout=out, **options)
    return out.getvalue()
