"""The committed OpenAPI document."""

from functools import cache
from typing import Any, Final

import yaml

from meshmgmt.env import BASE_DIR

DOCUMENT: Final = BASE_DIR / "openapi.yaml"


@cache
def schema() -> dict[str, Any]:
    """Return what is in it, read by libyaml: Python's own reader takes seconds."""
    return yaml.load(DOCUMENT.read_bytes(), yaml.CSafeLoader)  # type: ignore[no-any-return]
