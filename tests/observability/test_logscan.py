"""The watch over the suite's log sees what it is there for."""

import logging

import pytest

from tests.logscan import LogScan
from tests.people import api_of, person


@pytest.mark.django_db
def test_requests_of_the_suite_are_scanned(log_scan: LogScan):
    before = log_scan.records
    api_of(person("owner")).get("/api/groups")
    assert log_scan.records >= before + 2


def test_a_password_in_a_line_is_found():
    scan = LogScan()
    scan.passwords.add("correct-horse")
    logger = logging.getLogger("scanned")
    logger.addHandler(scan)
    logger.propagate = False
    try:
        logger.warning("harmless")
        assert scan.found() == []
        logger.warning("signed in with %s", "correct-horse")
        assert len(scan.found()) == 1
        # A token is hidden by the formatter, so this line is clean.
        logger.warning("used %s", "mpt_" + "a" * 36)
        assert len(scan.found()) == 1
    finally:
        logger.removeHandler(scan)
        logger.propagate = True
