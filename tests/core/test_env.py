"""Configuration from the environment."""

import re
from ipaddress import ip_network
from pathlib import Path

import pytest

from meshmgmt import env
from tests.events.mmdb import write_database


def test_defaults_need_no_variable():
    config = env.load({})
    assert (config.bind, config.metrics_port) == ("127.0.0.1:8000", 9090)
    assert not config.metrics_port_explicit


def test_every_fault_is_reported_at_once():
    wrong = {"SVC_LOG_LEVEL": "loud", "SVC_METRICS_PORT": "70000"}
    with pytest.raises(env.ConfigError) as caught:
        env.load(wrong | {"SVC_WORKERS": "0", "SVC_LOGLEVEL": "info"})
    text = str(caught.value)
    assert len(caught.value.problems) == 4
    for part in ("'loud'", "trace, debug", "'70000'", "SVC_WORKERS", "SVC_LOGLEVEL"):
        assert part in text


def test_unknown_names_are_refused_but_other_prefixes_are_not():
    with pytest.raises(env.ConfigError, match="SVC_TYPO is not a setting"):
        env.load({"SVC_TYPO": "1"})
    assert env.load({"OTHER": "1"}) == env.load({})


def test_secret_is_read_from_a_file(tmp_path: Path):
    file = tmp_path / "key"
    file.write_text("\ufeffhush\n")  # as editors of Windows begin a text
    assert env.load({"SVC_SECRET_KEY_FILE": str(file)}).secret_key == "hush"


def test_secret_given_twice_is_refused(tmp_path: Path):
    file = tmp_path / "key"
    file.write_text("hush")
    with pytest.raises(env.ConfigError, match="both set"):
        env.load({"SVC_SECRET_KEY_FILE": str(file), "SVC_SECRET_KEY": "x"})


@pytest.mark.parametrize(
    "issuer", ["http://idp.test", "http://10.0.0.5:8080/realm", "idp.test", "https://"]
)
def test_issuer_that_anybody_between_could_play_is_refused_with_all_other_faults(
    issuer: str,
):
    with pytest.raises(env.ConfigError) as caught:
        env.load({"SVC_OIDC_ISSUER": issuer, "SVC_WORKERS": "0"})
    [about_workers, about_issuer, _] = caught.value.problems
    assert "SVC_WORKERS" in about_workers
    assert about_issuer == (
        f"SVC_OIDC_ISSUER: {issuer!r} is not https://HOST"
        " (http only for localhost, 127.0.0.1, ::1)"
    )


def documented() -> set[str]:
    text = (env.BASE_DIR / "docs" / "configuration.md").read_text(encoding="utf-8")
    return set(re.findall(r"^\| `(SVC_[A-Z_]+)`", text, re.MULTILINE))


def test_the_configuration_table_lists_exactly_the_settings():
    assert documented() == env.VARIABLES


@pytest.mark.parametrize(
    "listener",
    [
        "http://relay",
        "ws://",
        "ws://relay:99999",
        "ws://relay:",
        "ws://relay:0",
        "wss://:443",
        "wss://",
        "ws:/relay",
        "ws://[::1",
        "ws://user@relay",
        "relay:443",
    ],
)
def test_a_broken_relay_listener_is_named(listener: str):
    with pytest.raises(env.ConfigError) as caught:
        env.load({"SVC_RELAY_LISTENERS": f"wss://good:443,{listener}"})
    [sentence] = caught.value.problems
    assert sentence.startswith("SVC_RELAY_LISTENERS")
    assert repr(listener) in sentence
    assert "ws://HOST[:PORT]" in sentence


def places_problem(path: Path) -> str:
    """Return what is said of a file given as the database of places."""
    with pytest.raises(env.ConfigError) as caught:
        env.load({"SVC_GEOIP_DATABASE": str(path), "SVC_WORKERS": "0"})
    problem, other = sorted(caught.value.problems)
    assert other.startswith("SVC_WORKERS")
    return problem


