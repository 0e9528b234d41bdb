"""Configuration from `SVC_*` environment variables, typed and checked at start.

Every wrong value is reported at once, and names that nobody reads are refused, so a
misspelt variable never silently falls back to a default.
"""

import importlib.util
import ipaddress
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from meshmgmt.core.addresses import THIS_HOST, is_safe_url
from meshmgmt.core.slidingwindow import Limit

PREFIX: Final = "SVC_"
BASE_DIR: Final = Path(__file__).resolve().parent.parent
"""The checkout; where packages are installed, when this is no checkout."""
IS_CHECKOUT: Final = (BASE_DIR / "manage.py").is_file()
PROGRAM: Final = (
    "manage.py" if IS_CHECKOUT and Path(sys.argv[0]).name != "meshmgmt" else "meshmgmt"
)
"""What operators type before the name of a command."""
NOT_SET_UP: Final = (
    f"the database is not set up for this version: run {PROGRAM} migrate"
)
SECRETS: Final = (
    "DATABASE_URL",
    "DATABASE_POOLER_URL",
    "DATABASE_REPLICA_URL",
    "SECRET_KEY",
    "OIDC_CLIENT_SECRET",
    "TURN_SECRET",
    "RELAY_SECRET",
)
_MADE_OTHERWISE: Final = ("DATABASE_URL", "SECRET_KEY")
"""Secrets without which the service makes a database, or a key, of its own."""
GRPC_PORT: Final = 33073
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


class ConfigError(Exception):
    """The environment is unusable; `problems` holds one sentence per fault."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


def _data_dir() -> Path:
    """Return `var` in a checkout, else the folder of the user (XDG base directories)."""
    if IS_CHECKOUT:
        return BASE_DIR / "var"
    home = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")  # noqa: PTH111 - never raises
    return Path(home) / "meshmgmt"


def _one_of(*allowed: str) -> Callable[[str], str]:
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


def _or_off(parse: Callable[[str], Any], off: Any = None) -> Callable[[str], Any]:
    """Read what `parse` does, or the word `off`, for which another value stands."""

    def read(text: str) -> Any:
        return off if text.strip().lower() == "off" else parse(text)

    return read


def _port(text: str) -> int:
    if not _is_port(text):
        raise ValueError(f"{text!r} is not a port: use 1 to 65535, or off")
    return int(text)


def _postgresql(text: str) -> str:
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


def _database(text: str) -> str:
    if text in {SQLITE, f"{SQLITE}:memory:"}:
        raise ValueError(f"this names no file: {SQLITE}PATH")
    if not text or text.startswith(SQLITE):
        return text
    if not re.match(r"postgres(ql)?://", text):
        raise ValueError(f"this does not begin postgresql:// or {SQLITE}")
    return _postgresql(text)


def parse_bind(text: str) -> str:
    """Return `HOST:PORT`, perhaps behind `tcp://`, or `unix:PATH`. Raises ValueError."""
    bind = text.strip().removeprefix("tcp://")
    if re.fullmatch(r"unix:.+", bind) or _is_host_with_port(bind):
        return bind
    raise ValueError(f"{text!r} is not HOST:PORT or unix:PATH")


def _is_host_with_port(text: str) -> bool:
    match = re.fullmatch(_HOST, text)
    return match is not None and _is_port(match["port"])


def _email(text: str) -> str:
    if text and not re.fullmatch(r"[^@\s]+@[^@\s]+", text):
        raise ValueError(f"{text!r} is not an e-mail address")
    return text


def _issuer(text: str) -> str:
    if text and (not is_safe_url(text) or re.search(r"\s", text)):
        here = ", ".join(THIS_HOST)
        raise ValueError(f"{text!r} is not https://HOST (http only for {here})")
    return text


def _grpc_bind(text: str) -> str:
    bind = text.strip()
    if not _is_host_with_port(bind):
        raise ValueError(f"{text!r} is not HOST:PORT, or off")
    return bind


def _beside(bind: str) -> str:
    """Return where the peers' port is by default: beside the API."""
    host = "127.0.0.1" if bind.startswith("unix:") else bind.rpartition(":")[0]
    return f"{host}:{GRPC_PORT}"


def _file(text: str) -> Path:
    try:
        Path(text).open("rb").close()
    except OSError as error:
        raise ValueError(f"cannot read {text!r}: {error.strerror}") from error
    return Path(text)


def _path(text: str) -> Path:
    if not text.strip():
        raise ValueError("this names no folder")
    if os.path.isfile(text):  # noqa: PTH113 - never raises
        raise ValueError(f"{text!r} is a file")
    return Path(text)


