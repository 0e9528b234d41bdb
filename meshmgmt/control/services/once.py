"""What counts once: a digest of it is kept until nobody can send it again."""

import datetime as dt
import hashlib

from meshmgmt.control.models import SpentToken
from meshmgmt.core import clock


def spend(once: bytes, until: dt.datetime) -> bool:
    """Note what is used, in the running account write; False when it was used before."""
    # The table holds no more than what can still be sent.
    SpentToken.objects.filter(expires_at__lte=clock.now()).delete()
    digest = hashlib.sha256(once).hexdigest()
    if SpentToken.objects.filter(pk=digest).exists():
        return False
    SpentToken.objects.create(hash=digest, expires_at=until)
    return True
