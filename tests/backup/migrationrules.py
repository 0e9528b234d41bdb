"""What a migration may not do: it runs on full tables, beside the version before it."""

from collections.abc import Iterator, Sequence
from typing import Final

from django.contrib.postgres.operations import (
    AddConstraintNotValid,
    AddIndexConcurrently,
    RemoveIndexConcurrently,
)
from django.db.migrations import operations as ops
from django.db.migrations.operations.base import Operation
from django.db.models import NOT_PROVIDED

LARGE: Final = {("events", name) for name in ("trafficevent", "proxyentry")} | {
    ("events", "auditevent")
}
"""Tables with millions of rows; the first two are partitioned on PostgreSQL."""

REVERSE: Final = "cannot be taken back: give it a reverse, which may do nothing"
STILL_USED: Final = (
    "the version before still uses it: stop using it in one version, and remove or"
    " replace it in the next"
)
NO_DEFAULT: Final = (
    "the version before inserts rows without it: give it null=True or a db_default"
)
LOCKS: Final = (
    "keeps writers from a large table for as long as it reads all of it: build it by"
    " RunPython, concurrently and partition by partition"
)

_LOCKING: Final = (
    ops.AlterField,
    ops.AddIndex,
    ops.RemoveIndex,
    ops.AddConstraint,
    ops.AlterUniqueTogether,
    ops.AlterIndexTogether,
)
_WITHOUT_LOCK: Final = (
    AddIndexConcurrently,
    RemoveIndexConcurrently,
    AddConstraintNotValid,
)
_REMOVING: Final = (
    ops.RemoveField,
    ops.DeleteModel,
    ops.RenameField,
    ops.RenameModel,
    ops.AlterModelTable,
)


def objections(app: str, operations: Sequence[Operation]) -> Iterator[str]:
    """Yield a sentence for each operation on the database that is refused."""
    for operation in operations:
        if isinstance(operation, ops.SeparateDatabaseAndState):
            yield from objections(app, operation.database_operations)
        elif found := _objection(app, operation):
            yield f"{operation.describe()}: {found}"


def _objection(app: str, operation: Operation) -> str:
    if isinstance(operation, ops.RunPython | ops.RunSQL):
        return "" if operation.reversible else REVERSE
    if isinstance(operation, _REMOVING):
        return STILL_USED
    if isinstance(operation, ops.AddField) and _needs_value(operation.field):
        return NO_DEFAULT
    if (app, getattr(operation, "model_name", "").lower()) in LARGE:
        unique = isinstance(operation, ops.AddField) and operation.field.unique
        locking = isinstance(operation, _LOCKING)
        if unique or (locking and not isinstance(operation, _WITHOUT_LOCK)):
            return LOCKS
    return ""


def _needs_value(field: object) -> bool:
    """Tell whether a row inserted without this column is refused."""
    if getattr(field, "many_to_many", False) or getattr(field, "null", False):
        return False
    return getattr(field, "db_default", NOT_PROVIDED) is NOT_PROVIDED
