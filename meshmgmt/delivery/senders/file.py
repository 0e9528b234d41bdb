"""Events as lines of JSON, appended to a file below the folder of the deployment."""

from django.conf import settings

from meshmgmt.core import files
from meshmgmt.delivery.feeds import Event
from meshmgmt.delivery.models import Subscription
from meshmgmt.delivery.senders.outcomes import NotDelivered


def send(subscription: Subscription, kind: str, events: list[Event]) -> None:
    """Append a batch, all of it or nothing; it is on the disk when this returns.

    Raises NotDelivered, also where a link leads out of the folder, OSError.
    """
    root = settings.SVC.delivery_dir
    if root is None:
        raise NotDelivered("SVC_DELIVERY_DIR is not set")
    path = root / subscription.target["path"]
    path.parent.mkdir(parents=True, exist_ok=True)
    # Whoever may write below the folder could lead us elsewhere.
    if not path.parent.resolve().is_relative_to(root.resolve()):
        raise NotDelivered("the path leads out of SVC_DELIVERY_DIR")
    with files.opened(path) as file:
        files.append(file, [event.body for event in events])
