"""What docs/groups.md says about references is what the registry holds."""

from pathlib import Path

from groups.references import REFERENCES

DOCUMENT = Path("docs/groups.md")


def test_every_kind_of_reference_is_documented():
    section = DOCUMENT.read_text(encoding="utf-8").partition("## Deleting a group")[2]
    table = section.partition("## ")[0]

    for reference in REFERENCES.values():
        assert f"`{reference.kind}`" in table
