"""Rules on what a peer is asked to do: pure."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from meshmgmt.core.fielderrors import FieldError

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


def bundle_errors(parameters: Parameters) -> list[FieldError]:
    """Check the parameters of a bundle, whose types are right already."""
    return [
        *_time(parameters),
        *_log_files(parameters["log_file_count"]),
        *_level(parameters.get("anonymize_level", "")),
    ]


def _time(parameters: Parameters) -> list[FieldError]:
    minutes = parameters["bundle_for_time"]
    if not parameters["bundle_for"] or 1 <= minutes <= LONGEST_MINUTES:
        return []
    text = f"bundle_for_time must be from 1 to {LONGEST_MINUTES} minutes"
    return [FieldError("bundle_for_time", text)]


def _log_files(count: int) -> list[FieldError]:
    if 1 <= count <= MOST_LOG_FILES:
        return []
    text = f"log_file_count must be from 1 to {MOST_LOG_FILES}"
    return [FieldError("log_file_count", text)]


def _level(level: str) -> list[FieldError]:
    if level in LEVELS:
        return []
    return [
        FieldError(
            "anonymize_level", "anonymize_level must be default, strict or empty"
        )
    ]
