"""How the OpenAPI document describes the answer of a dry run."""

from typing import Any, Final

from meshmgmt.api.plans import HEADER


def _objects(**properties: Any) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "object", "properties": properties}}


_TEXT: Final = {"type": "string"}
_ANY: Final = {"type": "object", "additionalProperties": True}
DRY_RUN: Final = {
    "type": "object",
    "description": "What a write with `?dry_run=true` would do.",
    "required": ["result", "plan", "plan_hash"],
    "properties": {
        "result": {"description": "What the write would be answered"},
        "plan": {
            "type": "object",
            "required": ["objects", "events", "peers"],
            "properties": {
                "objects": _objects(
                    action={
                        "type": "string",
                        "enum": ["created", "changed", "disabled", "deleted"],
                    },
                    type=_TEXT,
                    id=_TEXT,
                    name=_TEXT,
                    changes=_ANY,
                ),
                "events": _objects(
                    activity=_TEXT,
                    activity_code=_TEXT,
                    target_id=_TEXT,
                    target_type=_TEXT,
                    meta=_ANY,
                    changes=_ANY,
                ),
                "peers": {
                    "type": "object",
                    "properties": {
                        "maps": {
                            **_ANY,
                            "description": (
                                "Peers whose network map becomes another; where it is"
                                " not `exact`, those whose map may"
                            ),
                        },
                        "dns": _objects(
                            managed=_ANY, zones=_ANY, nameserver_groups=_ANY, peers=_ANY
                        ),
                    },
                },
            },
        },
        "plan_hash": {**_TEXT, "description": f"To be sent as `{HEADER}`"},
    },
}
