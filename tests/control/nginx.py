"""The shipped nginx in front of the API and of processes for peers."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from meshmgmt.env import BASE_DIR
from tests.servers import free_port

HOST: Final = "mesh.company"
_MAIN: Final = """
daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log; worker_processes 1;
worker_rlimit_nofile 32768;
events {{ worker_connections 16384; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  {shipped}
}}
"""


def configured(
    folder: Path,
    listen: str,
    api: str,
    peers: Sequence[str],
    files: tuple[Path, Path] | None = None,
) -> Path:
    """Write the shipped configuration with the addresses of a test; return its path.

    `listen` is what nginx listens on, `api` and `peers` are what is behind it, each
    `HOST:PORT`; `files` are a certificate and its key, None where `listen` has no TLS.
    """
    shipped = BASE_DIR / "deploy" / "nginx"
    text = (shipped / "meshmgmt.conf").read_text()
    included = (shipped / "peers.conf").read_text()
    text = text.replace("    location / {", f"{included}\n    location / {{", 1)
    chain, key = files or ("", "")
    replaced = {
        r"listen 443 ssl[^;]*;": f"listen {listen};",
        r"listen 80;": f"listen 127.0.0.1:{free_port()};",
        r"ssl_certificate [^;]*;": f"ssl_certificate {chain};" if files else "",
        r"ssl_certificate_key [^;]*;": f"ssl_certificate_key {key};" if files else "",
        r"127\.0\.0\.1:8000": api,
        r"server 127\.0\.0\.1:33073;": "".join(f"server {bind};" for bind in peers),
        HOST.replace(".", r"\."): "localhost",
    }
    for pattern, ours in replaced.items():
        text, count = re.subn(pattern, ours, text)
        assert count, pattern
    path = folder / "nginx.conf"
    path.write_text(_MAIN.format(folder=folder, shipped=text))
    return path