def _secret(text: str) -> str:
    if text and not text.strip():
        raise ValueError("this is blank")
    return text


def _folder(text: str) -> Path | None:
    if text and not Path(text).is_absolute():
        raise ValueError(f"{text!r} is not an absolute path")
    return _path(text) if text else None


def _peer_url(text: str) -> str:
    """Return `http(s)://HOST[:PORT]`, without the slash that people end it with."""
    url = text.rstrip("/")
    if not _is_address(url, "https?") or url.count("/") != 2:  # noqa: PLR2004 - `//`
        raise ValueError(f"{text!r} is not http(s)://HOST[:PORT]")
    return url


def _origin(text: str) -> str:
    """Return an origin as browsers write it: in lower case, without the usual port."""
    scheme, _, host = _peer_url(text).lower().partition("://")
    name, port = re.fullmatch(r"(.+?)(:\d+)?", host).groups("")  # type: ignore[union-attr]  # any host
    usual = ":443" if scheme == "https" else ":80"
    return f"{scheme}://{_host(name)}{port.removesuffix(usual)}"


def _origins(text: str) -> tuple[str, ...]:
    return tuple(map(_origin, _words(text)))


def _any_or_origins(text: str) -> tuple[str, ...]:
    if text.strip() == "*":
        return ("*",)
    if "*" in text:
        raise ValueError("* stands for any origin, and for no part of one")
    return _origins(text)


def _domain(text: str) -> str:
    from meshmgmt.core.names import parse_name  # noqa: PLC0415 - few set one

    parse_name(text)
    return text


def _helpers(pattern: str, form: str) -> Callable[[str], tuple[str, ...]]:
    """Read addresses of servers that help peers; agents refuse any other form."""

    def parse(text: str) -> tuple[str, ...]:
        words = _words(text)
        for word in words:
            match = re.fullmatch(pattern, word)
            if match is None or not _is_port(match["port"]):
                raise ValueError(f"{word!r} is not {form}")
        return words

    return parse


_NAME: Final = r"(?:[^\s/@?#:\[\]]+|\[[0-9A-Fa-f:.]+\])"
_HOST: Final = rf"{_NAME}:(?P<port>\w+)"
_stuns: Final = _helpers(rf"stun:{_HOST}", "stun:HOST:PORT")
_turns: Final = _helpers(
    rf"turn:{_HOST}(?:\?transport=udp)?", "turn:HOST:PORT[?transport=udp]"
)
_relays: Final = _helpers(rf"rels?://{_HOST}", "rel(s)://HOST:PORT")


def _words(text: str) -> tuple[str, ...]:
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


def _hosts(text: str) -> tuple[str, ...]:
    words = _words(text)
    for word in words:
        if "*" in word and word != "*":
            raise ValueError(f"{word!r} is no host: all below a name are .NAME")
    return tuple(map(_host, words))


def _networks(text: str) -> tuple[Network, ...]:
    return tuple(map(_network, _words(text)))


def _network(text: str) -> Network:
    """Return a network; one of IPv4 that IPv6 names (`::ffff:192.0.2.0/120`) as such."""
    found = ipaddress.ip_network(text, strict=False)
    mapped = getattr(found.network_address, "ipv4_mapped", None)
    if mapped is None or found.prefixlen < _MAPPED:
        return found
    return ipaddress.ip_network((mapped, found.prefixlen - _MAPPED))


def _days(text: str) -> int | None:
    if text.strip().lower() in {"off", ""}:
        return None
    if not text.strip().isdecimal() or not 1 <= int(text) <= MAX_DAYS:
        raise ValueError(
            f"{text!r} is not a number of days from 1 to {MAX_DAYS}, or off"
        )
    return int(text)


