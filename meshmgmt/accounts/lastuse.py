"""When a token was last used: kept to the minute, and never in the way of a request."""

import datetime as dt
import logging
from typing import Any, Final, Protocol

from django.db import DatabaseError
from django.db.models import Q

from meshmgmt.core import clock
from meshmgmt.core.transactions import SHORT_PATIENCE, sqlite_patience

log = logging.getLogger(__name__)

INTERVAL: Final = dt.timedelta(minutes=1)


class Credential(Protocol):
    """A stored credential; `last_used` is one of its unaudited columns."""

    pk: Any
    last_used: dt.datetime | None


def note_use(token: Credential) -> None:
    """Store that `token` is used now, at most once a minute, without the account lock.

    When the database is busy or full the use goes unrecorded: a read must not wait for
    another's write, nor fail because nothing can be stored.
    """
    now = clock.now()
    if token.last_used is not None and now - token.last_used < INTERVAL:
        return
    stale = Q(last_used__isnull=True) | Q(last_used__lte=now - INTERVAL)
    try:
        with sqlite_patience(SHORT_PATIENCE):
            stored: Any = type(token)
            stored.objects.filter(stale, pk=token.pk).unaudited_update(last_used=now)
    except DatabaseError as error:
        log.info("the last use of a token was not recorded: %s", error)
