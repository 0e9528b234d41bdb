"""Rules on what a peer is asked to do: pure."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from meshmgmt.core.errors import FieldError

BUNDLE: Final = "bundle"
LONGEST_MINUTES: Final = 5
MOST_LOG_FILES: Final = 1000
LEVELS: Final = ("", "default", "strict")
"""How much is anonymised; "" leaves that to the peer."""

Parameters = Mapping[str, Any]


def workload_errors(type_: str, parameters: Parameters) -> list[FieldError]:
    """Check what a peer is asked to do, as the API is told."""
    if type_ != BUNDLE:
        return [FieldError("workload.type", f"the type of a workload must be {BUNDLE}")]
    return [
        replace(error, field=f"workload.parameters.{error.field}")
        for error in bundle_errors(parameters)
    ]


def bundle_errors(parameters: Parameters) -> Iterator[FieldError]:
    """Check the parameters of a bundle, whose types are right already."""
    waits, minutes = parameters["bundle_for"], parameters["bundle_for_time"]
    if waits and not 1 <= minutes <= LONGEST_MINUTES:
        text = f"bundle_for_time must be from 1 to {LONGEST_MINUTES} minutes"
        yield FieldError("bundle_for_time", text)
    if not 1 <= parameters["log_file_count"] <= MOST_LOG_FILES:
        text = f"log_file_count must be from 1 to {MOST_LOG_FILES}"
        yield FieldError("log_file_count", text)
    if parameters.get("anonymize_level", "") not in LEVELS:
        text = "anonymize_level must be default, strict or empty"
        yield FieldError("anonymize_level", text)
