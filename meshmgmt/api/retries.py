"""`Idempotency-Key`: a write that is repeated gets the answer of the first time.

As in the IETF's draft-ietf-httpapi-idempotency-key-header. The answer is stored in the
transaction of the write itself, so it is there if and only if the write is.
"""

import datetime as dt
import hashlib
import hmac
import re
from collections.abc import Callable
from typing import Final

import orjson
from django.conf import settings
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.response import Response

from meshmgmt.api.conditions import Answered, Condition, Handler
from meshmgmt.api.exceptions import describe
from meshmgmt.api.models import KeptAnswer
from meshmgmt.api.renderers import CONTENT_TYPE, OrjsonRenderer
from meshmgmt.api.requests import ApiRequest
from meshmgmt.api.versions import VersionChanged
from meshmgmt.core import clock
from meshmgmt.core.errors import BadRequest, InvalidArgument
from meshmgmt.core.sealing import seal, unseal

HEADER: Final = "Idempotency-Key"
REPLAYED: Final = "Idempotency-Replayed"
WRITING: Final = ("POST", "PUT", "PATCH", "DELETE")
KEY_PATTERN: Final = "[!-~]{1,255}"
KEPT: Final = dt.timedelta(hours=24)
ANOTHER_REQUEST: Final = (
    f"{HEADER}: this key was used before, with another body, path or method"
)
_HALF: Final = 32
_TOO_MANY: Final = 429
_SERVER_ERROR: Final = 500


class Retries(Condition):
    """The answer of the first time, for a request that carries a key.

    A write in pieces notes with the first of them, by an answer that is empty, what the key
    stands for: so another request with it is refused, and the same one does the rest.
    """

    is_whole = False

    def __init__(
        self, request: ApiRequest, header: str, refusal: Callable[[Exception], Response]
    ) -> None:
        """Read the key and the body; `refusal` is the view's answer to an error.

        Raises BadRequest, PayloadTooLarge.
        """
        self._refusal = refusal
        self._user_id = str(getattr(request.user, "pk", "") or "")
        self._key = parse_key(header)
        method = request.method or ""
        self._fingerprint, self._secret = marks_of(
            f"{settings.SECRET_KEY} {self._user_id}",
            key=self._key,
            method=method,
            path=request.get_full_path(),
            body=b"" if method == "DELETE" else request.raw_body(),
        )

    def prepare(self) -> None:
        """Look for the answer that is kept."""
        if (kept := self._find()) is not None:
            raise Answered(kept)

    def begin(self) -> None:
        """Look again: the thread that had the lock before may have kept one."""
        self.prepare()

    def piece(self) -> None:
        """Look for the answer of one that came at the same time, and take the key."""
        self.prepare()
        self._keep(b"")

    def run(self, handler: Handler) -> Response:
        """Return the handler's answer, or its refusal; what fails is raised.

        Refusals by the rules of a write are kept like successes. What was refused before
        the write began or for what the client had read before, or failed, is not: it left
        nothing behind. A key that came with another request is answered 422.
        """
        try:
            response: Response = handler()
        except (Answered, VersionChanged):
            raise
        except Exception as error:
            if describe(error)[0] >= _SERVER_ERROR:
                raise
            response = self._refusal(error)
        return response

    def written(self, response: Response) -> None:
        """Keep the answer, with the write."""
        # A refusal by a limit says nothing of the write: it may be tried again.
        if response.status_code != _TOO_MANY:
            self._keep(seal(self._secret, _packed(response)))

    def without_write(self, response: Response) -> None:
        """Look once more: one that came at the same time may have deleted the object."""
        self.prepare()

    def _find(self) -> HttpResponseBase | None:
        """Return the answer that is kept, if any; a refusal for another request."""
        found = KeptAnswer.objects.filter(
            user_id=self._user_id, key=self._key, at__gt=clock.now() - KEPT
        ).first()
        if found is None:
            return None
        # Only with the very same request can the answer be opened at all.
        if found.request == self._fingerprint:
            sealed = bytes(found.sealed)
            return _unpacked(unseal(self._secret, sealed)) if sealed else None
        return self._refusal(InvalidArgument(ANOTHER_REQUEST))

    def _keep(self, sealed: bytes) -> None:
        kept = KeptAnswer(
            user_id=self._user_id,
            key=self._key,
            request=self._fingerprint,
            sealed=sealed,
        )
        # One that is too old may still be there.
        KeptAnswer.objects.bulk_create(
            [kept],
            update_conflicts=True,
            unique_fields=["user_id", "key"],
            update_fields=["request", "sealed", "at"],
        )


def marks_of(
    secret: str, *, key: str, method: str, path: str, body: bytes
) -> tuple[str, bytes]:
    """Return what a request is known again by, and what its answer is sealed with.

    Both halves come out of a secret that is not in the database, and all of the request:
    who reads the database can neither open an answer nor try out passwords that stood in a
    body. `path` comes with its query.
    """
    parts = [key, method, path, hashlib.sha256(body).hexdigest()]
    whole = hmac.digest(secret.encode(), orjson.dumps(parts), "sha512")
    # One half is stored, the other never is.
    return whole[:_HALF].hex(), whole[_HALF:]


def parse_key(header: str) -> str:
    """Return the key that an `Idempotency-Key` header gives.

    The draft of the IETF has it as a quoted string, most clients send it bare: both are
    the same key. Raises BadRequest.
    """
    key = header.strip()
    if len(key) > len('""') and key[0] == key[-1] == '"':
        key = key[1:-1]
    if not re.fullmatch(KEY_PATTERN, key):
        raise BadRequest(
            "Idempotency-Key: must be 1 to 255 visible ASCII characters, such as a UUID"
        )
    return key


def forget_old_answers() -> int:
    """Delete answers that nobody gets any more; return how many."""
    return KeptAnswer.objects.filter(at__lte=clock.now() - KEPT).delete()[0]


def _packed(response: Response) -> bytes:
    headers = {
        name: value
        for name, value in response.headers.items()
        if name != "Content-Type"  # Django's own until it is rendered
    }
    head = orjson.dumps([response.status_code, headers])
    return head + b"\n" + OrjsonRenderer().render(response.data)


def _unpacked(plain: bytes) -> HttpResponse:
    head, _, body = plain.partition(b"\n")
    status, headers = orjson.loads(head)
    return HttpResponse(
        body,
        status=status,
        content_type=CONTENT_TYPE,
        headers={**headers, REPLAYED: "true"},
    )
