"""What the variables of the environment hold: texts read as values, or refused.

Each function takes the text of a variable and raises ValueError with the end of a
sentence, which `meshmgmt.env` begins with the variable's name.
"""

import importlib.util
import ipaddress
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from meshmgmt.core.addresses import THIS_HOST, is_safe_url
from meshmgmt.core.slidingwindow import Limit

SQLITE: Final = "sqlite:///"
LEVEL_NAMES: Final = ("trace", "debug", "info", "warn", "error", "fatal", "panic")
MAX_PORT: Final = 65535
MAX_DAYS: Final = 36_500
"""Dates know no day that is thousands of years ago."""
OTEL_PACKAGES: Final = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")
LEVEL_ALIASES: Final = {"warning": "warn", "critical": "fatal"}

_MAPPED: Final = 96
"""Bits before the address of IPv4 in one of IPv6 that stands for it."""

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def one_of(*allowed: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        value = text.strip().lower()
        if value not in allowed:
            raise ValueError(f"{text!r} is not one of {', '.join(allowed)}")
        return value

    return parse


def parse_level(text: str) -> str:
    """Return the canonical log level name of `text` (any case, aliases allowed).

    Raises ValueError naming the allowed levels (seed, Operational interfaces).
    """
    value = text.strip().lower()
    value = LEVEL_ALIASES.get(value, value)
    if value not in LEVEL_NAMES:
        raise ValueError(f"{text!r} is not a log level: use {', '.join(LEVEL_NAMES)}")
    return value


def _is_port(text: str) -> bool:
    digits = re.fullmatch(r"[0-9]{1,5}", text.strip())
    return digits is not None and 0 < int(text) <= MAX_PORT


def or_off(parse: Callable[[str], Any], off: Any = None) -> Callable[[str], Any]:
    """Read what `parse` does, or the word `off`, for which another value stands."""

    def read(text: str) -> Any:
        return off if text.strip().lower() == "off" else parse(text)

    return read


def port(text: str) -> int:
    if not _is_port(text):
        raise ValueError(f"{text!r} is not a port: use 1 to 65535, or off")
    return int(text)


def postgresql(text: str) -> str:
    if not re.match(r"postgres(ql)?://", text):
        raise ValueError("this does not begin postgresql://")  # it holds a password
    if not re.match(r"\w+://[^/]*/[^/?]", text):
        raise ValueError(
            "this names no database behind the host: postgresql://HOST/NAME"
        )
    # None of these quotes what it is about: part of a password may stand there.
    if re.match(r"\w+://[^/]*@[^/]*@", text):
        raise ValueError("an @ in the user or the password must be written %40")
    from psycopg import ProgrammingError  # noqa: PLC0415 - SQLite needs none
    from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415 - as above

    try:
        ports = conninfo_to_dict(text).get("port", "")
    except ProgrammingError:
        raise ValueError("this is no URL that PostgreSQL's library reads") from None
    if not all(_is_port(port) for port in str(ports).split(",") if port):
        text = f"the port is no number from 1 to {MAX_PORT}"
        raise ValueError(f"{text} (a / in the password must be written %2F)")
    return text


def database(text: str) -> str:
    if text in {SQLITE, f"{SQLITE}:memory:"}:
        raise ValueError(f"this names no file: {SQLITE}PATH")
    if not text or text.startswith(SQLITE):
        return text
    if not re.match(r"postgres(ql)?://", text):
        raise ValueError(f"this does not begin postgresql:// or {SQLITE}")
    return postgresql(text)


def bind(text: str) -> str:
    """Return `HOST:PORT`, perhaps behind `tcp://`, or `unix:PATH`. Raises ValueError."""
    bind = text.strip().removeprefix("tcp://")
    if re.fullmatch(r"unix:.+", bind) or _is_host_with_port(bind):
        return bind
    raise ValueError(f"{text!r} is not HOST:PORT or unix:PATH")


def _is_host_with_port(text: str) -> bool:
    match = re.fullmatch(_HOST, text)
    return match is not None and _is_port(match["port"])


def email(text: str) -> str:
    if text and not re.fullmatch(r"[^@\s]+@[^@\s]+", text):
        raise ValueError(f"{text!r} is not an e-mail address")
    return text


def issuer(text: str) -> str:
    if text and (not is_safe_url(text) or re.search(r"\s", text)):
        here = ", ".join(THIS_HOST)
        raise ValueError(f"{text!r} is not https://HOST (http only for {here})")
    return text


def grpc_bind(text: str) -> str:
    bind = text.strip()
    if not _is_host_with_port(bind):
        raise ValueError(f"{text!r} is not HOST:PORT, or off")
    return bind


def file(text: str) -> Path:
    try:
        Path(text).open("rb").close()
    except OSError as error:
        raise ValueError(f"cannot read {text!r}: {error.strerror}") from error
    return Path(text)


def path(text: str) -> Path:
    if not text.strip():
        raise ValueError("this names no folder")
    if os.path.isfile(text):  # noqa: PTH113 - never raises
        raise ValueError(f"{text!r} is a file")
    return Path(text)


def secret(text: str) -> str:
    if text and not text.strip():
        raise ValueError("this is blank")
    return text


def folder(text: str) -> Path | None:
    if text and not Path(text).is_absolute():
        raise ValueError(f"{text!r} is not an absolute path")
    return path(text) if text else None


def peer_url(text: str) -> str:
    """Return `http(s)://HOST[:PORT]`, without the slash that people end it with."""
    url = text.rstrip("/")
    if not _is_address(url, "https?") or url.count("/") != 2:  # noqa: PLR2004 - `//`
        raise ValueError(f"{text!r} is not http(s)://HOST[:PORT]")
    return url


def _origin(text: str) -> str:
    """Return an origin as browsers write it: in lower case, without the usual port."""
    scheme, _, host = peer_url(text).lower().partition("://")
    name, port = re.fullmatch(r"(.+?)(:\d+)?", host).groups("")  # type: ignore[union-attr]  # any host
    usual = ":443" if scheme == "https" else ":80"
    return f"{scheme}://{_host(name)}{port.removesuffix(usual)}"


def origins(text: str) -> tuple[str, ...]:
    return tuple(map(_origin, listed(text)))


def any_or_origins(text: str) -> tuple[str, ...]:
    if text.strip() == "*":
        return ("*",)
    if "*" in text:
        raise ValueError("* stands for any origin, and for no part of one")
    return origins(text)


def domain(text: str) -> str:
    from meshmgmt.core.names import parse_name  # noqa: PLC0415 - few set one

    parse_name(text)
    return text


def _helpers(pattern: str, form: str) -> Callable[[str], tuple[str, ...]]:
    """Read addresses of servers that help peers; agents refuse any other form."""

    def parse(text: str) -> tuple[str, ...]:
        words = listed(text)
        for word in words:
            match = re.fullmatch(pattern, word)
            if match is None or not _is_port(match["port"]):
                raise ValueError(f"{word!r} is not {form}")
        return words

    return parse


_NAME: Final = r"(?:[^\s/@?#:\[\]]+|\[[0-9A-Fa-f:.]+\])"
_HOST: Final = rf"{_NAME}:(?P<port>\w+)"
stuns: Final = _helpers(rf"stun:{_HOST}", "stun:HOST:PORT")
turns: Final = _helpers(
    rf"turn:{_HOST}(?:\?transport=udp)?", "turn:HOST:PORT[?transport=udp]"
)
relays: Final = _helpers(rf"rels?://{_HOST}", "rel(s)://HOST:PORT")


def listed(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _host(word: str) -> str:
    """Return a host as clients write it: as an A-label, without the dot at the end."""
    name = word.removesuffix(".")
    if not re.fullmatch(_NAME, name):
        raise ValueError(
            f"{word!r} is not a host name or address (one of IPv6 in brackets),"
            " without scheme and port"
        )
    if name.isascii():
        return name
    from meshmgmt.core.names import parse_name  # noqa: PLC0415 - few need it

    return "." * name.startswith(".") + parse_name(name.removeprefix("."))


def hosts(text: str) -> tuple[str, ...]:
    words = listed(text)
    for word in words:
        if "*" in word and word != "*":
            raise ValueError(f"{word!r} is no host: all below a name are .NAME")
    return tuple(map(_host, words))


def networks(text: str) -> tuple[Network, ...]:
    return tuple(map(_network, listed(text)))


def _network(text: str) -> Network:
    """Return a network; one of IPv4 that IPv6 names (`::ffff:192.0.2.0/120`) as such."""
    found = ipaddress.ip_network(text, strict=False)
    mapped = getattr(found.network_address, "ipv4_mapped", None)
    if mapped is None or found.prefixlen < _MAPPED:
        return found
    return ipaddress.ip_network((mapped, found.prefixlen - _MAPPED))


def days(text: str) -> int | None:
    if text.strip().lower() in {"off", ""}:
        return None
    if not text.strip().isdecimal() or not 1 <= int(text) <= MAX_DAYS:
        raise ValueError(
            f"{text!r} is not a number of days from 1 to {MAX_DAYS}, or off"
        )
    return int(text)


def whole(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.strip().isdecimal() or not low <= int(text) <= high:
            raise ValueError(f"{text!r} is not a whole number from {low} to {high}")
        return int(text)

    return parse


_UNITS: Final = {"s": 1, "min": 60, "h": 3600}


def rate(text: str) -> Limit:
    """Return how many requests are let through in a second, minute or hour."""
    match = re.fullmatch(r"([1-9][0-9]{0,8})/(s|min|h)", text.strip().lower())
    if match is None:
        raise ValueError(f"{text!r} is not COUNT/s, COUNT/min, COUNT/h, or off")
    return Limit(int(match[1]), _UNITS[match[2]])


def seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 3600:  # noqa: PLR2004 - an hour, in seconds
        raise ValueError(f"{text!r} is not a number of seconds from 0 to 3600")
    return value


def truth(text: str) -> bool:
    value = text.strip().lower()
    if value not in {"true", "false", "1", "0"}:
        raise ValueError(f"{text!r} is neither true nor false")
    return value in {"true", "1"}


_OUTPUTS: Final = {
    "stderr": "console",
    **{name: name for name in ("console", "service", "stdout", "syslog")},
}


def outputs(text: str) -> tuple[str, ...]:
    words = listed(text)
    if not words:
        raise ValueError(
            f"{text!r} names no output: use console, stdout, syslog, paths"
        )
    return tuple(dict.fromkeys(_OUTPUTS.get(word.lower(), word) for word in words))


def listeners(text: str) -> tuple[str, ...]:
    words = listed(text)
    for word in words:
        if not _is_address(word, "wss?"):
            raise ValueError(f"{word!r} is not ws://HOST[:PORT] or wss://HOST[:PORT]")
    return words


def collector(text: str) -> str:
    """Return the base address of an OTLP/HTTP collector, "" for none."""
    if not text:
        return ""
    if not _is_address(text, "https?"):
        raise ValueError(f"{text!r} is not http(s)://HOST[:PORT]")
    if not _has_packages(*OTEL_PACKAGES):
        raise ValueError(
            "tracing needs packages that are not installed: "
            "pip install --require-hashes -r requirements/otel.txt"
        )
    return text


def _is_address(text: str, scheme: str) -> bool:
    """Tell whether `text` is SCHEME://HOST[:PORT][/PATH]; `scheme` is a pattern."""
    match = re.fullmatch(rf"{scheme}://{_NAME}(?::(\w+))?(/[^\s#]*)?", text)
    return match is not None and (match[1] is None or _is_port(match[1]))


def _has_packages(*names: str) -> bool:
    try:
        return all(importlib.util.find_spec(name) for name in names)
    except ModuleNotFoundError:  # a package that holds one of them is missing
        return False


def places(text: str) -> Path | None:
    """Return the path of a MaxMind database that knows countries, None for none."""
    if not text:
        return None
    import maxminddb  # noqa: PLC0415 - few deployments have one

    try:
        with maxminddb.open_database(text) as database:
            kind = database.metadata().database_type
    except OSError as error:
        raise ValueError(f"cannot read {text!r}: {error.strerror}") from error
    except (maxminddb.InvalidDatabaseError, ValueError, UnicodeError) as error:
        raise ValueError(f"{text!r} is not a MaxMind database file") from error
    if not any(word in kind for word in ("City", "Country", "Enterprise")):
        raise ValueError(f"{text!r} holds {kind!r}, not countries or cities")
    return Path(text)
