#!/usr/bin/env python3
"""Command line of the service; `manage.py help` lists the commands."""

import os
import sys
from typing import Final

from meshmgmt import env

WITHOUT_APPS: Final = {"serve": "observability", "log_level": "observability"}
"""Commands that use no model, and their app: loading all apps takes half a second."""


def main() -> int:
    """Run one management command and return its exit status."""
    try:
        env.load()
    except env.ConfigError as error:
        sys.stderr.write("".join(f"{problem}\n" for problem in error.problems))
        return 2
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "meshmgmt.settings")
    from django.core import management  # noqa: PLC0415

    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name in WITHOUT_APPS:
        command = management.load_command_class(WITHOUT_APPS[name], name)
        command.run_from_argv(sys.argv)
    else:
        management.execute_from_command_line(sys.argv)
    return 0


if __name__ == "__main__":
    sys.exit(main())
