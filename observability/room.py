"""What is measured of other rooms, and what the first page shows of it."""

from observability import homecards
from observability.metrics import receivers


def register() -> None:
    receivers.register()
    homecards.register()
