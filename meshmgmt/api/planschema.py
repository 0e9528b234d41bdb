"""How the OpenAPI document describes the answer of a dry run."""

from collections.abc import Sequence
from typing import Any, Final

from meshmgmt.api.plans import HEADER


def _object(
    description: str = "", required: Sequence[str] = (), **properties: Any
) -> dict[str, Any]:
    return {
        "type": "object",
        **({"description": description} if description else {}),
        **({"required": [*required]} if required else {}),
        "properties": properties,
    }


def _objects(**properties: Any) -> dict[str, Any]:
    return {"type": "array", "items": _object(**properties)}


_TEXT: Final = {"type": "string"}
_NUMBER: Final = {"type": "integer"}
_ANY: Final = {"type": "object", "additionalProperties": True}
DRY_RUN: Final = _object(
    "What a write with `?dry_run=true` would do.",
    ["result", "plan", "plan_hash"],
    result={"description": "What the write would be answered"},
    plan=_object(
        required=["objects", "events", "peers", "reach", "tests"],
        objects=_objects(
            action={
                "type": "string",
                "enum": ["created", "changed", "disabled", "deleted"],
            },
            type=_TEXT,
            id=_TEXT,
            name=_TEXT,
            changes=_ANY,
        ),
        events=_objects(
            activity=_TEXT,
            activity_code=_TEXT,
            target_id=_TEXT,
            target_type=_TEXT,
            meta=_ANY,
            changes=_ANY,
        ),
        peers=_object(
            maps={
                **_ANY,
                "description": (
                    "Peers whose network map becomes another; where it is not `exact`,"
                    " those whose map may"
                ),
            },
            dns=_objects(managed=_ANY, zones=_ANY, nameserver_groups=_ANY, peers=_ANY),
        ),
        reach=_object(
            "Pairs of groups, peers and resources that may begin something else by"
            " rules; of `left_out` more it was not looked at",
            ["pairs", "left_out"],
            pairs=_objects(
                source=_ANY,
                destination=_ANY,
                gained=_TEXT,
                gained_pairs=_NUMBER,
                lost=_TEXT,
                lost_pairs=_NUMBER,
                text=_TEXT,
            ),
            left_out=_NUMBER,
        ),
        tests={
            **_objects(
                id=_TEXT,
                name=_TEXT,
                enforce={"type": "boolean"},
                before=_TEXT,
                after=_TEXT,
                failures={"type": "array", "items": _ANY},
            ),
            "description": "Access tests whose state becomes another",
        },
        explain={
            **_ANY,
            "description": (
                "With `source` and `destination` in the query: what"
                " `/api/access/explain` answers `before` and `after`; null where"
                " one of them is not there"
            ),
        },
    ),
    plan_hash={**_TEXT, "description": f"To be sent as `{HEADER}`"},
)
