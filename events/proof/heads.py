"""Signed tree heads: what the trail was at one time, for whoever keeps them elsewhere."""

import logging
from base64 import b64encode
from typing import Any, Final

from django.db import DatabaseError

from events.activities import Activity
from events.instants import render_instant
from events.models import AuditEvent, AuditHead, AuditKey
from events.proof import keys, tree
from events.proof.hashing import head_text
from meshmgmt.core import clock
from meshmgmt.core.transactions import account_write

log = logging.getLogger(__name__)

EVERY_SECONDS: Final = 60.0
GROWING_SECONDS: Final = 20.0
"""How long one run grows the tree of a trail that is older than it; the next goes on."""

SHORT_DIGITS: Final = 16
"""Of a root, where it is shown to be compared by eye."""

Row = dict[str, Any]


def newest() -> AuditHead | None:
    return AuditHead.objects.order_by("-id").first()


def keep_up() -> None:
    """Take new events into the tree and sign it when it grew.

    Raises KeyUnavailable.
    """
    if not AuditEvent.objects.exists():
        return
    begin()
    tree.grow(GROWING_SECONDS)
    sign_growth()


def begin() -> AuditKey:
    """Return the key that signs, made when there is none yet.

    With it goes its first head: a key without one of its first moment had it once.
    """
    key = keys.current()
    if key is not None:
        return key
    with account_write():
        key = keys.current()  # another process may have been first
        if key is None:
            key = keys.make(Activity.AUDIT_KEY_CREATE)
            tree.grow_once()
            _sign_all(key)
        return key


def sign_growth() -> AuditHead | None:
    """Sign the tree unless its size was signed; return the newest head.

    Raises KeyUnavailable.
    """
    size, last = tree.extent().size, newest()
    if _covers(last, size):
        return last
    root = tree.tree_at(size).root()
    with tree.exclusive():  # nobody replaces the key meanwhile
        key, last = keys.current(), newest()
        # Another may have signed more by now, and heads are kept in order of their sizes.
        return last if key is None or _covers(last, size) else _sign(key, size, root)


def _covers(head: AuditHead | None, size: int) -> bool:
    return size <= (0 if head is None else head.tree_size)


def for_export() -> AuditHead | None:
    """Return a head of what is committed, or the newest there is.

    An export is worth having when nothing can be signed: a database that cannot be written,
    a trail that the tree has yet to catch up with.
    """
    if keys.current() is not None:
        try:
            if not tree.grow_once():
                return sign_growth()
            log.info("the export is ahead of the tree by a lot: nothing is signed")
        except (DatabaseError, keys.KeyUnavailable) as error:
            log.warning("no tree head was signed for an export: %s", error)
    return newest()


def rotate() -> AuditKey:
    """Replace the signing key and return the new one.

    The last head of the old key covers the event that names the new one: who trusts the
    old key has a reason to trust the new.
    """
    tree.grow(float("inf"))  # before the lock: a trail that is far ahead takes long
    if keys.current() is None:
        return begin()
    # In one write: no event comes between the one of the new key and the old key's head,
    # and nobody signs with the old key after its end.
    with account_write(), tree.exclusive():
        old = keys.current()
        assert old is not None
        keys.close(old)
        new = keys.make(Activity.AUDIT_KEY_ROTATE, replaced=old.id)
        tree.grow(float("inf"))
        try:
            _sign_all(old)
        except keys.KeyUnavailable as error:
            log.warning("the new key is vouched for by no head of the old: %s", error)
        return new


def row(head: AuditHead) -> Row:
    """Return a head as clients see it."""
    return {
        "tree_size": head.tree_size,
        "root_hash": bytes(head.root_hash).hex(),
        "timestamp": render_instant(head.timestamp),
        "key_id": head.key_id,
        "signature": b64encode(bytes(head.signature)).decode(),
    }


def short(head: Row) -> str:
    """Return what tells a head from others at a glance."""
    return f"{head['tree_size']} events, root {head['root_hash'][:SHORT_DIGITS]}"


def _sign_all(key: AuditKey) -> AuditHead:
    size = tree.extent().size
    return _sign(key, size, tree.tree_at(size).root())


def _sign(key: AuditKey, size: int, root: bytes) -> AuditHead:
    """Store a signed head; for who alone adds to the tree, or in a write."""
    # Clocks of hosts differ, and a key signs between the times of its making and its end.
    moment = key.valid_until or max(clock.now(), key.valid_from)
    head = AuditHead(tree_size=size, root_hash=root, timestamp=moment, key=key)
    head.signature = keys.private_key(key).sign(head_text(row(head)))
    head.save()
    return head
