"""What accounts have for the other rooms."""

from django.contrib.auth.signals import user_logged_in

from meshmgmt.accounts import audit, eventfacts, gauges, homecards
from meshmgmt.accounts.rules import EMAIL_TAKEN
from meshmgmt.accounts.services import passwords
from meshmgmt.accounts.setup import account, code
from meshmgmt.accounts.signin import record_sign_in
from meshmgmt.api.exceptions import register_constraint
from meshmgmt.core import modelmodules
from meshmgmt.core.jobs import HOUR, register_job
from meshmgmt.core.rooms import register_start_notice


def register() -> None:
    audit.register()
    gauges.register()
    homecards.register()
    eventfacts.register()
    account.register()
    user_logged_in.connect(record_sign_in, dispatch_uid="accounts.record_sign_in")
    register_start_notice(code.start_notice)
    register_job("wrong_passwords", HOUR, passwords.forget_wrong_passwords)
    modelmodules.assign("users", "accounts.user")
    modelmodules.assign("pats", "accounts.accesstoken")
    modelmodules.assign("accounts", "accounts.account")
    register_constraint(
        EMAIL_TAKEN, "accounts_user_email_key", "accounts_user.email_key"
    )
