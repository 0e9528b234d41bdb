"""Texts that others chose, as they may stand on one line of a terminal or a log."""


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
