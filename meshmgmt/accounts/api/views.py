"""Endpoints of users, their tokens and the account."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from meshmgmt.accounts import selectors
from meshmgmt.accounts.api import serializers as bodies
from meshmgmt.accounts.authority import (
    check_may_manage_tokens,
    manages_foreign_tokens,
    viewer_of,
)
from meshmgmt.accounts.models import User
from meshmgmt.accounts.rules import new_password
from meshmgmt.accounts.services import users
from meshmgmt.accounts.services.account import account_update, range_for_groups
from meshmgmt.accounts.services.tokens import access_tokens
from meshmgmt.api.permissions import READING
from meshmgmt.api.requests import truth
from meshmgmt.api.views import ApiView, ResourceViewSet, path_id, replaced
from meshmgmt.core.context import account_id
from meshmgmt.core.errors import (
    FieldError,
    Forbidden,
    NotFound,
    PreconditionFailed,
    ServiceError,
    raise_field_errors,
)
from meshmgmt.core.resources import Row
from meshmgmt.core.roles import Operation
from meshmgmt.core.transactions import account_write, read_snapshot


@extend_schema_view(
    list=extend_schema(
        operation_id="users_list",
        parameters=[
            OpenApiParameter(
                "service_user",
                bool,
                description="Service users (true) or people (false) alone",
            )
        ],
    )
)
class UserViewSet(ResourceViewSet):
    """Users; for roles that may not read users, the one who asks alone."""

    module = "users"
    tags = ("users",)
    open_methods = READING
    kind = "user"
    lookup_url_kwarg = "userId"
    serializer_class = bodies.UserSerializer
    request_serializer_class = bodies.UserRequestSerializer
    update_serializer_class = bodies.UserUpdateSerializer

    def rows(self, ids: Sequence[str] | None = None) -> list[Row]:
        """Return users; the list may be narrowed by `?service_user=`."""
        only = None if ids else truth(self.request, "service_user", default=None)
        return selectors.user_rows(viewer_of(self.request), ids, service_users=only)

    @extend_schema(responses={200: bodies.NewUserSerializer})
    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Create a person with a one-time password, or a service user."""
        # Service users may come without a name, people may not: the rules say which.
        data = {"name": "", **self.validated(bodies.UserRequestSerializer)}
        password = None
        if not data["is_service_user"]:
            groups = data.get("auto_groups", ())
            raise_field_errors(
                users.newcomer_errors(data["name"], data["role"], groups)
            )
            password = users.HashedPassword(new_password())
        made = users.user_create(
            **data, password=password, temporary=True, by=viewer_of(request)
        )
        shown = {"password": password.plain} if password else {}
        return Response({**self.row(made.pk), **shown})

    def update_object(self, identifier: str, data: dict[str, Any]) -> str:
        """Change a user."""
        viewer = viewer_of(self.request)
        return users.user_update(user_id=identifier, changes=data, by=viewer).pk

    def delete_object(self, identifier: str) -> None:
        """Delete a user with their tokens and peers."""
        users.user_delete(user_id=identifier, by=viewer_of(self.request))

    @extend_schema(request=None)
    @action(detail=True, methods=["post"], operation=Operation.UPDATE)
    def approve(self, request: Request, **kwargs: Any) -> Response:
        """Approve the user and return them."""
        users.user_approve(user_id=self.identifier, by=viewer_of(request))
        return Response(self.row(self.identifier))

    @extend_schema(responses={200: OpenApiTypes.OBJECT})
    @action(detail=True, methods=["delete"])
    def reject(self, request: Request, **kwargs: Any) -> Response:
        """Reject the user, who is deleted."""
        users.user_reject(user_id=self.identifier, by=viewer_of(request))
        return Response({})

    @extend_schema(request=None, responses={200: OpenApiTypes.OBJECT})
    @action(detail=True, methods=["post"], operation=Operation.UPDATE, plannable=False)
    def invite(self, request: Request, **kwargs: Any) -> Response:
        """Refuse, and say what to do instead."""
        users.user_get(self.identifier)
        raise PreconditionFailed(
            "this service sends no e-mail: create a link with POST /api/users/invites"
        )

    @extend_schema(
        request=bodies.PasswordChangeSerializer, responses={200: OpenApiTypes.OBJECT}
    )
    @action(detail=True, methods=["put"], module=None, plannable=False)
    def password(self, request: Request, **kwargs: Any) -> Response:
        """Replace the password."""
        viewer = viewer_of(request)
        users.check_own_password(viewer, self.kwargs[self.lookup_url_kwarg])
        data = self.validated(bodies.PasswordChangeSerializer)
        old, new = data["old_password"], data["new_password"]
        users.own_password_change(old=old, new=new, by=viewer)
        return Response({})


