"""Texts for people: what others chose, as a line may hold it, and numbers of things."""


def printable(text: str) -> str:
    r"""Return `text` with everything that is not seen written as an escape.

    Control characters (C0, C1, DEL) could forge a line or command the terminal, bidi
    controls could make it read otherwise than it is: all show as in Python, `\n`, `\x1b`,
    `\u202e`.
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in text
    )


def counted(number: int, noun: str) -> str:
    """Return `1 peer`, `2 peers`, `1,200 peers`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
