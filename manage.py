#!/usr/bin/env python3
"""Command line of a checkout; installed, it is called `meshmgmt`."""

import sys

from meshmgmt.commandline import main

if __name__ == "__main__":
    sys.exit(main())
