"""Django application of the accounts room."""

from typing import Final

from django.apps import AppConfig

HOUR: Final = 3600.0


class AccountsConfig(AppConfig):
    name = "meshmgmt.accounts"
    label = "accounts"
    verbose_name = "Accounts"

    def ready(self) -> None:
        from meshmgmt.accounts import audit, eventfacts, gauges, homecards, signin  # noqa: PLC0415
        from meshmgmt.accounts.authentication import register_bearer  # noqa: PLC0415
        from meshmgmt.accounts.oidc.bearer import authenticate_bearer  # noqa: PLC0415
        from meshmgmt.accounts.services import passwords  # noqa: PLC0415
        from meshmgmt.accounts.setup import account, code  # noqa: PLC0415
        from meshmgmt.api.exceptions import register_constraint  # noqa: PLC0415
        from meshmgmt.core import modelmodules  # noqa: PLC0415
        from meshmgmt.core.jobs import register_job  # noqa: PLC0415
        from meshmgmt.core.notices import register_start_notice  # noqa: PLC0415

        audit.register_specs()
        gauges.register()
        homecards.contribute()
        eventfacts.register()
        account.connect()
        register_bearer(authenticate_bearer)
        register_start_notice(code.start_notice)
        signin.connect()
        register_job("wrong_passwords", HOUR, passwords.forget_wrong_passwords)
        modelmodules.assign("users", "accounts.user")
        modelmodules.assign("pats", "accounts.accesstoken")
        modelmodules.assign("accounts", "accounts.account")
        # PostgreSQL names the constraint, SQLite the column.
        for name in ("accounts_user_email_key", "accounts_user.email_key"):
            register_constraint(name, "another user has this e-mail address")
