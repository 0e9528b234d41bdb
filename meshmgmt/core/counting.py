"""Numbers of things in sentences."""


def counted(number: int, noun: str) -> str:
    """Return `1 peer`, `2 peers`, `1,200 peers`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
