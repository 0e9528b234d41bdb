"""A small JSON client over Django's test client."""

from dataclasses import dataclass
from typing import Any, Self

import orjson
from django.test import Client


@dataclass
class Answer:
    """Status, parsed body and headers of one answer."""

    status: int
    json: Any
    headers: Any
    body: bytes

    @property
    def fields(self) -> dict[str, str]:
        """Messages by field path of an error answer."""
        return {e["field"]: e["message"] for e in self.json.get("errors", [])}

    @property
    def message(self) -> str:
        """What an error answer says of it all."""
        return str(self.json["message"])

    def refused(self, status: int) -> Self:
        """Return the answer, which has to be one with this status."""
        assert self.status == status, self.json
        return self


class Api:
    """Calls the API with one token; `body` is sent as JSON, bytes are sent as they are."""

    def __init__(self, token: str | None = None) -> None:
        self.client = Client(raise_request_exception=False)
        self.token = token

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """Send one request and return its answer."""
        if self.token is not None:
            headers.setdefault("Authorization", f"Token {self.token}")
        data = body if isinstance(body, bytes) else orjson.dumps(body)
        sent: Any = {"content_type": "application/json", "headers": headers}
        data = b"" if body is None else data
        response: Any = self.client.generic(method, path, data, **sent)
        content = b"".join(response)
        kind = response.get("Content-Type", "").partition(";")[0]
        is_json = kind.endswith(("/json", "+json"))
        parsed = orjson.loads(content) if content and is_json else None
        return Answer(response.status_code, parsed, response.headers, content)

    def get(self, path: str, **headers: str) -> Answer:
        """GET."""
        return self.call("GET", path, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Answer:
        """POST."""
        return self.call("POST", path, {} if body is None else body, **headers)

    def put(self, path: str, body: Any = None, **headers: str) -> Answer:
        """PUT."""
        return self.call("PUT", path, {} if body is None else body, **headers)

    def delete(self, path: str, **headers: str) -> Answer:
        """DELETE."""
        return self.call("DELETE", path, **headers)