def test_a_database_of_places_is_checked_with_the_other_settings(tmp_path: Path):
    path = tmp_path / "city.mmdb"
    assert "cannot read" in places_problem(path)
    assert "is not a MaxMind database" in places_problem(tmp_path)
    for wrong in (b"", b"no database", b"\xab\xcd\xefMaxMind.com" * 2):
        path.write_bytes(wrong)
        assert places_problem(path).endswith("is not a MaxMind database file")
    write_database(path, {}, kind="Test-ASN")
    assert places_problem(path).endswith("holds 'Test-ASN', not countries or cities")
    write_database(path, {})
    assert env.load({"SVC_GEOIP_DATABASE": str(path)}).geoip_database == path
    assert env.load({"SVC_GEOIP_DATABASE": ""}).geoip_database is None


PROXIES = (ip_network("10.0.0.0/8"),)
RELAYS = ("ws://relay", "wss://relay.lan:443/relay?x=1", "ws://[::1]:8080")
ADDRESSES = (
    "postgresql://u:p%40ss@h/x",
    "postgresql://u:p@a:5432,b:5433/x?target_session_attrs=read-write",
    "postgresql://u@[::1]:5432/x",
    "postgresql:///x?host=/run/postgresql",
    "sqlite:///relative.sqlite3",
)
HOSTS = ("mesh.test", "xn--hst-sna.test")
SITES, ALL_SITES = ("https://a.test",), ("https://*.a.test",)
IDN = (f"http://{HOSTS[1]}:443",)
# What a variable holds, and where it is found then.
READ = [
    *(
        ("ALLOWED_HOSTS", host, "allowed_hosts", (host,))
        for host in ("mesh.test", ".mesh.test", "*", "192.0.2.1", "[::1]")
    ),
    ("ALLOWED_HOSTS", "mesh.test.,höst.test", "allowed_hosts", HOSTS),
    ("ALLOWED_HOSTS", ".höst.test", "allowed_hosts", (f".{HOSTS[1]}",)),
    ("CORS_ALLOWED_ORIGINS", "https://A.test:443", "cors_allowed_origins", SITES),
    ("CSRF_TRUSTED_ORIGINS", "https://a.test/", "csrf_trusted_origins", SITES),
    ("CORS_ALLOWED_ORIGINS", "http://höst.test.:443", "cors_allowed_origins", IDN),
    ("CSRF_TRUSTED_ORIGINS", "https://*.a.test", "csrf_trusted_origins", ALL_SITES),
    ("LOG_FILE", "Console,stderr,/x", "log_files", ("console", "/x")),
    ("LOG_LEVEL", "WARNING", "log_level", "warn"),
    ("LOG_LEVEL", "critical", "log_level", "fatal"),
    ("LOG_LEVEL", "Trace", "log_level", "trace"),
    ("TRAFFIC_RETENTION_DAYS", "off", "traffic_retention_days", None),
    ("GRPC_BIND", "off", "grpc_bind", ""),
    ("PEER_URL", "https://mesh.test/", "peer_url", "https://mesh.test"),
    ("BIND", "127.0.0.1:8000", "grpc_bind", "127.0.0.1:33073"),
    ("BIND", "[::]:80", "grpc_bind", "[::]:33073"),
    ("BIND", "unix:/run/mesh.sock", "grpc_bind", "127.0.0.1:33073"),
    *(
        ("BIND", bind, "bind", bind)
        for bind in ("0.0.0.0:80", "[::1]:8000", "unix:/run/mesh.sock")
    ),
    ("BIND", " tcp://0.0.0.0:80 ", "bind", "0.0.0.0:80"),
    ("GRPC_BIND", "0.0.0.0:80 ", "grpc_bind", "0.0.0.0:80"),
    ("TRUSTED_PROXIES", "::ffff:10.0.0.0/104", "trusted_proxies", PROXIES),
    ("RELAY_LISTENERS", ",".join(RELAYS), "relay_listeners", RELAYS),
    *(("DATABASE_URL", url, "database_url", url) for url in ADDRESSES),
]


