"""What other rooms are told of users and settings, within the write that does it."""

from typing import Final

from django.dispatch import Signal

user_blocked: Final = Signal()
"""Sent with `user`."""

user_deleting: Final = Signal()
"""Sent with `user`, so that every room removes what it keeps of them."""

ranges_changed: Final = Signal()
"""Sent with `account`, whose network ranges are new."""

propagation_begun: Final = Signal()
"""Sent when peers follow the auto-groups of their owners from now on."""
