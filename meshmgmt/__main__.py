"""`python -m meshmgmt`: the command line, whatever is installed on the PATH."""

import sys

from meshmgmt.commandline import main

sys.exit(main())
