"""Admin pages of the peer protocol's own objects."""

import re

import pytest
from django.test import Client

from meshmgmt.control.models import ProxyToken
from meshmgmt.control.services.proxies import check_proxy_token, proxy_tokens
from tests.admin.signed_in import texts_of

pytestmark = pytest.mark.django_db
TOKENS = "/admin/control/proxytoken/"


def test_new_token_is_shown_once(client: Client):
    response = client.post(f"{TOKENS}add/", {"name": "edge", "expires_in": "30"})
    assert response.status_code == 302
    found = re.search(r"<code>(\w+)</code>", texts_of(response))
    assert found is not None
    token = ProxyToken.objects.get()
    assert check_proxy_token(f"Bearer {found[1]}") == token.pk
    for page in (TOKENS, f"{TOKENS}{token.pk}/change/"):
        text = client.get(page).content.decode()
        assert "edge" in text
        assert token.hash not in text


def test_token_is_revoked(client: Client):
    token = proxy_tokens.create({"name": "edge"})
    found = client.post(TOKENS, {"q": token.plain})
    assert found["Location"] == f"{TOKENS}{token.pk}/change/"
    asked = client.get(f"{TOKENS}{token.pk}/delete/").content.decode()
    assert "Revoking proxy token" in asked
    assert "will be revoked" in asked
    response = client.post(f"{TOKENS}{token.pk}/delete/", {"post": "yes"})
    assert response.status_code == 302
    assert not ProxyToken.objects.exists()
