"""Which module of the role table each kind of stored object belongs to.

The admin site asks by model; each room names its models' modules in its `room.py`.
"""

from typing import Final

from meshmgmt.core.registry import Registry
from meshmgmt.core.roles import MODULES

_modules: Final = Registry[str, str]()


def assign(module: str, *models: str) -> None:
    """Put models (`app_label.modelname`, or a whole `app_label`) under `module`.

    Raises ValueError for a module that the role table does not have.
    """
    if module not in MODULES:
        raise ValueError(f"{module!r} is not a module of the role table")
    for model in models:
        _modules.add(model.lower(), module)


def module_of(app_label: str, model_name: str) -> str | None:
    """Return the module of a model, None when nobody named one."""
    return _modules.get(f"{app_label}.{model_name}".lower()) or _modules.get(
        app_label.lower()
    )