class CurrentUserView(ApiView):
    """The user who asks."""

    tags = ("users",)
    serializer_class = bodies.UserSerializer

    def depends_on(self, request: Request) -> Hashable:
        """Signing in leaves no event."""
        return selectors.shown_of(viewer_of(request))

    @extend_schema(operation_id="users_current")
    def get(self, request: Request) -> Response:
        """Return the user with their permissions."""
        with read_snapshot():
            return Response(selectors.current_user_row(viewer_of(request)))


class TokensViewSet(ResourceViewSet):
    """Tokens of one user: their own, or a service user's for owners and admins."""

    resource = access_tokens
    lookup_url_kwarg = "tokenId"
    whole_url_kwarg = "userId"
    tags = ("tokens",)
    serializer_class = bodies.AccessTokenSerializer
    request_serializer_class = bodies.AccessTokenRequestSerializer

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Check before anything else whose tokens the caller may touch."""
        super().initial(request, *args, **kwargs)
        self._check_owner(viewer_of(request))

    def _check_owner(self, viewer: User) -> None:
        if self.kwargs["userId"] == viewer.pk:
            return
        if not manages_foreign_tokens(viewer):  # nor learns which users there are
            raise Forbidden("permission denied: these are the tokens of another user")
        check_may_manage_tokens(viewer, users.user_get(self.within))

    def rows(self, ids: Sequence[str] | None = None) -> list[Row]:
        """Return tokens of the user in the path."""
        return selectors.token_rows(self.within, ids)

    @extend_schema(responses={200: bodies.NewAccessTokenSerializer})
    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Create a token and show it, this once."""
        made = access_tokens.create(self.checked(request.data), self.within)
        return Response(
            {"plain_token": made.plain, "personal_access_token": self.row(made.pk)}
        )


class AccountsView(ApiView):
    """The account, as a list of one."""

    module = "accounts"
    audited = True
    serializer_class = bodies.AccountSerializer
    answers_list = True

    @extend_schema(operation_id="accounts_list")
    def get(self, request: Request) -> Response:
        """Return the account with its settings."""
        return Response(selectors.account_rows())


class AccountView(ApiView):
    """The account with its settings."""

    module = "settings"
    plannable = True
    audited = True
    tags = ("accounts",)
    serializer_class = bodies.AccountSerializer
    request_serializer_class = bodies.AccountRequestSerializer

    def get(self, request: Request, accountId: str) -> Response:  # noqa: N803 - path
        """Return the account with its settings."""
        _check_account(accountId)
        return Response(selectors.account_rows()[0])

    def put(self, request: Request, accountId: str) -> Response:  # noqa: N803 - path
        """Change settings, what is given of them, and return the account."""
        _check_account(accountId)
        settings = self.validated(bodies.AccountRequestSerializer)["settings"]
        extra = settings.pop("extra", {})
        try:
            with account_write():
                told = {**range_for_groups(settings), **settings, **extra}
                account_update(settings=told)
        except ServiceError as error:
            if not error.errors:
                raise
            raise type(error)(error.message, map(_in_body, error.errors)) from error
        return replaced(selectors.account_rows()[0])


def _check_account(identifier: str) -> None:
    """Raise NotFound unless this is the id of the one account."""
    if path_id("account", identifier) != account_id():
        raise NotFound.of("account", identifier)


def _in_body(error: FieldError) -> FieldError:
    """Return the error with the place that its setting has in the body."""
    extra = error.field in selectors.EXTRA_SETTINGS
    place = "settings.extra" if extra else "settings"
    return replace(error, field=f"{place}.{error.field}")
