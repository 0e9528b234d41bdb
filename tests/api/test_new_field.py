"""What a field of a resource costs: a line in the model, and one in the request's body."""

import os
import subprocess
import sys

import pytest

from meshmgmt.env import BASE_DIR


@pytest.mark.slow
@pytest.mark.timeout(600)  # it makes a database of its own
@pytest.mark.django_db
def test_a_field_is_declared_twice_and_is_everywhere():
    """A room of its own would be in the tables and lists of all other tests."""
    words = ["-q", "-n", "0", "--ds=tests.throwaway.settings", "-p", "no:cacheprovider"]
    environment = {x: y for x, y in os.environ.items() if not x.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, "tests/throwaway/cases.py"],
        cwd=BASE_DIR,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