@pytest.mark.parametrize(("name", "value", "field", "found"), READ)
def test_a_good_value_is_read(name: str, value: str, field: str, found: object):
    assert getattr(env.load({f"SVC_{name}": value}), field) == found


@pytest.mark.parametrize(
    "issuer", ["https://idp.test/realm", "http://localhost:9", "http://[::1]:9/x"]
)
def test_an_issuer_is_asked_by_tls_or_on_this_host(issuer: str):
    given = {"SVC_OIDC_ISSUER": issuer, "SVC_OIDC_CLIENT_ID": "mesh"}
    assert env.load(given).oidc_issuer == issuer


REFUSED = [
    *(("BIND", bind, "HOST:PORT") for bind in ("8000", ":8000", "host", "host:0")),
    *(("BIND", bind, "HOST:PORT") for bind in ("host:x", "unix:", "::1:8000")),
    ("BIND", "http://host:80", "HOST:PORT"),
    ("DATA_DIR", "", "SVC_DATA_DIR: this names no folder"),
    ("RUNTIME_DIR", " ", "SVC_RUNTIME_DIR: this names no folder"),
    ("ALLOWED_HOSTS", "*.mesh.test", "all below a name are .NAME"),
    ("ALLOWED_HOSTS", ".", "is not a host name"),
    ("RUNTIME_DIR", __file__, "is a file"),
    ("DELIVERY_DIR", __file__, "is a file"),
    ("SECRET_KEY", " ", "SVC_SECRET_KEY: this is blank"),
    ("SECRET_KEY_FILE", "/dev/null", "SVC_SECRET_KEY_FILE: '/dev/null' is empty"),
    ("DATABASE_URL_FILE", "/dev/null", "SVC_DATABASE_URL_FILE: '/dev/null' is empty"),
    ("DATABASE_URL", "sqlite:///:memory:", "this names no file"),
    ("DATABASE_URL", "\n", "does not begin"),
    ("CORS_ALLOWED_ORIGINS", "https://*.a.test", "for no part of one"),
    *(
        ("LOG_FILE", names, "names no output: use console")
        for names in ("", ",", " , ")
    ),
    ("DATABASE_URL", "mysql://a:secret@b", r"postgresql:// or sqlite:///$"),
    ("DATABASE_URL", "sqlite:///", "SVC_DATABASE_URL: this names no file"),
    ("DATABASE_URL_FILE", "/does/not/exist", "/does/not/exist"),
    ("BIND_FILE", "/tmp/x", "SVC_BIND_FILE"),  # of secrets alone
    # What agents would refuse.
    ("GRPC_BIND", "33073", "SVC_GRPC_BIND: "),
    ("GRPC_BIND", "unix:/run/peers.sock", "SVC_GRPC_BIND: "),
    ("GRPC_CERTIFICATE", "/nowhere/cert.pem", "SVC_GRPC_CERTIFICATE: "),
    ("PEER_URL", "mesh.test:443", "SVC_PEER_URL: "),
    ("CSRF_TRUSTED_ORIGINS", "mesh.test", "SVC_CSRF_TRUSTED_ORIGINS: "),
    ("CSRF_TRUSTED_ORIGINS", "*", "SVC_CSRF_TRUSTED_ORIGINS: "),
    ("CORS_ALLOWED_ORIGINS", "https://a.test,b", "SVC_CORS_ALLOWED_ORIGINS: "),
    ("DNS_DOMAIN", "a b", "SVC_DNS_DOMAIN: "),
    ("DATABASE_URL", "postgresql://", "SVC_DATABASE_URL: this names no database"),
    ("DATABASE_URL", "postgresql://db", "SVC_DATABASE_URL: this names no database"),
    ("PEER_URL", "https://mesh.test/peers", "SVC_PEER_URL: "),
    ("STUN_URLS", "mesh.test:3478", "SVC_STUN_URLS: "),
    ("STUN_URLS", "stun:mesh.test", "SVC_STUN_URLS: "),
    ("TURN_URLS", "turn:mesh.test:3478?transport=tcp", "SVC_TURN_URLS: "),
    ("RELAY_URLS", "https://mesh.test:443", "SVC_RELAY_URLS: "),
    ("TRAFFIC_RETENTION_DAYS", "1000000", "days from 1 to 36500, or off"),
    ("FLOW_INTERVAL", "0", "SVC_FLOW_INTERVAL: "),
    ("FLOW_INTERVAL", "2.5", "SVC_FLOW_INTERVAL: "),
    *(
        ("ALLOWED_HOSTS", f"mesh.test, {host}", f"'{host}' is not a host name")
        for host in ("http://mesh.test", "mesh.test:443", "mesh.test/", "::1")
    ),
    # Half a setting.
    ("OIDC_ISSUER", "https://idp.test", "SVC_OIDC_ISSUER needs SVC_OIDC_CLIENT_ID"),
    ("OIDC_CLIENT_ID", "mesh", "SVC_OIDC_CLIENT_ID needs SVC_OIDC_ISSUER"),
    ("OIDC_OWNER", "a@mesh.test", "SVC_OIDC_OWNER needs SVC_OIDC_ISSUER"),
    ("DATABASE_POOLER_URL", "postgresql://pooler:6432/mesh", "needs SVC_DATABASE_URL"),
    ("DATABASE_REPLICA_URL", "postgresql://standby/mesh", "needs SVC_DATABASE_URL"),
    ("GRPC_KEY", __file__, "SVC_GRPC_KEY needs SVC_GRPC_CERTIFICATE"),
    ("GRPC_CERTIFICATE", __file__, "SVC_GRPC_CERTIFICATE needs SVC_GRPC_KEY"),
    ("TURN_URLS", "turn:mesh.test:3478", "SVC_TURN_URLS needs SVC_TURN_SECRET"),
    ("RELAY_URLS", "rels://mesh.test:443", "SVC_RELAY_URLS needs SVC_RELAY_SECRET"),
]


