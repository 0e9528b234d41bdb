"""Roles and what each may do, as one table.

`C` create, `R` read, `U` update, `D` delete; a module that a role does not list is closed
to it.
"""

from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from typing import Final


class Operation(StrEnum):
    CREATE = "create"
    READ = "read"
    UPDATE = "update"
    DELETE = "delete"


class Role(StrEnum):
    OWNER = "owner"
    ADMIN = "admin"
    NETWORK_ADMIN = "network_admin"
    AUDITOR = "auditor"
    USER = "user"


_TABLE: Final = """
                     owner  admin  network_admin  auditor  user
networks             CRUD   CRUD   CRUD           R        -
peers                CRUD   CRUD   R              R        -
remote_jobs          CRUD   CRUD   -              R        -
groups               CRUD   CRUD   CRUD           R        -
settings             CRUD   CRUD   R              R        -
accounts             CRUD   R      R              R        -
dns                  CRUD   CRUD   CRUD           R        -
nameservers          CRUD   CRUD   CRUD           R        -
events               CRUD   CRUD   R              R        -
policies             CRUD   CRUD   CRUD           R        -
routes               CRUD   CRUD   CRUD           R        -
users                CRUD   CRUD   R              R        -
setup_keys           CRUD   CRUD   R              R        -
pats                 CRUD   CRUD   CRUD           R        -
identity_providers   CRUD   CRUD   R              R        -
services             CRUD   CRUD   -              R        -
"""

_LETTERS: Final = {operation.value[0].upper(): operation for operation in Operation}


def _parse(table: str) -> dict[tuple[str, str], frozenset[Operation]]:
    header, *rows = [line.split() for line in table.strip().splitlines()]
    return {
        (role, module): frozenset(_LETTERS[x] for x in letters if x != "-")
        for module, *cells in rows
        for role, letters in zip(header, cells, strict=True)
    }


PERMISSIONS: Final = _parse(_TABLE)
MODULES: Final = tuple(dict.fromkeys(module for _, module in PERMISSIONS))


def allowed(role: str, module: str, operation: Operation) -> bool:
    """Tell whether `role` may do `operation` in `module`; unknown names may not."""
    return operation in PERMISSIONS.get((role, module), frozenset())


@cache
def writes(role: str) -> bool:
    """Tell whether `role` may change anything at all."""
    operations = {Operation.CREATE, Operation.UPDATE, Operation.DELETE}
    return any(operations & PERMISSIONS.get((role, name), set()) for name in MODULES)


@cache
def permissions_of(role: str) -> Mapping[str, Mapping[str, bool]]:
    """Return `{module: {operation: allowed}}`, as `/api/users/current` shows it."""
    return {
        module: {op.value: allowed(role, module, op) for op in Operation}
        for module in MODULES
    }
