"""Django settings; everything an operator may change comes from `meshmgmt.env`."""

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from django.core.exceptions import ImproperlyConfigured
from psycopg.conninfo import conninfo_to_dict

import meshmgmt
from meshmgmt import env
from meshmgmt.core import files
from meshmgmt.core.locks import LOCK_SECONDS
from meshmgmt.envvalues import SQLITE

try:
    SVC = env.load()
except env.ConfigError as error:
    raise ImproperlyConfigured(str(error)) from error


# Whatever this service writes is for its own user alone.
os.umask(0o077)


def _keep_private(folder: Path, *files: Path) -> None:
    """Close files of ours that were made under another umask, and where they are.

    A folder that others can put nothing into stays as it is: it may be `/srv`. Raises
    ConfigError for one of everybody's files, such as `/tmp`.
    """
    for path in (folder, *files):
        if not path.exists() or (stats := path.stat()).st_uid != os.geteuid():
            continue
        if path != folder:
            path.chmod(0o600)
        elif stats.st_mode & 0o022:
            if stats.st_mode & stat.S_ISVTX:
                fault = f"SVC_DATA_DIR: everybody may put files into {str(folder)!r}"
                raise env.ConfigError([fault])
            path.chmod(0o700)


@contextlib.contextmanager
def _writing() -> Iterator[None]:
    """Write into the folder of data, made if need be. Raises ConfigError if one cannot."""
    folder = SVC.data_dir
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        yield
    except OSError as error:
        fault = f"SVC_DATA_DIR: cannot use {str(folder)!r}: {error.strerror}"
        raise env.ConfigError([fault]) from error


def _secret_key() -> str:
    """Return the configured key, or one made once and kept in the data folder."""
    if SVC.secret_key:
        return SVC.secret_key
    path = SVC.data_dir / "secret_key"
    if not path.exists():
        # Linked: a process that starts beside this one keeps its key if it was faster.
        with (
            _writing(),
            contextlib.suppress(FileExistsError),
            files.written(path, path.hardlink_to) as file,
        ):
            file.write(secrets.token_urlsafe(50).encode())
    return path.read_text(encoding="utf-8-sig")


DATABASE_FILE = "db.sqlite3"


def _database() -> dict[str, Any]:
    url = SVC.database_url
    if url.startswith("postgres"):
        return {**_postgresql(url), "POOLER": _pooler()}
    if url:
        return _sqlite(unquote(url.removeprefix(SQLITE)))
    with _writing():
        return _sqlite(str(SVC.data_dir / DATABASE_FILE))


def _postgresql(url: str) -> dict[str, Any]:
    """Return Django's settings, read by libpq: it knows several hosts, with ports."""
    found: dict[str, Any] = conninfo_to_dict(url)
    parts = ("user", "password", "host", "port")
    return {
        "ENGINE": "observability.database.postgresql",
        "NAME": found.pop("dbname", ""),
        **{part.upper(): found.pop(part, "") for part in parts},
        "OPTIONS": found,
        "CONN_MAX_AGE": 600,
        "CONN_HEALTH_CHECKS": True,
    }


def _pooler() -> dict[str, Any]:
    """Return how requests reach the database, where that is not as all others do."""
    if not SVC.database_pooler_url:
        return {}
    parsed = _postgresql(SVC.database_pooler_url)
    where = ("NAME", "USER", "PASSWORD", "HOST", "PORT", "OPTIONS")
    return {name: parsed[name] for name in where}


def _sqlite(path: str) -> dict[str, Any]:
    """Write-ahead log, one writer at a time, and every commit on disk."""
    return {
        "ENGINE": "observability.database.sqlite3",
        "NAME": path,
        "CONN_MAX_AGE": 600,
        "OPTIONS": {
            "timeout": LOCK_SECONDS,
            "transaction_mode": "IMMEDIATE",
            "init_command": (
                "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                "PRAGMA foreign_keys=ON; PRAGMA cache_size=-65536;"
            ),
        },
    }


_files = [SVC.data_dir / DATABASE_FILE]
if SVC.database_url.startswith(SQLITE):
    _files.append(Path(unquote(SVC.database_url.removeprefix(SQLITE))).absolute())
_keep_private(
    SVC.data_dir,
    SVC.data_dir / "secret_key",
    *(
        Path(f"{file}{end}")
        for file in _files
        for end in ("", "-wal", "-shm", "-journal", "-lock")
    ),
)
SECRET_KEY = _secret_key()
DEBUG = False
ALLOWED_HOSTS = ["*"]  # meshmgmt.api.middleware checks hosts and answers in JSON
CSRF_TRUSTED_ORIGINS = list(SVC.csrf_trusted_origins)
ROOT_URLCONF = "meshmgmt.urls"
WSGI_APPLICATION = "meshmgmt.wsgi.application"
APPEND_SLASH = False
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_USER_MODEL = "accounts.User"
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
USE_I18N = False
FORMAT_MODULE_PATH = ["meshmgmt.adminsite"]

