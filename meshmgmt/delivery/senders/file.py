"""Events as lines of JSON, appended to a file below the folder of the deployment."""

import os
from pathlib import Path

from django.conf import settings

from meshmgmt.delivery.feeds import Event
from meshmgmt.delivery.models import Subscription
from meshmgmt.delivery.senders.outcomes import NotDelivered


def send(subscription: Subscription, kind: str, events: list[Event]) -> None:
    """Append a batch; it is on the disk when this returns. Raises NotDelivered, OSError."""
    root = settings.SVC.delivery_dir
    if root is None:
        raise NotDelivered("SVC_DELIVERY_DIR is not set")
    append(root, subscription.target["path"], [event.body for event in events])


def append(root: Path, name: str, lines: list[bytes]) -> None:
    """Append lines to a file below `root`, all or none of them.

    Raises NotDelivered where a link leads out of the folder, OSError.
    """
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.parent.resolve().is_relative_to(root.resolve()):
        raise NotDelivered("the path leads out of SVC_DELIVERY_DIR")
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
    with open(os.open(path, flags, 0o600), "r+b", buffering=0) as file:  # noqa: PTH123 - flags
        size = file.seek(0, os.SEEK_END)
        data = b"".join(line + b"\n" for line in lines)
        if size and os.pread(file.fileno(), 1, size - 1) != b"\n":
            data = b"\n" + data  # a line that a crash cut off stands alone
        try:
            if file.write(data) != len(data):
                raise NotDelivered("the disk took a part of the batch only")
            os.fsync(file.fileno())
        except BaseException:
            file.truncate(size)
            raise