def _whole(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.strip().isdecimal() or not low <= int(text) <= high:
            raise ValueError(f"{text!r} is not a whole number from {low} to {high}")
        return int(text)

    return parse


_UNITS: Final = {"s": 1, "min": 60, "h": 3600}


def _rate(text: str) -> Limit:
    """Return how many requests are let through in a second, minute or hour."""
    match = re.fullmatch(r"([1-9][0-9]{0,8})/(s|min|h)", text.strip().lower())
    if match is None:
        raise ValueError(f"{text!r} is not COUNT/s, COUNT/min, COUNT/h, or off")
    return Limit(int(match[1]), _UNITS[match[2]])


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 3600:  # noqa: PLR2004 - an hour, in seconds
        raise ValueError(f"{text!r} is not a number of seconds from 0 to 3600")
    return value


def _truth(text: str) -> bool:
    value = text.strip().lower()
    if value not in {"true", "false", "1", "0"}:
        raise ValueError(f"{text!r} is neither true nor false")
    return value in {"true", "1"}


_OUTPUTS: Final = {
    "stderr": "console",
    **{name: name for name in ("console", "service", "stdout", "syslog")},
}


def _outputs(text: str) -> tuple[str, ...]:
    words = _words(text)
    if not words:
        raise ValueError(
            f"{text!r} names no output: use console, stdout, syslog, paths"
        )
    return tuple(dict.fromkeys(_OUTPUTS.get(word.lower(), word) for word in words))


def _listeners(text: str) -> tuple[str, ...]:
    words = _words(text)
    for word in words:
        if not _is_address(word, "wss?"):
            raise ValueError(f"{word!r} is not ws://HOST[:PORT] or wss://HOST[:PORT]")
    return words


def _collector(text: str) -> str:
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


def _places(text: str) -> Path | None:
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


def _read_secret_files(environ: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return `environ` with `SVC_X_FILE` of the listed secrets read into `SVC_X`."""
    values, problems = dict(environ), []
    for name in SECRETS:
        path = values.pop(f"{PREFIX}{name}_FILE", None)
        if path is None:
            continue
        if f"{PREFIX}{name}" in values:
            problems.append(f"{PREFIX}{name} and {PREFIX}{name}_FILE are both set")
            continue
        try:
            # Editors of Windows begin a text with a mark of its byte order.
            text = Path(path).read_text(encoding="utf-8-sig")
            values[f"{PREFIX}{name}"] = text.strip()
            # Not rendered yet, or written on a full disk: another is not what is meant.
            if not text.strip() and name in _MADE_OTHERWISE:
                problems.append(f"{PREFIX}{name}_FILE: {path!r} is empty")
        except (OSError, UnicodeDecodeError) as error:
            problems.append(f"{PREFIX}{name}_FILE: cannot read {path!r}: {error}")
    return values, problems


def _setting(parse: Callable[[str], Any], default: Any, *, name: str = "") -> Any:
    """Declare a field; a callable `default` gets the values of the fields before it."""
    return field(metadata={"parse": parse, "default": default, "name": name})


@dataclass(frozen=True, slots=True)
class Config:
    """Everything the environment decides. Durations are seconds unless named.

    A field is read from the variable of its name in capitals after `SVC_`.
    """

    data_dir: Path = _setting(_path, _data_dir())
    runtime_dir: Path = _setting(_path, lambda given: given["data_dir"] / "run")
    database_url: str = _setting(_database, "")
    database_pooler_url: str = _setting(_postgresql, "")
    database_replica_url: str = _setting(_postgresql, "")
    secret_key: str = _setting(_secret, "")
    bind: str = _setting(parse_bind, "127.0.0.1:8000")
    workers: int = _setting(_whole(1, 512), 2)
    threads: int = _setting(_whole(1, 512), 8)
    allowed_hosts: tuple[str, ...] = _setting(_hosts, ())
    trusted_proxies: tuple[Network, ...] = _setting(_networks, ())
    csrf_trusted_origins: tuple[str, ...] = _setting(_origins, ())
    cors_allowed_origins: tuple[str, ...] = _setting(_any_or_origins, ())
    max_body_bytes: int = _setting(_whole(1024, 2**31), 2**20)
    api_rate_limit: Limit | None = _setting(_or_off(_rate), None)
    anonymous_rate_limit: Limit | None = _setting(_or_off(_rate), Limit(300, 60))
    omitted_fields: str = _setting(_one_of("refuse", "empty"), "refuse")
    default_policy: str = _setting(_one_of("none", "all"), "none")
    api_docs: str = _setting(_one_of("public", "token", "off"), "public")
    dns_domain: str = _setting(_domain, "mesh.internal")
    metrics_port: int | None = _setting(_or_off(_port), 9090)
    metrics_port_explicit: bool = _setting(
        lambda text: True, False, name="METRICS_PORT"
    )
    metrics_host: str | None = _setting(str, None)
    metrics_dialect: str = _setting(_one_of("seed", "otel"), "seed")
    log_level: str = _setting(parse_level, "info")
    log_files: tuple[str, ...] = _setting(_outputs, ("console",), name="LOG_FILE")
    log_format: str = _setting(_one_of("json", "text"), "json")
    access_log: str = _setting(_one_of("all", "errors"), "all")
    syslog_address: str = _setting(str, "/dev/log")
    anonymize: bool = _setting(_truth, False)
    relay_listeners: tuple[str, ...] = _setting(_listeners, ())
    otel_endpoint: str = _setting(_collector, "")
    drain_seconds: float = _setting(_seconds, 5.0)
    audit_retention_days: int | None = _setting(_days, None)
    traffic_retention_days: int | None = _setting(_days, 30)
    proxy_retention_days: int | None = _setting(_days, 7)
    delivery_dir: Path | None = _setting(_folder, None)
    delivery_allowed_networks: tuple[Network, ...] = _setting(_networks, ())
    delivery_plain_http: bool = _setting(_truth, False)
    delivery_dead_letter_days: int | None = _setting(_days, 30)
    delivery_dead_letters: int = _setting(_whole(1, 1_000_000), 10_000)
    geoip_database: Path | None = _setting(_places, None)
    oidc_issuer: str = _setting(_issuer, "")
    oidc_client_id: str = _setting(_secret, "")
    oidc_client_secret: str = _setting(_secret, "")
    oidc_audience: tuple[str, ...] = _setting(_words, ())
    oidc_owner: str = _setting(_email, "")
    oidc_role_claim: str = _setting(str, "")
    grpc_bind: str = _setting(
        _or_off(_grpc_bind, ""), lambda given: _beside(given["bind"])
    )
    access_tests: int = _setting(_whole(1, 10_000), 1_000)
    peer_processes: int = _setting(_whole(1, 64), 1)
    grpc_certificate: Path | None = _setting(_file, None)
    grpc_key: Path | None = _setting(_file, None)
    peer_url: str = _setting(_peer_url, "")
    stun_urls: tuple[str, ...] = _setting(_stuns, ())
    turn_urls: tuple[str, ...] = _setting(_turns, ())
    turn_secret: str = _setting(_secret, "")
    relay_urls: tuple[str, ...] = _setting(_relays, ())
    relay_secret: str = _setting(_secret, "")
    flow_interval: int | None = _setting(_or_off(_whole(1, 3600)), None)

    @property
    def is_for_this_host(self) -> bool:
        """Whether the API is bound to loopback; a unix socket is no such address."""
        host = self.bind.rpartition(":")[0].strip("[]")
        try:
            return host == "localhost" or ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False


def _name(one: "Field[Any]") -> str:
    return one.metadata["name"] or one.name.upper()


VARIABLES: Final = frozenset(f"{PREFIX}{_name(one)}" for one in fields(Config))
"""Every variable that is read."""

_NEEDS: Final = (
    ("DATABASE_POOLER_URL", "DATABASE_URL", "postgres"),
    ("DATABASE_REPLICA_URL", "DATABASE_URL", "postgres"),
    ("GRPC_CERTIFICATE", "GRPC_KEY", ""),
    ("GRPC_KEY", "GRPC_CERTIFICATE", ""),
    ("TURN_URLS", "TURN_SECRET", ""),
    ("RELAY_URLS", "RELAY_SECRET", ""),
    ("OIDC_ISSUER", "OIDC_CLIENT_ID", ""),
    *(
        (f"OIDC_{name}", "OIDC_ISSUER", "")
        for name in ("CLIENT_ID", "CLIENT_SECRET", "AUDIENCE", "OWNER", "ROLE_CLAIM")
    ),
)
"""What each needs beside it, and how that has to begin."""


def load(environ: Mapping[str, str] = os.environ) -> Config:
    """Return the configuration. Raises ConfigError naming every fault."""
    values, problems = _read_secret_files(environ)
    given: dict[str, Any] = {}
    for one in fields(Config):
        variable, default = f"{PREFIX}{_name(one)}", one.metadata["default"]
        given[one.name] = default(given) if callable(default) else default
        if variable in values:
            try:
                given[one.name] = one.metadata["parse"](values[variable])
            except ValueError as error:
                problems.append(f"{variable}: {error}")
    problems += [*_unknown(values), *_halves(values)]
    if problems:
        raise ConfigError(problems)
    return Config(**given)


def _unknown(values: Iterable[str]) -> list[str]:
    """Return a sentence for each variable that no setting reads."""
    ours = {name for name in values if name.startswith(PREFIX)}
    return [
        f"{name} is not a setting of this service" for name in sorted(ours - VARIABLES)
    ]


def _halves(values: Mapping[str, str]) -> list[str]:
    """Return a sentence for each setting that needs another one, which is unset or odd."""
    return [
        f"{PREFIX}{name} needs {PREFIX}{other}{' of PostgreSQL' * bool(begin)}"
        for name, other, begin in _NEEDS
        if values.get(f"{PREFIX}{name}")
        and not re.match(begin or ".", values.get(f"{PREFIX}{other}", ""))
    ]
