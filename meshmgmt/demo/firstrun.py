"""What somebody needs who starts the service for the first time.

Addresses; a login and a token for people, a setup key for machines: kept in the data
folder, readable by its owner alone, and the same from run to run for as long as they are
good.
"""

import datetime as dt
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

from meshmgmt.access.models import SetupKey
from meshmgmt.access.rules.enrolment import VALID, state_of
from meshmgmt.access.services.enrolment import setup_keys
from meshmgmt.accounts.authentication import find_token
from meshmgmt.accounts.models import User
from meshmgmt.accounts.services.tokens import access_tokens
from meshmgmt.accounts.services.users import (
    HashedPassword,
    user_create,
    user_set_password,
)
from meshmgmt.accounts.setup.owner import setup_code
from meshmgmt.accounts.tokens import token_hash
from meshmgmt.control.server.netbirdconfig import peer_url
from meshmgmt.core import clock, files
from meshmgmt.core.errors import Unauthenticated
from meshmgmt.core.roles import Role
from meshmgmt.core.transactions import account_write
from meshmgmt.env import Config
from meshmgmt.serving import metricsport

TOKEN_NAME: Final = "first run"  # noqa: S105 - a name, no token
TOKEN_DAYS: Final = 365
SHORTEST_LIFE: Final = dt.timedelta(days=1)
"""A token that ends sooner is replaced: the day's work should not stop in the middle."""

PASSWORD_BYTES: Final = 18
_EVERYWHERE: Final = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104


@dataclass(frozen=True, slots=True)
class FirstRun:
    """Login of the admin site, token, setup key; `password_file` None when unknown."""

    email: str
    password_file: Path | None
    token: str
    token_file: Path
    setup_key: str


def prepare(folder: Path, dns_domain: str) -> FirstRun:
    """Return login and token kept in `folder`; make what is missing or no longer good.

    `dns_domain` is for the e-mail address of the owner who is made when there is none.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with account_write():
        # Under the lock: two that start at once would each make an owner.
        owner = _owner(dns_domain)
        password_file = _password(folder / "admin_password", owner)
        token_file = folder / "token"
        token = _kept(token_file)
        if not _is_good(token):
            terms = {"name": TOKEN_NAME, "expires_in": TOKEN_DAYS}
            token = access_tokens.create(terms, owner.pk).plain
            _keep(token_file, token)
        setup_key = _setup_key(folder / "setup_key")
    return FirstRun(owner.email, password_file, token, token_file, setup_key)


def _setup_key(path: Path) -> str:
    """Return a key that any number of machines may enrol with."""
    kept = _kept(path)
    known = SetupKey.objects.filter(key_hash=token_hash(kept)).first()
    tomorrow = clock.now() + SHORTEST_LIFE
    if known is not None and state_of(known, tomorrow) == VALID:
        return kept
    seconds = int(dt.timedelta(days=TOKEN_DAYS).total_seconds())
    terms = {"name": TOKEN_NAME, "type": "reusable", "expires_in": seconds}
    made = setup_keys.create(terms).plain
    _keep(path, made)
    return made


def _owner(dns_domain: str) -> User:
    """Return the first owner who can sign in, made when there is none."""
    owner = User.objects.owners().people().order_by("id").first()
    if owner is not None:
        return owner
    return user_create(email=f"owner@{dns_domain}", role=Role.OWNER, name="Owner")


def _password(path: Path, owner: User) -> Path | None:
    """Return the file that holds the owner's password.

    None when the owner has a password of their own choice: it is not touched.
    """
    kept = _kept(path)
    if kept and owner.check_password(kept):
        return path
    if owner.has_usable_password():
        return None
    password = secrets.token_urlsafe(PASSWORD_BYTES)
    user_set_password(user_id=owner.pk, password=HashedPassword(password))
    _keep(path, password)
    return path


def _is_good(token: str) -> bool:
    """Tell whether the token works, for all its user may do, and for a while yet."""
    try:
        found = find_token(token)
    except Unauthenticated:
        return False
    lasting = found.expires_at - clock.now() > SHORTEST_LIFE
    return lasting and found.user.is_active and not found.scope


def _kept(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return ""


def _keep(path: Path, secret: str) -> None:
    """Write the file whole or not at all, with mode 600 from the start."""
    with files.written(path, lambda made: made.replace(path)) as file:
        file.write(f"{secret}\n".encode())


@dataclass(frozen=True, slots=True)
class Addresses:
    """URLs for people; behind a unix socket, its name and the paths."""

    api: str
    documentation: str
    admin: str
    metrics: str
    peers: str
    """Empty when peers are not served."""
    setup: str
    """Where the first owner is made, as long as there is none."""


def addresses(config: Config) -> Addresses:
    """Return where a server with `config` is reached from this machine."""
    base = _base(config.bind)
    metrics = f"{base}/metrics"
    if at := metricsport.address(config):
        metrics = f"http://{_reachable(at[0])}:{at[1]}/metrics"
    return Addresses(
        f"{base}/api",
        f"{base}/api/docs",
        f"{base}/admin/",
        metrics=metrics,
        peers=peer_url(config) if config.grpc_bind else "",
        setup=f"{base}/setup?{urlencode({'setup_code': setup_code()})}",
    )


def _base(bind: str) -> str:
    if bind.startswith("unix:"):
        return bind
    host, _, port = bind.rpartition(":")
    return f"http://{_reachable(host)}:{port}"


def _reachable(host: str) -> str:
    """Return `host` as it stands in a URL; a wildcard address means this machine."""
    if ":" in host and not host.startswith("["):
        host = f"[{host}]"
    return _EVERYWHERE.get(host, host)
