"""What the API has for the other rooms: what is kept for a while is forgotten."""

import logging

from meshmgmt.api import exceptions, limits, retries
from meshmgmt.core.jobs import HOUR, register_job


def register() -> None:
    logging.getLogger("django.request").addFilter(exceptions.in_a_line)
    register_job("kept_answers", HOUR, retries.forget_old_answers)
    register_job("used_permits", HOUR, limits.forget_used_permits)
