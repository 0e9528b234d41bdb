"""`manage.py` as a program among others in a pipe."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from meshmgmt.env import BASE_DIR


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, str(BASE_DIR / "manage.py"), "version"],
        env=os.environ | {"SVC_DATA_DIR": str(tmp_path)},
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)
    assert done.stderr == b""
    assert done.returncode == 128 + signal.SIGPIPE
