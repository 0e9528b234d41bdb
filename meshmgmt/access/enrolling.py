"""How a machine is enrolled: the command, with the address that peers connect to."""

from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest


def enrol_command(request: HttpRequest, key: str) -> str:
    """Return the client's command for a setup key; "" where peers are not served."""
    if not settings.SVC.grpc_bind:
        return ""
    return f"netbird up --management-url {peers_url(request)} --setup-key {key}"


def peers_url(request: HttpRequest) -> str:
    """Return where peers connect: beside the API where a proxy has TLS, else the port."""
    if request.is_secure():
        return f"https://{request.get_host()}"
    host = urlsplit(f"//{request.get_host()}").hostname or ""
    port = settings.SVC.grpc_bind.rpartition(":")[2]
    scheme = "https" if settings.SVC.grpc_certificate else "http"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
