"""`POST /api/setup`: an empty deployment brought up over HTTP."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from meshmgmt.accounts.setup.code import check_setup_code
from meshmgmt.accounts.setup.owner import (
    TOKEN_DAYS,
    check_setup_is_open,
    first_owner_create,
)
from meshmgmt.api.fields import (
    ObjectSerializer,
    TextField,
    TruthField,
    WholeNumberField,
)
from meshmgmt.api.views import ApiView
from observability.views import is_direct_loopback


class SetupRequestSerializer(ObjectSerializer):
    """The first owner."""

    email = TextField()
    name = TextField(help_text="1 to 255 characters")
    password = TextField(help_text="8 to 72 characters")
    create_pat = TruthField(default=False, help_text="Also make an access token")
    pat_expire_in = WholeNumberField(
        default=TOKEN_DAYS, help_text="Days that the token lives, 1 to 365"
    )
    setup_code = TextField(
        default="", help_text="As the server printed it; not needed from its own host"
    )


class SetupSerializer(serializers.Serializer[Any]):
    """The first owner, with the token shown this once."""

    user_id = serializers.CharField()
    email = serializers.CharField()
    personal_access_token = serializers.CharField(required=False)


class SetupView(ApiView):
    """Bringing up an empty deployment."""

    tags = ("instance",)
    public_methods = ("POST",)
    serializer_class = SetupSerializer
    request_serializer_class = SetupRequestSerializer

    def post(self, request: Request) -> Response:
        """Make the first owner, while there is none."""
        check_setup_is_open()
        data = self.validated(SetupRequestSerializer)
        # Any web page may make a browser on this host send a request here.
        if not is_direct_loopback(request) or "Origin" in request.headers:
            check_setup_code(data["setup_code"])
        made = first_owner_create(
            email=data["email"],
            name=data["name"],
            password=data["password"],
            token_days=data["pat_expire_in"] if data["create_pat"] else None,
        )
        shown = {"personal_access_token": made.token} if made.token else {}
        return Response({"user_id": made.user.pk, "email": made.user.email, **shown})
