"""The catalogue of activities: complete, and honest about what is not emitted yet."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from inspect import getclosurevars
from itertools import chain

from events.activities import LABELS, Activity
from events.audit.specs import AuditSpec, all_specs
from meshmgmt.env import BASE_DIR

# Codes of the seed's section Events; clients match on them.
SEED = """
user.join user.invite user.create user.delete user.block user.unblock user.role.update
user.approve user.reject user.peer.login user.password.change peer.user.add
peer.setupkey.add peer.group.add peer.group.delete user.peer.delete peer.rename
peer.ip.update policy.add policy.update policy.delete rule.add rule.update rule.delete
posture.check.create posture.check.update posture.check.delete route.add route.update
route.delete nameserver.group.add nameserver.group.update nameserver.group.delete
dns.setting.disabled.management.group.add dns.setting.disabled.management.group.delete
setupkey.add setupkey.update setupkey.revoke setupkey.overuse setupkey.delete
personal.access.token.create personal.access.token.delete account.create account.delete
dashboard.login transferred.owner.role integration.create integration.update
integration.delete identityprovider.create identityprovider.update
identityprovider.delete service.create service.update service.delete peer.login.expire
"""

NO_PROXY = "the reverse proxy's services are configured elsewhere"
NO_IDP_OBJECTS = "identity providers are configured by SVC_OIDC_*, not as objects"

# Code, or (with a final dot) the beginning of codes, and why nothing emits it.
NOT_EMITTED = {
    "agent_network.": "agent networks are not part of this service",
    "domain.": NO_PROXY,
    "service.create": NO_PROXY,
    "service.update": NO_PROXY,
    "service.delete": NO_PROXY,
    "service.peer.": NO_PROXY,
    "integration.": "integrations are not part of this service",
    "identityprovider.": NO_IDP_OBJECTS,
    "setupkey.overuse": "anybody could fill the trail: the log tells of refused keys",
    "user.invite": "invites and approvals have no endpoints yet",
}


ROOMS = ("meshmgmt", "dns", "groups", "events", "observability")


def of_spec(spec: AuditSpec) -> Iterator[str]:
    """Yield the codes of a spec, and those that its switches choose between."""
    yield from spec.activities()
    for choice in spec.fields.values():
        if not isinstance(choice, str):
            held = getclosurevars(choice).nonlocals.values()
            yield from (value for value in held if value in LABELS)


def of_code() -> Iterator[Activity]:
    """Yield the codes that modules write by name, not those that they look for."""
    for path in (path for room in ROOMS for path in (BASE_DIR / room).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "Activity." not in text:
            continue
        tree = ast.parse(text)
        compared = {
            id(part)
            for node in ast.walk(tree)
            if isinstance(node, ast.Compare)
            for part in ast.walk(node)
        }
        for node in ast.walk(tree):
            match node:
                case ast.Attribute(value=ast.Name(id="Activity"), attr=name) if (
                    name in Activity.__members__ and id(node) not in compared
                ):
                    yield Activity[name]


@cache
def emitted() -> set[str]:
    specs = chain.from_iterable(map(of_spec, all_specs()))
    return {str(code) for code in chain(specs, of_code())}


def covers(entry: str, code: str) -> bool:
    return code.startswith(entry) if entry.endswith(".") else code == entry


def test_every_code_of_the_seed_is_in_the_catalogue():
    assert set(SEED.split()) <= set(LABELS)


def test_codes_are_lower_case_and_dotted():
    for code in LABELS:
        assert re.fullmatch(r"[a-z_]+(\.[a-z_0-9]+)+", code)


def test_each_code_has_its_own_sentence_or_is_an_enrolment():
    labels = LABELS.values()
    assert all(label[0].isupper() and not label.endswith(".") for label in labels)


def test_every_code_is_emitted_or_has_a_reason_why_not():
    silent = set(LABELS) - emitted()
    unexplained = {
        code for code in silent if not any(covers(x, code) for x in NOT_EMITTED)
    }
    assert unexplained == set()


def test_no_reason_is_given_for_a_code_that_is_emitted():
    stale = {x for x in NOT_EMITTED if any(covers(x, code) for code in emitted())}
    assert stale == set()
