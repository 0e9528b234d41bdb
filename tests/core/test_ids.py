"""Identifiers."""

from concurrent.futures import ThreadPoolExecutor

from hypothesis import example, given
from hypothesis import strategies as st

from meshmgmt.core.ids import ID_LENGTH, is_id, new_id


def test_id_has_twenty_characters_of_the_contract_alphabet():
    assert is_id(new_id())
    assert len(new_id()) == ID_LENGTH


def test_ids_of_one_process_sort_in_order_of_creation():
    made = [new_id() for _ in range(5000)]
    assert made == sorted(made)
    assert len(set(made)) == len(made)


def test_ids_of_many_threads_are_distinct():
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: new_id(), range(20_000)))
    assert len(set(made)) == len(made)


@given(st.text(max_size=30))
@example(f"{'0' * 20}\n")
def test_other_texts_are_no_ids(text: str):
    letters = set("0123456789abcdefghijklmnopqrstuv")
    assert is_id(text) is (len(text) == ID_LENGTH and set(text) <= letters)
