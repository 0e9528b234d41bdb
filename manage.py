#!/usr/bin/env python3
"""Command line of the service; `manage.py help` lists the commands."""

import os
import sys

from meshmgmt import env


def main() -> int:
    """Run one management command and return its exit status."""
    try:
        env.load()
    except env.ConfigError as error:
        sys.stderr.write("".join(f"{problem}\n" for problem in error.problems))
        return 2
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "meshmgmt.settings")
    from django.core.management import execute_from_command_line  # noqa: PLC0415

    execute_from_command_line(sys.argv)
    return 0


if __name__ == "__main__":
    sys.exit(main())
