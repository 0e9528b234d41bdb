"""How a batch reaches its receiver, by the kind of target, and how it may fail to."""


class NotDelivered(Exception):
    """It may arrive later, not before `wait` seconds have passed."""

    def __init__(self, text: str, wait: float = 0.0) -> None:
        super().__init__(text)
        self.wait = wait


class Refused(Exception):
    """The receiver will never take this batch as it is."""


class Gone(Exception):
    """The receiver wants nothing any more."""


def described(error: Exception) -> str:
    """Return what went wrong, in the words of the system where it has some."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else error
    return str(text) or type(error).__name__
