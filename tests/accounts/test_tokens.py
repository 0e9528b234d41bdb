"""Tokens as text."""

import re

from hypothesis import example, given
from hypothesis import strategies as st

from meshmgmt.accounts.tokens import (
    ALPHABET,
    PREFIX,
    TOKEN_LENGTH,
    checksum,
    is_well_formed,
    new_token,
    token_hash,
)


def test_a_token_has_prefix_secret_and_checksum():
    assert re.fullmatch(r"mpt_[0-9A-Za-z]{36}", new_token())
    assert TOKEN_LENGTH == 40


def test_the_checksum_is_that_of_the_reference_api():
    assert checksum("abcdefghijklmnopqrstuvwxyz0123") == "2LolCm"


def test_new_tokens_differ_and_are_well_formed():
    tokens = {new_token() for _ in range(200)}
    assert len(tokens) == 200
    assert all(is_well_formed(token) for token in tokens)


@given(st.text(alphabet=ALPHABET, min_size=30, max_size=30), st.data())
def test_a_changed_character_is_noticed(secret: str, data: st.DataObject):
    token = PREFIX + secret + checksum(secret)
    assert is_well_formed(token)
    place = data.draw(st.integers(len(PREFIX), TOKEN_LENGTH - 1))
    other = data.draw(st.sampled_from(ALPHABET).filter(lambda c: c != token[place]))
    assert not is_well_formed(token[:place] + other + token[place + 1 :])


@given(st.text(max_size=60))
@example(f"{PREFIX}{'a' * 30}{checksum('a' * 30)}\n")
def test_other_texts_are_not_tokens(text: str):
    assert not is_well_formed(text)
    assert not is_well_formed(PREFIX + text[:35])


def test_what_is_stored_is_sha256_in_hexadecimal():
    stored = token_hash("mpt_x")
    assert re.fullmatch(r"[0-9a-f]{64}", stored)
    assert stored != token_hash("mpt_y")
