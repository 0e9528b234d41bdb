"""The shipped nginx files in front of the service: the interface, its API, its sign-in."""

import http.client
import json
import re
import ssl
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import trustme

from meshmgmt.env import BASE_DIR
from tests.oidc_provider import CLIENT_ID, RunningProvider, running_provider
from tests.programs import program, running
from tests.servers import GUNICORN, Server, free_port, running_server

# The interface is files, and asks the API as others do.
pytestmark = pytest.mark.sqlite

HOSTS = ("dashboard.mesh.company", "mesh.company")
# Started by root, workers read the folder of the test; started by others they must.
NGINX = """
user root; daemon off; worker_processes 1;
pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi; access_log off;
  include /etc/nginx/mime.types;
  {files}
}}
"""
FILES = {
    "index.html": "start",
    "peers.html": "the peers",
    "dns/zones.html": "the zones",
    "404.html": "start at any address",
    "_next/static/app-0a1b.js": "script",
}


@dataclass
class Site:
    """What a browser reaches: nginx on `port`, whose names are in `HOSTS`."""

    port: int
    tls: ssl.SSLContext
    server: Server
    provider: RunningProvider

    def call(
        self, method: str, path: str, body: Any = None, **headers: str
    ) -> tuple[int, dict[str, str], Any]:
        """Return status, headers and body: parsed when it is JSON."""
        options: Any = {"timeout": 20, "context": self.tls}
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, **options)
        with closing(connection) as client:
            sent = None if body is None else json.dumps(body)
            client.request(method, path, sent, {"Host": HOSTS[0], **headers})
            answer = client.getresponse()
            text = answer.read().decode()
        got = dict(answer.headers.items())
        is_json = got.get("Content-Type", "").startswith("application/json")
        return answer.status, got, json.loads(text) if is_json else text


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The service, a provider, and nginx as the files under deploy/ say."""
    folder = tmp_path_factory.mktemp("dashboard")
    for name, text in FILES.items():
        path = folder / "www" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    authority = trustme.CA()
    pair = authority.issue_cert(*HOSTS).private_key_and_cert_chain_pem
    pair.write_to_path(folder / "both.pem")
    tls = ssl.create_default_context()
    tls.check_hostname = False  # it is asked at 127.0.0.1
    authority.configure_trust(tls)
    with running_provider() as provider:
        settings = {
            "SVC_OIDC_ISSUER": provider.issuer,
            "SVC_OIDC_CLIENT_ID": "mesh-admin",
            "SVC_OIDC_AUDIENCE": f"mesh-admin, {CLIENT_ID}",
            "SVC_OIDC_OWNER": "ann@mesh.company",
            "SVC_ALLOWED_HOSTS": ",".join(HOSTS),
            "SVC_TRUSTED_PROXIES": "127.0.0.1/32",
            "SVC_CSRF_TRUSTED_ORIGINS": "https://mesh.company",
        }
        with running_server(folder / "var", settings, command=GUNICORN) as server:
            port = free_port()
            config = folder / "nginx.conf"
            config.write_text(configuration(folder, port, server.port))
            command = [program("nginx"), "-e", "stderr", "-c", str(config)]
            with running(command, port, folder):
                yield Site(port, tls, server, provider)


def configuration(folder: Path, port: int, upstream: int) -> str:
    """Return the shipped files with what their comments tell operators to replace."""
    names = ("meshmgmt", "dashboard")
    files = [BASE_DIR / "deploy" / "nginx" / f"{name}.conf" for name in names]
    text = "\n".join(file.read_text() for file in files)
    text = text.replace("listen 443", f"listen 127.0.0.1:{port}")
    text = text.replace("listen 80;", f"listen 127.0.0.1:{free_port()};")
    text = text.replace("127.0.0.1:8000", f"127.0.0.1:{upstream}")
    text = re.sub(r"/etc/ssl/mesh\.company\.(pem|key)", f"{folder}/both.pem", text)
    text = text.replace("/var/www/dashboard", f"{folder}/www")
    return NGINX.format(folder=folder, files=text)


def signed_in(site: Site, subject: str, **claims: Any) -> dict[str, str]:
    """Return the header of a browser whose user the provider has let in."""
    site.provider.set_user(subject, **{"email_verified": True} | claims)
    return {"Authorization": f"Bearer {site.provider.access_token(subject)}"}


def test_pages_of_the_interface_are_served(site: Site):
    def served(path: str) -> tuple[int, str, bool]:
        status, headers, body = site.call("GET", path)
        return status, body, "immutable" in headers.get("Cache-Control", "")

    wanted = {
        "/": (200, "start", False),
        "/peers": (200, "the peers", False),
        "/dns/zones": (200, "the zones", False),
        "/nb-auth?code=x&state=y": (404, "start at any address", False),
        "/_next/static/app-0a1b.js": (200, "script", True),
    }
    assert {path: served(path) for path in wanted} == wanted


def test_owner_named_in_the_configuration_signs_in_first_and_reads_everything(
    site: Site,
):
    asked = site.call("GET", "/api/instance")
    assert (asked[0], asked[2]) == (200, {"setup_required": False})
    assert site.call("GET", "/api/users/current")[0] == 401

    bob = signed_in(site, "bob", email="bob@mesh.company")
    status, _, refusal = site.call("GET", "/api/users/current", **bob)
    assert status == 403
    assert "no owner yet" in refusal["message"]

    ann = signed_in(site, "ann", email="ann@mesh.company", name="Ann")
    status, _, me = site.call("GET", "/api/users/current", **ann)
    assert (status, me["role"], me["name"]) == (200, "owner", "Ann")
    status, _, group = site.call("POST", "/api/groups", {"name": "ops"}, **ann)
    assert status == 200, group
    status, _, events = site.call("GET", "/api/events/audit", **ann)
    assert events[0]["activity_code"] == "group.add"
    assert events[0]["initiator_email"] == "ann@mesh.company"

    for stream in ("network-traffic", "proxy"):
        path = f"/api/events/{stream}?page=1&page_size=10"
        status, _, page = site.call("GET", path, **ann)
        assert (status, page["data"], page["total_records"]) == (200, [], 0)

    status, _, refusal = site.call("GET", "/api/users/current", **bob)
    assert (status, "pending" in refusal["message"]) == (403, True)


BIG = "x" * 34 * 2**20
TAKEN = [(30_000, None, 401), (40_000, None, 431), (9, BIG[: 3 * 2**20], 401)]


@pytest.mark.parametrize(("letters", "body", "code"), [*TAKEN, (9, BIG, 413)])
def test_the_api_under_its_name_takes_and_refuses_what_it_does_elsewhere(
    site: Site, letters: int, body: str | None, code: int
):
    bearer = {"Authorization": f"Bearer {'a' * letters}"}
    status, _, answer = site.call("POST", "/api/groups", body, **bearer)
    assert (status, answer["code"]) == (code, code)


def test_service_keeps_its_own_name_with_admin_site_and_setup(site: Site):
    status, _, page = site.call("GET", "/admin/login/", Host="mesh.company")
    assert status == 200
    assert "Mesh management" in page
    assert site.call("GET", "/admin/login/")[2] == "start at any address"