@pytest.mark.parametrize("name", ["DATABASE_POOLER_URL", "DATABASE_REPLICA_URL"])
def test_what_is_of_postgresql_is_refused_beside_sqlite(name: str):
    beside = {"SVC_DATABASE_URL": "sqlite:////tmp/mesh.sqlite3"}
    with pytest.raises(env.ConfigError, match=f"SVC_{name} needs SVC_DATABASE_URL"):
        env.load({f"SVC_{name}": "postgresql://there/mesh", **beside})


DATABASES = ("DATABASE_URL", "DATABASE_POOLER_URL", "DATABASE_REPLICA_URL")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://u:secret@h:port/x", "the port is no number"),
        ("postgresql://u:secret@h:0/x", "the port is no number"),
        ("postgresql://u:secret@a:5432,b:65536/x", "the port is no number"),
        ("postgresql://u:sec/ret@h/x", "must be written %2F"),
        ("postgresql://u:sec@ret@h/x", "must be written %40"),
        ("postgresql://u:secret@@h/x", "must be written %40"),
        ("postgresql://u:sec%zzret@h/x", "no URL that PostgreSQL's library reads"),
        ("postgresql://u:secret@h/x?colour=red", "no URL that PostgreSQL's library"),
    ],
)
def test_addresses_of_databases_that_cannot_be_are_refused_without_their_password(
    url: str, said: str
):
    with pytest.raises(env.ConfigError, match=said) as refused:
        env.load({f"SVC_{name}": url for name in DATABASES})
    named = [problem.partition(":")[0] for problem in refused.value.problems]
    assert named == [f"SVC_{name}" for name in DATABASES]
    assert not re.search(r"sec|ret\b", str(refused.value))


@pytest.mark.parametrize(("name", "value", "said"), REFUSED)
def test_a_bad_value_is_refused(name: str, value: str, said: str):
    with pytest.raises(env.ConfigError, match=said):
        env.load({f"SVC_{name}": value})
