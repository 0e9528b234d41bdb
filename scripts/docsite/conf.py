"""How Sphinx makes the documentation site; `scripts/docs` calls it."""

import os

project = "Mesh management"
release = version = os.environ["DOCS_VERSION"]
html_title = f"{project} {release}"
copyright = "the makers of meshmgmt"  # noqa: A001 - Sphinx's name

extensions = ["myst_parser"]
myst_enable_extensions = ["attrs_inline"]
myst_heading_anchors = 4
"""Links name headings as the forges do; deeper ones have none."""
highlight_language = "none"

html_theme = "furo"
html_copy_source = False
html_show_sphinx = False
html_use_index = False
html_baseurl = ""
templates_path: list[str] = []
# Files that pages link to, such as those of `deploy`, are copied as they are.
exclude_patterns = ["deploy/**/*.md"]
