"""The check every list of group ids goes through."""

from collections.abc import Container, Iterator, Sequence

from meshmgmt.core.fielderrors import FieldError
from meshmgmt.core.names import quoted


def group_id_errors(
    field: str, group_ids: Sequence[str], known: Container[str]
) -> Iterator[FieldError]:
    """Empty and unknown ids, in list order. An empty list is allowed."""
    for index, group_id in enumerate(group_ids):
        path = f"{field}[{index}]"
        if not group_id:
            yield FieldError(path, "A group id must not be empty")
        elif group_id not in known:
            yield FieldError(path, f"Group {quoted(group_id)} not found")
