"""The other service: its account, read over the HTTP API that both have."""

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any, Final

from django.core.exceptions import ValidationError
from django.db import DataError

from meshmgmt.core.errors import ServiceError
from meshmgmt.core.progress import bar
from meshmgmt.movingin.rows import Row

TIMEOUT_SECONDS: Final = 60.0
MOST_BYTES: Final = 256 * 2**20
ABSENT: Final = frozenset({404, 405})
REFUSED: Final = frozenset({401, 403})

COLLECTIONS: Final = (
    ("user", "users"),
    ("peer", "peers"),
    ("group", "groups"),
    ("posture check", "posture-checks"),
    ("network", "networks"),
    ("policy", "policies"),
    ("route", "routes"),
    ("nameserver group", "dns/nameservers"),
    ("zone", "dns/zones"),
    ("setup key", "setup-keys"),
    ("access test", "access-tests"),  # of this service alone
)
PARTS: Final = (
    ("network resource", "network", "networks/{id}/resources"),
    ("network router", "network", "networks/{id}/routers"),
    ("record", "zone", "dns/zones/{id}/records"),
)
"""Kind, the kind it is part of, and where its objects are. They get the keys `part_of`
and `part_of_name`."""


Get = Callable[[str], Any]
"""Returns the JSON at `/api/<path>`, None where nothing is served there."""


class SourceError(ServiceError):
    """The other service cannot be read; the text says why."""


_OTHER_FORM: Final = (
    *(AttributeError, LookupError, TypeError, ValueError, OverflowError),
    # Texts that are no times, or no texts to PostgreSQL.
    *(ValidationError, DataError),
)


@contextmanager
def known_form() -> Iterator[None]:
    """Raise SourceError for answers that a block cannot read: they may hold anything."""
    try:
        yield
    except _OTHER_FORM as error:
        text = f"an answer has another form than this API's: {error!r}"
        raise SourceError(text) from error


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """The token is for the address that was given, and for no other."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        """Take what points elsewhere for an error."""


_opener: Final = urllib.request.build_opener(_NoRedirects)


@dataclass(frozen=True, slots=True)
class Foreign:
    """What another service holds: the rows of its answers by kind.

    `missing` names the kinds that it does not serve at all.
    """

    account_id: str
    rows: dict[str, list[Row]]
    missing: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """The API at `url` (with or without `/api`), as the holder of `token` may read it."""

    url: str
    token: str

    def get(self, path: str) -> Any:
        """Return the JSON at `/api/<path>`, None where nothing is served there.

        Raises SourceError.
        """
        base = self.url.rstrip("/").removesuffix("/api")
        address = f"{base}/api/{path}"
        if not address.lower().startswith(("http://", "https://")):
            raise SourceError(f"{self.url!r} is not an http or https address")
        headers = {"Authorization": f"Token {self.token}", "Accept": "application/json"}
        try:
            request = urllib.request.Request(address, headers=headers)  # noqa: S310 - the scheme is checked
            with _opener.open(request, timeout=TIMEOUT_SECONDS) as response:
                # A byte more than is taken tells a longer answer from one that fits.
                text = response.read(MOST_BYTES + 1)
            if len(text) > MOST_BYTES:
                raise SourceError(f"{address} answered more than {MOST_BYTES} bytes")
            return json.loads(text)
        except urllib.error.HTTPError as error:
            # The error is the answer, too, and keeps its connection open.
            error.close()
            if error.code in ABSENT:
                return None
            why = "does the token belong to an owner or admin"
            why = why if error.code in REFUSED else "is this its own address"
            raise SourceError(f"{address} answered {error.code}: {why}?") from error
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", repr(error))
            raise SourceError(f"{address} does not answer: {reason}") from error
        except (ValueError, RecursionError) as error:  # the second: too deep
            raise SourceError(f"{address} answered no JSON") from error

    def read(self) -> Foreign:
        """Read everything. Raises SourceError."""
        with known_form():
            foreign = read(self.get)
        if foreign is None:
            raise SourceError(f"{self.url} has no account at /api/accounts")
        return foreign


def read(get: Get) -> Foreign | None:
    """Return everything that `get` answers with, None without an account.

    Raises SourceError for a list that is none; see `known_form` for what is in it.
    """
    account = next(iter(_listed(get, "accounts") or ()), None)
    if account is None:
        return None
    rows: dict[str, list[Row]] = {}
    missing = []
    for kind, path in bar("reading", COLLECTIONS):
        found = _listed(get, path)
        missing += [kind] if found is None else []
        rows[kind] = found or []
    for kind, whole, path in bar("reading", PARTS):
        rows[kind] = list(_parts(get, rows[whole], path))
    rows["setting"] = list(_settings(account["settings"]))
    rows["DNS settings"] = [{"id": "dns", **(get("dns/settings") or {})}]
    return Foreign(account["id"], rows, missing)


def _listed(get: Get, path: str) -> list[Row] | None:
    found = get(path)
    if found is None:
        return None
    if isinstance(found, list) and all(isinstance(row, dict) for row in found):
        return found
    raise SourceError(f"/api/{path} answered no list of objects")


def _parts(get: Get, wholes: Sequence[Row], path: str) -> Iterator[Row]:
    for whole in wholes:
        # Its ids may be any text, and must not lead to another path.
        quoted = urllib.parse.quote(whole["id"], safe="")
        for row in _listed(get, path.format(id=quoted)) or ():
            name = whole.get("name", "")
            yield {**row, "part_of": whole["id"], "part_of_name": name}


def _settings(settings: Row) -> Iterator[Row]:
    """Yield each setting as a row of its own, those in `extra` too."""
    flat = {**settings, **(settings.get("extra") or {})}
    for name, value in flat.items():
        yield {"id": name, name: value}