INSTALLED_APPS = [
    "meshmgmt.core",
    "meshmgmt.api",
    "meshmgmt.adminsite",
    "observability",
    "meshmgmt.serving",
    "events",
    "meshmgmt.accounts",
    "meshmgmt.inventory",
    "groups",
    "meshmgmt.access",
    "dns",
    "meshmgmt.explain",
    "meshmgmt.control",
    "meshmgmt.accesstests",
    "meshmgmt.demo",
    "meshmgmt.movingin",
    "meshmgmt.backup",
    "meshmgmt.plans",
    "meshmgmt.history",
    "meshmgmt.configuration",
    "meshmgmt.delivery",
    "meshmgmt.adminsite.config.SiteConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_prometheus",
]

MIDDLEWARE = [
    "django_prometheus.middleware.PrometheusBeforeMiddleware",
    "meshmgmt.api.middleware.RequestContextMiddleware",
    "observability.middleware.ObservabilityMiddleware",
    "meshmgmt.api.middleware.PagesMiddleware",
    "meshmgmt.api.middleware.TransportMiddleware",
    "meshmgmt.api.middleware.CorsMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "meshmgmt.api.middleware.SessionActorMiddleware",
    "meshmgmt.accounts.authentication.TemporaryPasswordMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "meshmgmt.api.middleware.EndedSessionMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "observability.middleware.AfterMiddleware",
]
if SVC.otel_endpoint:
    MIDDLEWARE.insert(
        MIDDLEWARE.index("observability.middleware.ObservabilityMiddleware"),
        "observability.tracing.TracingMiddleware",
    )

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        # In a checkout a link to `templates`; a wheel has the files themselves.
        "DIRS": [Path(__file__).parent / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "meshmgmt.accounts.oidc.adminlogin.sign_in_ways",
            ]
        },
    }
]

DATABASES = {"default": _database()}
if SVC.database_replica_url:
    DATABASES["replica"] = _postgresql(SVC.database_replica_url)
    # Requests wait for it, and do as well without.
    DATABASES["replica"]["OPTIONS"].setdefault("connect_timeout", 2)
CACHES = {"default": {"BACKEND": "django_prometheus.cache.backends.locmem.LocMemCache"}}

LOGGING_CONFIG = "observability.logs.handlers.configure_django"
LOGGING = {"version": 1}  # what is configured comes from SVC; empty would skip the call

AUTHENTICATION_BACKENDS = ["meshmgmt.accounts.backends.RoleBackend"]
PASSWORD_HASHERS = [
    f"django.contrib.auth.hashers.{name}PasswordHasher"
    for name in ("Scrypt", "PBKDF2")  # the first for new ones
]
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 8},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "admin:login"
LOGIN_REDIRECT_URL = "admin:index"  # in place of an unsafe `next`
CSRF_FAILURE_VIEW = "meshmgmt.api.pages.csrf_failure"

STATIC_URL = "/static/"
STATIC_ROOT = str(SVC.data_dir / "static")
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "meshmgmt.serving.staticfiles.HashedFiles"},
}
WHITENOISE_KEEP_ONLY_HASHED_FILES = True
WHITENOISE_SKIP_COMPRESS_EXTENSIONS = ("gz", "map", "png")
WHITENOISE_USE_FINDERS = True  # for plain names
WHITENOISE_AUTOREFRESH = False
WHITENOISE_ALLOW_ALL_ORIGINS = False

# Over plain HTTP a secure cookie would not come back; behind TLS the operator has named
# the https origin of the admin site.
_BEHIND_TLS = any(o.startswith("https://") for o in SVC.csrf_trusted_origins)
SESSION_COOKIE_SECURE = _BEHIND_TLS
CSRF_COOKIE_SECURE = _BEHIND_TLS
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
DATA_UPLOAD_MAX_NUMBER_FIELDS = 50_000  # a group's form sends each of its resources

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "meshmgmt.accounts.authentication.TokenAuthentication",
        "meshmgmt.accounts.authentication.CsrfSessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["meshmgmt.api.permissions.ModulePermission"],
    "DEFAULT_PARSER_CLASSES": ["meshmgmt.api.requests.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["meshmgmt.api.renderers.OrjsonRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "meshmgmt.api.renderers.Negotiation",
    "URL_FORMAT_OVERRIDE": None,
    "DEFAULT_SCHEMA_CLASS": "meshmgmt.api.schema.ApiSchema",
    "DEFAULT_METADATA_CLASS": None,
    "EXCEPTION_HANDLER": "meshmgmt.api.exceptions.exception_handler",
    "UNAUTHENTICATED_USER": None,
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}

SPECTACULAR_SETTINGS = {
    "TITLE": "Mesh network management API",
    "DESCRIPTION": (
        "DNS, groups, events and monitoring of a mesh virtual private network."
    ),
    "VERSION": meshmgmt.__version__,
    "OAS_VERSION": "3.1.1",
    "SERVE_INCLUDE_SCHEMA": False,
    "COMPONENT_SPLIT_REQUEST": True,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "POSTPROCESSING_HOOKS": ["meshmgmt.api.schema.add_error_responses"],
    "APPEND_COMPONENTS": {
        "securitySchemes": {
            "token": {
                "type": "apiKey",
                "in": "header",
                "name": "Authorization",
                "description": "`Token <API_TOKEN>`",
            }
        }
    },
    "SECURITY": [{"token": []}],
}
PROMETHEUS_EXPORT_MIGRATIONS = False
