"""What is sealed opens with its key, for its owner, as it was; with nothing else."""

import pytest

from meshmgmt.core.sealing import Unreadable, seal, unseal

KEY = bytes(range(32))


def test_a_sealed_text_opens_for_its_owner_alone():
    sealed = seal(KEY, b"secret", "owner")
    assert unseal(KEY, memoryview(sealed), "owner") == b"secret"
    for key, text, owner in (
        (bytes(32), sealed, "owner"),
        (KEY, sealed, "another"),
        (KEY, sealed[:-1] + bytes([sealed[-1] ^ 1]), "owner"),
        (KEY, b"", "owner"),
    ):
        with pytest.raises(Unreadable):
            unseal(key, text, owner)


@pytest.mark.parametrize(
    ("owner", "end"),
    [
        ("", "d4d0d00aa45f3d8c7167bac12b153aae"),
        ("owner", "ee4b0ebc6d2eac37282db5232956f246"),
    ],
)
def test_what_earlier_versions_sealed_still_opens(owner: str, end: str):
    sealed = bytes.fromhex(f"{'01' * 12}04a686470df1{end}")
    assert unseal(KEY, sealed, owner) == b"secret"
